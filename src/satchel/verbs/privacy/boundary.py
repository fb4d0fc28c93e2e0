"""The boundary between models and personal data: which scope a caller has, and what passes it.

A scope belongs to an agent and a conversation. Detection is loaded with the first caller that has one; while
`privacy.detect` is empty there is none, and no database is opened for it.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from satchel.config.settings import Settings
from satchel.model import Caller
from satchel.store.privacy.interface import TokenStore

if TYPE_CHECKING:
    from satchel.privacy.vault import Vault
    from satchel.verbs.privacy.keeping import KeptVault
    from satchel.verbs.privacy.people import ForPeople
    from satchel.verbs.privacy.scopes import PrivacyScope

Key = tuple[str, str]
"""An agent and a conversation."""

IDLE = 24 * 3600.0
"""Seconds after its last use in which the tokens of a scope are kept."""
MOST_SCOPES = 1_000
"""In memory; those that the database has are loaded again."""
_MOST_BESIDE = 20  # conversations of an agent whose values are looked for in what its programs leave


class Privacy:
    """The scopes of one open Satchel. `settings` are those of now; without a `store` nothing is kept."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        now: Callable[[], float] = time.monotonic,
        store: TokenStore | None = None,
    ) -> None:
        self._settings = settings
        self._now = now
        self._store = store
        self._scopes: OrderedDict[Key, tuple[KeptVault, float]] = OrderedDict()

    @property
    def is_on(self) -> bool:
        return self._settings().privacy.is_on

    async def open(self, caller: Caller) -> "PrivacyScope | None":
        """The scope of a caller, with the tokens that an earlier process gave it."""
        kept = self._kept(caller)
        if kept is None:
            return None
        await kept.load()
        return self.scope_of(caller)

    def scope_of(self, caller: Caller) -> "PrivacyScope | None":
        """The scope of a model's or a program's calls; None for people, and where nothing is to be hidden."""
        kept = self._kept(caller)
        if kept is None:
            return None
        from satchel.verbs.privacy.scopes import PrivacyScope  # off means that nothing is loaded

        beside = partial(self._beside, (caller.agent, caller.conversation or ""))
        return PrivacyScope(kept, self._settings().privacy, caller, beside)

    def tokens_of(self, caller: Caller) -> Callable[[object], bool] | None:
        """Tells the values of a caller that have tokens in them; None where there are none."""
        scope = self.scope_of(caller)
        return None if scope is None else scope.has_token

    async def for_people(self, caller: Caller) -> "ForPeople | None":
        """What shows a person values in place of a conversation's tokens; None where nothing is hidden."""
        scope = await self.open(caller)
        if scope is None:
            return None
        from satchel.verbs.privacy.people import ForPeople  # off means that nothing is loaded

        return ForPeople(scope.vault.reveal)

    async def typed(self, text: str, caller: Caller) -> str:
        """What a person has written, as a model may have it."""
        scope = await self.open(caller)
        if scope is None or self._settings().privacy.user == "show":
            return text
        from satchel.verbs.privacy.people import USER  # as above

        return str(await scope.hidden(text, USER))

    async def forget(self, conversation: str, *, undecided: bool = True) -> None:
        """End the scopes of a conversation: its tokens stand for nothing any more.

        With `undecided=False`, those stay in the database that a call needs which waits for a person.
        """
        for key in [key for key in self._scopes if key[1] == conversation]:
            kept, _ = self._scopes.pop(key)
            kept.end()
        if self._store is not None and self.is_on:
            await self._store.forget(conversation, undecided=undecided)

    def _kept(self, caller: Caller) -> "KeptVault | None":
        if caller.conversation is None or not self.is_on:
            return None
        from satchel.verbs.privacy.keeping import KeptVault  # off means that nothing is loaded

        key = caller.agent, caller.conversation
        self._end_idle()
        found = self._scopes.pop(key, None)
        kept = found[0] if found is not None else KeptVault(*key, self._store)
        self._scopes[key] = kept, self._now()
        return kept

    def _beside(self, key: Key) -> "list[Vault]":
        """Those of the agent's other conversations that were used last."""
        agents = [other for other in reversed(self._scopes) if other[0] == key[0] and other != key]
        return [self._scopes[other][0].vault for other in agents[:_MOST_BESIDE]]

    def _end_idle(self) -> None:
        oldest = self._now() - IDLE
        while self._scopes:
            key, (_, used) = next(iter(self._scopes.items()))
            if used >= oldest and len(self._scopes) <= MOST_SCOPES:
                return
            del self._scopes[key]
