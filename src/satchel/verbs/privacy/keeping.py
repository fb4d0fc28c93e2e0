"""The tokens of one scope, as they are kept: loaded once, committed before a model has them.

What can't be committed stays in memory and is tried again. Without the database no call begins, anyway.
"""

import logging
import secrets
import time

import anyio

from satchel.errors import SatchelError
from satchel.model import is_list
from satchel.privacy.table import Entry
from satchel.privacy.vault import Vault
from satchel.store.privacy.interface import StoredToken, TokenStore
from satchel.support.charging import apart

logger = logging.getLogger(__name__)

_TOUCH = 600.0  # seconds after which a use is noted, where nothing else is written
_FEW = 50  # tokens that are put into a vault on the event loop


class KeptVault:
    """A vault and what of it is in the database."""

    def __init__(self, agent: str, conversation: str, store: TokenStore | None) -> None:
        self.vault = Vault(secrets.token_bytes(32))
        self._place = agent, conversation
        self._store = store
        self._stored: set[str] = set()
        self._waiting: dict[str, Entry] = {}  # what could not be written yet
        self._lock = anyio.Lock(fast_acquire=True)
        self._is_loaded = store is None
        self._is_ended = False
        self._touched = float("-inf")

    async def load(self) -> None:
        """Put the tokens back that an earlier process gave out."""
        if self._is_loaded:
            return
        async with self._lock:
            if self._is_loaded or self._store is None:
                return
            rows = await self._store.load(*self._place)
            if len(rows) > _FEW:
                await apart(self._put_back, rows)
            else:
                self._put_back(rows)
            self._is_loaded = True

    async def keep(self) -> None:
        """Commit what is new. Whoever asks meanwhile waits: its tokens may be among these."""
        if self._store is None or self._is_ended:
            return
        with anyio.CancelScope(shield=True):  # the store bounds how long this takes
            async with self._lock:
                changed = {entry.letters: entry for entry in self.vault.table.take_changes()}
                self._waiting |= changed
                is_due = bool(self._stored) and time.monotonic() - self._touched > _TOUCH
                if self._waiting or is_due:
                    await self._write(self._store)

    def end(self) -> None:
        """Write nothing any more."""
        self._is_ended = True

    async def _write(self, store: TokenStore) -> None:
        rows = [stored(entry, is_new=letters not in self._stored) for letters, entry in self._waiting.items()]
        try:
            await store.save(*self._place, rows)
        except SatchelError as error:
            # What was read has been read: the caller gets it, and the next one tries again.
            logger.warning("privacy tokens can't be kept for the next process: %s", error.message)
            return
        self._stored |= self._waiting.keys()
        self._waiting.clear()
        self._touched = time.monotonic()

    def _put_back(self, rows: list[StoredToken]) -> None:
        for row in rows:
            entry = entry_of(row)
            if entry is not None:
                self.vault.table.put_back(entry)
                self._stored.add(row.letters)


def stored(entry: Entry, *, is_new: bool) -> StoredToken:
    content = {
        "value": entry.value,
        "raw": entry.raw,
        "origins": sorted(entry.origins),
        "forms": list(entry.forms),
    }
    return StoredToken(letters=entry.letters, kind=entry.kind, content=content, is_new=is_new)


def entry_of(row: StoredToken) -> Entry | None:
    """None for a row of a form that this Satchel does not know."""
    value, origins, forms = (row.content.get(name) for name in ("value", "origins", "forms"))
    if not isinstance(value, str | int) or not is_list(origins) or not is_list(forms):
        return None
    now = time.time()
    return Entry(
        row.kind,
        value,
        row.letters,
        bool(row.content.get("raw")),
        set(map(str, origins)),
        list(map(str, forms)),
        now,
        now,
    )
