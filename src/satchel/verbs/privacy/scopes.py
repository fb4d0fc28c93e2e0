"""One caller's scope: hides what servers say, and restores what the caller writes, by the settings."""

import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import Any

from satchel.config.personal.kinds import ALL
from satchel.config.settings import PrivacySettings
from satchel.errors import NotAllowedError
from satchel.model import Call, Caller, Execution, Reads, is_list, is_object
from satchel.privacy.detection import Detection
from satchel.privacy.kinds import KINDS, PERSON
from satchel.privacy.table import Entry
from satchel.privacy.vault import Vault
from satchel.support.charging import apart
from satchel.verbs.privacy.keeping import KeptVault

_LONG = 8_000  # characters that are hidden on the event loop
_MOST_ORIGINS = 3  # in an error


class PrivacyScope:
    """`kept` has the tokens; `settings` say what is hidden, and who may have it."""

    def __init__(
        self,
        kept: KeptVault,
        settings: PrivacySettings,
        caller: Caller,
        beside: Callable[[], Sequence[Vault]] = tuple,
    ) -> None:
        self._kept = kept
        self.vault = kept.vault
        self._settings = settings
        self._caller = caller
        self._beside = beside  # of the agent's other conversations: programs share files and sessions

    @property
    def shows_values(self) -> bool:
        """Whether the caller is a program that sees values."""
        return self._caller.execution is not None and self._settings.programs == "values"

    async def keep(self) -> None:
        """Commit the tokens that are new, so that they outlive this process."""
        await self._kept.keep()

    # To the model

    def hidden_now(self, value: Any, server: str) -> Any:
        """Tokens in place of personal data that came from a server. Whoever tells a model has them kept."""
        return self.vault.hide(value, server, self._detection(server))

    async def hidden(self, value: Any, server: str, schema: object = None) -> Any:
        """The same, kept; in a thread if it takes long."""
        detection = self._detection(server)
        if _size(value) > _LONG:
            found = await apart(self.vault.hide, value, server, detection, schema)
        else:
            found = self.vault.hide(value, server, detection, schema)
        await self.keep()
        return found

    async def hidden_from_program(self, value: Any, reads: Reads | None) -> Any:
        """What a program leaves for a model. New values have an origin where one server was read."""
        servers = {source.server for source in reads.own if source.server} if reads else {""}
        origin = min(servers) if len(servers) == 1 else ""
        detection = _detection(_wanted_by_all(self._settings), _pairs(self._settings.kinds))
        hide = partial(self.vault.hide, value, origin, detection, beside=self._beside())
        found = await apart(hide) if _size(value) > _LONG else hide()
        await self.keep()
        return found

    async def hidden_execution(self, execution: Execution, reads: Reads | None) -> Execution:
        """An execution as a model and the journal may have it."""
        from dataclasses import replace  # only where programs run

        told = {
            "stdout": execution.stdout,
            "stderr": execution.stderr,
            "result": execution.result,
            "reason": execution.reason,
            "files": [dict(file) for file in execution.files],
            "errors": [use.error for use in execution.tools_called],
        }
        hidden = await self.hidden_from_program(told, reads)
        if hidden is told:
            return execution
        uses = zip(execution.tools_called, hidden["errors"], strict=True)
        return replace(
            execution,
            stdout=hidden["stdout"],
            stderr=hidden["stderr"],
            result=hidden["result"],
            reason=hidden["reason"],
            files=tuple(hidden["files"]),
            tools_called=tuple(replace(use, error=error) for use, error in uses),
        )

    def hide_value(self, value: str, kind: str = PERSON) -> str:
        """The token of a value that a program says is personal."""
        return self.vault.token_for(value, kind if kind in KINDS else PERSON, "")

    # From the model

    def named(self, value: Any) -> Any:
        """Tokens in place of known values."""
        return self.vault.name_known(value, _detection(frozenset(KINDS), _pairs(self._settings.kinds)))

    def restored(self, value: Any, call: Call, schema: object = None) -> Any:
        """Values in place of tokens; NotAllowedError if the server may not have one."""

        def may_receive(entry: Entry) -> None:
            if call.what.server not in entry.origins and not self._is_named(call):
                raise self._refusal(entry, call)

        return self.vault.restore(value, may_receive, schema)

    def revealed(self, value: Any) -> Any:
        """Values in place of tokens, for the agent's own files and programs."""
        return self.vault.restore(value)

    def has_token(self, value: object) -> bool:
        return isinstance(value, str) and bool(self.vault.entries_in(value))

    def _is_named(self, call: Call) -> bool:
        server, label = call.what.server, call.what.label
        names = (server, f"{server}.{label}")
        return any(fnmatchcase(name, pattern) for pattern in self._settings.reveal_to for name in names)

    def _refusal(self, entry: Entry, call: Call) -> NotAllowedError:
        origins = sorted(origin for origin in entry.origins if origin)[:_MOST_ORIGINS]
        source = f"from {', '.join(origins)}" if origins else "of unknown origin"
        return NotAllowedError(
            self._caller.agent,
            call.what.qualified_name,
            why=f"{call.what.server} may not receive {entry.token} ({source})",
            hint=f"a person can add '{call.what.server}' to privacy.reveal_to in satchel.yaml",
        )

    def _detection(self, server: str) -> Detection:
        wanted = self._settings.servers.get(server, self._settings.detect)
        return _detection(_kinds(wanted, self._settings.kinds), _pairs(self._settings.kinds))


def _wanted_by_all(settings: PrivacySettings) -> frozenset[str]:
    """The kinds that any server has hidden: a program may have read from it."""
    found = _kinds(settings.detect, settings.kinds)
    for wanted in settings.servers.values():
        found |= _kinds(wanted, settings.kinds)
    return found


def _kinds(wanted: Sequence[str], own: Mapping[str, str]) -> frozenset[str]:
    names = {kind.upper() if kind not in own else kind for kind in wanted}
    return frozenset((*KINDS, *own)) if ALL.upper() in names else frozenset(names)


def _pairs(own: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(own.items())


@lru_cache(maxsize=64)
def _detection(kinds: frozenset[str], own: tuple[tuple[str, str], ...]) -> Detection:
    patterns = {name: re.compile(pattern) for name, pattern in own if name in kinds}
    return Detection(kinds=kinds & frozenset(KINDS), patterns=patterns)


def _size(value: Any) -> int:
    """About how many characters a value has; no more is counted than matters."""
    total, waiting = 0, [value]
    while waiting and total <= _LONG:
        part = waiting.pop()
        if isinstance(part, str):
            total += len(part)
        elif is_object(part):
            total += 8 * len(part)
            waiting += part.values()
        elif is_list(part):
            total += 4 * len(part)
            waiting += part
        else:
            total += 4
    return total
