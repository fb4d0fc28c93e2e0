"""A client's file as text, and what it says. Nothing is read or written here."""

from collections.abc import Callable, Mapping
from typing import Any

from satchel.config.clients.connecting import json_text, toml_text
from satchel.config.clients.connecting.formats import Format, NotParsedError
from satchel.config.clients.importing import Source, is_satchel
from satchel.errors import ArgumentError, ConfigError
from satchel.model import Json, is_object

OUR_KEYS = ("type", "command", "args")  # of an entry; others are the client's or a person's
_BYTE_ORDER_MARK = "\ufeff"


class Document:
    """The contents of `data`; None means no file, which has no contents."""

    def __init__(self, source: Source, data: bytes | None) -> None:
        self.data = data
        self._source = source
        self._format: Format = toml_text if source.file.suffix == ".toml" else json_text
        try:
            text = (data or b"").decode()
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise ConfigError("not UTF-8; nothing was written", file=source.file, line=line) from error
        self._mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
        self._text = text.removeprefix(_BYTE_ORDER_MARK)
        try:
            self.content = self._format.parse(self._text)
        except NotParsedError as error:
            hint = "nothing was written; fix the file first"
            raise ConfigError(str(error), file=source.file, line=error.line, hint=hint) from error

    def entry(self, name: str) -> Json | None:
        """The entry that starts Satchel, or None. One that starts something else is not ours to touch."""
        entry: object = self._servers().get(name)
        if entry is None or (is_object(entry) and is_satchel(entry)):
            return entry
        line = self._format.line_of(self._text, self._path(name))
        place = f"{self._source.file}:{line}" if line else str(self._source.file)
        raise ArgumentError(
            f"'{name}' in {place} is another server, not Satchel", hint="--name NAME uses another name"
        )

    def connected(self, name: str, entry: Json) -> "Document":
        """With `entry` under that name. Keys that an entry of Satchel has besides stay."""
        present = self.entry(name)
        text = self._text
        try:
            if present is None:
                text = self._format.put(text, self._path(name), entry)
            else:
                for key, value in entry.items():
                    if present.get(key) != value:
                        text = self._format.put(text, (*self._path(name), key), value)
        except ValueError as error:
            raise self._unwritable() from error
        return self._checked(text, lambda servers: servers.update({name: {**(present or {}), **entry}}))

    def without(self, name: str) -> "Document":
        return self._checked(
            self._format.remove(self._text, self._path(name)), lambda servers: servers.pop(name)
        )

    def with_that_of(self, other: "Document", name: str) -> "Document":
        """With a server as the other document has it."""
        raw: Any = self._format.read(other._text)
        for key in self._source.keys:
            raw = raw[key]
        parsed = other._servers()[name]
        try:
            text = self._format.put(self._text, self._path(name), raw[name])
        except ValueError as error:
            raise self._unwritable() from error
        return self._checked(text, lambda servers: servers.update({name: parsed}))

    @property
    def servers(self) -> tuple[str, ...]:
        """The names of all of its servers."""
        return tuple(self._servers())

    def masked(self, name: str) -> str:
        """The text without anybody's values but those that Satchel writes."""
        return self._format.masked(self._text, self._path(name), OUR_KEYS)

    def satchels(self) -> dict[str, Json]:
        """Every entry that starts Satchel, by its name."""
        entries = self._servers().items()
        return {name: entry for name, entry in entries if is_object(entry) and is_satchel(entry)}

    def _path(self, name: str) -> tuple[str, ...]:
        return (*self._source.keys, name)

    def _servers(self) -> Mapping[str, Any]:
        here = self.content
        for depth, key in enumerate(self._source.keys, start=1):
            inner: object = here.get(key, {})
            if not is_object(inner):
                path = self._source.keys[:depth]
                line = self._format.line_of(self._text, path)
                raise ConfigError(f"'{'.'.join(path)}' is not an object", file=self._source.file, line=line)
            here = inner
        return here

    def _checked(self, text: str, change: Callable[[Json], object]) -> "Document":
        """The new document, if it says what this one does with that one change, and nothing else."""
        expected: Json = {**self.content}
        here = expected
        for key in self._source.keys:
            here[key] = {**here.get(key, {})}
            here = here[key]
        change(here)
        try:
            later = Document(self._source, (self._mark + text).encode())
            if self._pruned(later.content) != self._pruned(expected):
                raise self._unwritable()
        except (ConfigError, UnicodeEncodeError, RecursionError) as error:
            raise self._unwritable() from error
        return later

    def _pruned(self, content: Json) -> Json:
        """Without an object of servers that is empty: in TOML there is no such thing."""
        key, *deeper = self._source.keys
        if deeper or content.get(key) != {}:
            return content
        return {name: value for name, value in content.items() if name != key}

    def _unwritable(self) -> ConfigError:
        return ConfigError(
            f"'{'.'.join(self._source.keys)}' is written in a way that can't be changed safely",
            file=self._source.file,
            line=self._format.line_of(self._text, self._source.keys),
            hint="nothing was written; edit it by hand; satchel docs connecting shows an entry",
        )
