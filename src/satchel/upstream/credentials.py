"""Tokens of remote servers, outside the project: in a file of mode 0600, or in the system keyring."""

import contextlib
import hashlib
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio.to_thread

from satchel.support.files import locked, write_atomically
from satchel.support.keyrings import working_keyring

_SERVICE = "satchel"


class Credentials:
    """The state of one server's authorization: client, tokens, where to refresh them."""

    def __init__(self, directory: Path, url: str, store: Literal["file", "keyring"] = "file") -> None:
        self._key = hashlib.sha256(url.encode()).hexdigest()[:24]
        self._directory = directory
        self._file = directory / f"{self._key}.json"
        self._store = store

    def load(self) -> dict[str, Any]:
        try:
            text = working_keyring().get_password(_SERVICE, self._key) if self._store == "keyring" else None
            if self._store == "file":
                text = self._file.read_text(encoding="utf-8")
            return json.loads(text) if text else {}
        except (FileNotFoundError, ValueError):
            return {}

    def save(self, **values: Any) -> None:
        """Merge `values` in; None removes one."""
        merged = {key: value for key, value in (self.load() | values).items() if value is not None}
        text = json.dumps(merged)
        if self._store == "keyring":
            working_keyring().set_password(_SERVICE, self._key, text)
            return
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(self._file, text.encode(), mode=0o600)

    def forget(self) -> bool:
        """Remove everything; tell whether there was anything."""
        known = bool(self.load())
        if self._store == "keyring":
            with contextlib.suppress(Exception):
                working_keyring().delete_password(_SERVICE, self._key)
        self._file.unlink(missing_ok=True)
        return known

    @asynccontextmanager
    async def exclusive(self) -> AsyncGenerator[None]:
        """One process at a time: a refresh token that is used twice is revoked by many servers."""
        directory = self._directory / "locks" / self._key
        lock = locked(directory)
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        await anyio.to_thread.run_sync(lock.__enter__)
        try:
            yield
        finally:
            lock.__exit__(None, None, None)
