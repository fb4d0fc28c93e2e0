"""Texts that only this user's Satchel can read: sealed with a key that never leaves this machine.

The key is made when it is first needed, and kept as the credentials are: in a file of mode 0600, or in the
system keyring. It protects a database that others may read; not against programs that run as the same user.
"""

import base64
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from satchel.errors import SatchelError
from satchel.support.files import locked, write_atomically
from satchel.support.keyrings import working_keyring

_SERVICE, _NAME = "satchel", "sealing key"
_LENGTH, _NONCE = 32, 12  # bytes
_FILE = "sealing.key"


class Sealer:
    """Seals and opens texts. `about` says what a text belongs to: elsewhere it can't be opened."""

    def __init__(self, directory: Path, store: Callable[[], Literal["file", "keyring"]]) -> None:
        self._directory = directory
        self._store = store
        self._ciphers: dict[str, Any] = {}

    def seal(self, text: str, about: str) -> str:
        nonce = os.urandom(_NONCE)
        data = text.encode("utf-8", "surrogatepass")
        return base64.b64encode(nonce + self._cipher().encrypt(nonce, data, about.encode())).decode()

    def unseal(self, sealed: str, about: str) -> str:
        """SatchelError for one that was sealed with a different key, or for something else, or altered."""
        from cryptography.exceptions import InvalidTag  # few commands open anything

        try:
            data = base64.b64decode(sealed, validate=True)
            opened: bytes = self._cipher().decrypt(data[:_NONCE], data[_NONCE:], about.encode())
            return opened.decode("utf-8", "surrogatepass")
        except (InvalidTag, ValueError) as error:
            raise SatchelError(
                f"{about} can't be opened: it was sealed with a different key, or altered",
                hint="the user whose Satchel wrote it can open it",
            ) from error

    def _cipher(self) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # as above

        store = self._store()
        if store not in self._ciphers:
            self._ciphers[store] = AESGCM(self._key_in_keyring() if store == "keyring" else self._key())
        return self._ciphers[store]

    def _key(self) -> bytes:
        file = self._directory / _FILE
        try:
            with locked(self._directory):  # two processes that begin at once must have one key
                if not file.exists():
                    write_atomically(file, os.urandom(_LENGTH), mode=0o600)
                return _checked(file.read_bytes(), str(file))
        except OSError as error:
            raise SatchelError(f"{file} can't be used: {error.strerror}", hint="check its owner") from error

    def _key_in_keyring(self) -> bytes:
        keyring = working_keyring()
        with locked(self._directory):
            kept = keyring.get_password(_SERVICE, _NAME)
            if kept is None:
                kept = base64.b64encode(os.urandom(_LENGTH)).decode()
                keyring.set_password(_SERVICE, _NAME, kept)
        return _checked(_decoded(kept), "the sealing key in the keyring")


def _decoded(key: str) -> bytes:
    """The bytes of a key, or none where it is not one."""
    try:
        return base64.b64decode(key, validate=True)
    except ValueError:
        return b""


def _checked(key: bytes, place: str) -> bytes:
    if len(key) != _LENGTH:
        raise SatchelError(
            f"{place} has {len(key)} bytes instead of {_LENGTH}",
            hint="without it, what it sealed can't be opened; remove it to have a new one made",
        )
    return key
