"""The system keyring, for those who keep a secret in it; what that is, and its name there, they know."""

from typing import Any

from satchel.errors import SatchelError
from satchel.support.installing import how_to_install


def working_keyring() -> Any:
    """The module `keyring`. SatchelError where it is not installed, or has nothing to keep secrets in."""
    try:
        import keyring  # optional
    except ImportError:
        raise SatchelError(
            "credentials: keyring is set, but the keyring package is not installed",
            hint=f"{how_to_install('keyring')}, or set credentials: file in satchel.yaml",
        ) from None
    if keyring.get_keyring().priority <= 0:
        raise SatchelError(
            "credentials: keyring is set, but this machine has no keyring that works",
            hint="set credentials: file in satchel.yaml",
        )
    return keyring
