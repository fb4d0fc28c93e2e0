"""What people should know of the settings of privacy: what they protect against, and what is missing."""

from collections.abc import Iterator

from satchel.config.settings import PrivacySettings
from satchel.privacy.numbers import missing_packages
from satchel.support.installing import how_to_install

_ACCIDENTS = "protects against accidents, not against a hostile model"
_PROGRAMS = " (programs get values: they can print them in disguise)"
_NAMES = "most names and addresses in free text are not found"


def check_privacy(settings: PrivacySettings) -> Iterator[tuple[str, str | None]]:
    """Each remark, with the next step for one that needs any."""
    disguise = _PROGRAMS if settings.programs == "values" else ""
    yield f"{_ACCIDENTS}{disguise}; {_NAMES}", None
    missing = missing_packages()
    if missing:
        found_less = f"without {' and '.join(missing)}, fewer phone numbers and national ids are found"
        yield found_less, how_to_install("privacy")
