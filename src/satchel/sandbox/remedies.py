"""Why a box could not be made, and what to do: bubblewrap's own words, told apart."""

from pathlib import Path

from satchel.errors import SandboxError

_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_CLONE = Path("/proc/sys/kernel/unprivileged_userns_clone")
_MOST = Path("/proc/sys/user/max_user_namespaces")


class NotBegunError(SandboxError):
    """There was no box, or it ended before its program began: nothing has been run."""


def refusal(words: str) -> NotBegunError:
    """The error for a box that was not made; `words` are what was printed instead."""
    lines = [line for line in words.strip().splitlines() if line.strip()]
    if not lines:
        return NotBegunError(
            "the box was ended before its program began", hint="try again; see satchel doctor"
        )
    reason = lines[-1][:300]
    return NotBegunError(f"the sandbox can't be made here: {reason}", hint=remedy(reason))


def remedy(reason: str) -> str:
    """The next step, from this machine's settings and the reason."""
    if _is(_APPARMOR, "1"):
        return (
            "AppArmor keeps user namespaces from unprivileged programs: install bubblewrap with an AppArmor"
            " profile, or sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        )
    if _is(_CLONE, "0"):
        return "user namespaces are switched off: sysctl kernel.unprivileged_userns_clone=1"
    if _is(_MOST, "0"):
        return "user namespaces are switched off: sysctl user.max_user_namespaces=10000"
    if "No such file" in reason or ("Permission denied" in reason and "find source" in reason):
        return "that path is missing, or this user can't reach it: is Python installed for all users?"
    return (
        "this machine refuses user namespaces, as containers often do: start the container with"
        " --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or run Satchel outside of it"
    )


def _is(path: Path, value: str) -> bool:
    try:
        return path.read_text().strip() == value
    except OSError:
        return False
