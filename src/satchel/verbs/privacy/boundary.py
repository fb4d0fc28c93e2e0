"""The boundary between models and personal data: which scope a caller has, and what passes it.

A scope belongs to an agent and a conversation. Detection is loaded with the first caller that has one; while
`privacy.detect` is empty there is none.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from satchel.config.settings import Settings
from satchel.model import Caller

if TYPE_CHECKING:
    from satchel.privacy.vault import Vault
    from satchel.verbs.privacy.scopes import PrivacyScope

Key = tuple[str, str]
"""An agent and a conversation."""

IDLE = 24 * 3600.0
"""Seconds after its last use in which the tokens of a scope are kept."""
MOST_SCOPES = 1_000
_MOST_BESIDE = 20  # conversations of an agent whose values are looked for in what its programs leave


class Privacy:
    """The scopes of one open Satchel. `settings` are those that hold now."""

    def __init__(self, settings: Callable[[], Settings], now: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._now = now
        self._scopes: OrderedDict[Key, tuple[Vault, float]] = OrderedDict()

    @property
    def is_on(self) -> bool:
        return self._settings().privacy.is_on

    def scope_of(self, caller: Caller) -> "PrivacyScope | None":
        """The scope of a model's or a program's calls; None for people, and where nothing is to be hidden."""
        if caller.conversation is None or not self.is_on:
            return None
        from satchel.verbs.privacy.scopes import PrivacyScope, new_vault  # off means that nothing is loaded

        settings = self._settings().privacy
        key = caller.agent, caller.conversation
        self._end_idle()
        found = self._scopes.pop(key, None)
        vault = found[0] if found is not None else new_vault()
        self._scopes[key] = vault, self._now()
        return PrivacyScope(vault, settings, caller, partial(self._beside, key))

    def tokens_of(self, caller: Caller) -> Callable[[object], bool] | None:
        """Tells the values of a caller that have tokens in them; None where there are none."""
        scope = self.scope_of(caller)
        return None if scope is None else scope.has_token

    def forget(self, conversation: str) -> None:
        """End the scopes of a conversation: its tokens stand for nothing any more."""
        for key in [key for key in self._scopes if key[1] == conversation]:
            del self._scopes[key]

    def _beside(self, key: Key) -> "list[Vault]":
        """Those of the agent's other conversations that were used last."""
        agents = [other for other in reversed(self._scopes) if other[0] == key[0] and other != key]
        return [self._scopes[other][0] for other in agents[:_MOST_BESIDE]]

    def _end_idle(self) -> None:
        oldest = self._now() - IDLE
        while self._scopes:
            key, (_, used) = next(iter(self._scopes.items()))
            if used >= oldest and len(self._scopes) <= MOST_SCOPES:
                return
            del self._scopes[key]
