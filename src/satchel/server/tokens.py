"""The bearer tokens of a project's agents: made when first asked for, readable for their owner alone."""

import hashlib
import hmac
import json
import logging
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from satchel.errors import ConfigError
from satchel.model import is_object
from satchel.support.files import locked, read_small, write_atomically

logger = logging.getLogger(__name__)

_BYTES = 32


class Tokens:
    """One token an agent. Changes by other processes count at once."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen: tuple[int, int, int] | None = None
        self._agents: dict[bytes, str] = {}

    def of(self, agent: str, *, new: bool = False) -> str:
        """The token of an agent, made if there is none; with `new` another one, and the old one is void."""
        with self._changing():
            tokens = self._read()
            if new or agent not in tokens:
                tokens[agent] = secrets.token_urlsafe(_BYTES)
                self._write(tokens)
            return tokens[agent]

    def remove(self, agent: str) -> bool:
        """Void an agent's token; tell whether it had one."""
        with self._changing():
            tokens = self._read()
            if tokens.pop(agent, None) is None:
                return False
            self._write(tokens)
            return True

    def agent_of(self, token: str) -> str | None:
        """The agent that a token belongs to. Digests are compared, so the time it takes tells nothing."""
        self._look()
        given = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        found = None
        for known, agent in self._agents.items():
            if hmac.compare_digest(known, given):
                found = agent
        return found

    @contextmanager
    def _changing(self) -> Generator[None]:
        """Alone with the file. One that can't be written is an error that names it."""
        try:
            with locked(self._file.parent):
                yield
        except OSError as error:
            raise ConfigError(
                f"can't be written: {error.strerror or error}",
                file=self._file,
                hint="tokens are kept there: make it writable, or set XDG_DATA_HOME to a writable directory",
            ) from error

    def _look(self) -> None:
        try:
            status = os.stat(self._file)
            seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        except OSError:
            seen = None
        if seen != self._seen or seen is None:
            self._agents = {}  # after any error, none of the old ones
            self._seen = seen
            try:
                tokens = self._read()
            except ConfigError as error:
                logger.warning("nobody can be let in: %s", error.message)
                return
            self._agents = {hashlib.sha256(token.encode()).digest(): name for name, token in tokens.items()}

    def _read(self) -> dict[str, str]:
        try:
            found: object = json.loads(read_small(self._file))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"can't be read: {error}", file=self._file, hint="remove it, and give clients new tokens"
            ) from error
        tokens = found.get("tokens") if is_object(found) else None
        known = tokens.items() if is_object(tokens) else ()
        return {agent: token for agent, token in known if isinstance(token, str) and token}

    def _write(self, tokens: dict[str, str]) -> None:
        with suppress(
            FileNotFoundError
        ):  # one that was copied here may be readable for others, and would stay so
            if not self._file.is_symlink():
                self._file.chmod(0o600)
        write_atomically(self._file, json.dumps({"tokens": tokens}, indent=2).encode())
