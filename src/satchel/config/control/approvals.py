"""The section `approvals` of satchel.yaml: how long calls wait for a person, and who is told of them."""

import re
from dataclasses import dataclass

from satchel.config.reader import Locate
from satchel.errors import ConfigError

_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, kw_only=True)
class ApprovalsSettings:
    """How long calls wait for a person, and who is told of them."""

    wait: str = "10m"  # during which the caller of a call stays with it
    expire: str = "24h"  # after which nobody can decide any more
    trust_clients: tuple[str, ...] = ()  # MCP clients whose answer counts as a person's
    notify: str = ""  # a command, or an address that is sent a POST

    @property
    def wait_seconds(self) -> float:
        return _seconds(self.wait)

    @property
    def expire_seconds(self) -> float:
        return _seconds(self.expire)


def check_approvals(approvals: ApprovalsSettings, locate: Locate) -> None:
    """Refuse what is not a duration."""
    for name, text in (("wait", approvals.wait), ("expire", approvals.expire)):
        if not _DURATION.fullmatch(text):
            file, line = locate(("approvals", name))
            raise ConfigError(
                f"'{text[:40]}' is not a duration",
                file=file,
                line=line,
                key=f"approvals.{name}",
                hint="write 30s, 10m, 24h or 7d",
            )


def _seconds(duration: str) -> float:
    found = _DURATION.fullmatch(duration)
    return float(found[1]) * _UNITS[found[2]] if found else 0.0
