"""The table of a scope: which token stands for which value, and where values came from. It knows no text."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from satchel.privacy.kinds import LITERAL
from satchel.privacy.known import Known
from satchel.privacy.tokens import (
    LETTERS,
    Form,
    form_of,
    letters_of,
    normalised,
    number_for,
    variant_letters,
    written_as,
)

_ATTEMPTS = 500  # to find letters that are free


@dataclass(slots=True, eq=False)
class Entry:
    """A value and its token."""

    kind: str
    value: str | int
    letters: str
    raw: bool = False  # it stood in a URL as it is
    origins: set[str] = field(default_factory=set[str])
    forms: list[str] = field(default_factory=list[str])  # tokens besides those of the letters
    created: float = 0.0
    used: float = 0.0

    @property
    def token(self) -> str:
        return f"{self.kind}_{self.letters}"


class Table:
    """Entries by value and by token. Threads may ask for tokens at the same time."""

    def __init__(self, key: bytes, now: Callable[[], float] = time.time) -> None:
        self.known = Known()
        self._key = key
        self._now = now
        self._lock = threading.RLock()
        self._values: dict[tuple[str, str | int, bool], Entry] = {}
        self._texts: dict[str, list[Entry]] = {}
        self._letters: dict[str, Entry] = {}
        self._forms: dict[str, Entry] = {}
        self._stems: dict[tuple[str, str], str] = {}
        self._changed: dict[str, Entry] = {}

    def __len__(self) -> int:
        return len(self._values)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._values.values())

    def take_changes(self) -> list[Entry]:
        """The entries that are new, or come from one more place, since this was asked last."""
        with self._lock:
            changed, self._changed = list(self._changed.values()), {}
        return changed

    def put_back(self, entry: Entry) -> None:
        """Take an entry that was written down before."""
        with self._lock:
            present = self._values.get((entry.kind, entry.value, entry.raw))
            if present is not None:  # it was found again before this was asked: both tokens stand for it
                present.origins |= entry.origins
                self._letters.setdefault(entry.letters, present)
                for form in entry.forms:
                    self._forms.setdefault(form, present)
                return
            if entry.letters in self._letters:
                return
            self._enter(entry)
            for form in entry.forms:
                self._forms.setdefault(form, entry)
            self.learn(entry.kind, str(entry.value))

    def learn(self, kind: str, text: str) -> None:
        """Look for a value wherever it recurs."""
        if kind != LITERAL:
            with self._lock:
                self.known.add(text, kind)

    def forget(self, entry: Entry) -> None:
        with self._lock:
            self._values.pop((entry.kind, entry.value, entry.raw), None)
            self._letters.pop(entry.letters, None)
            self._texts.pop(str(entry.value), None)
            for form in entry.forms:
                self._forms.pop(form, None)

    def by_letters(self, letters: str) -> Entry | None:
        return self._letters.get(letters.lower())

    def by_form(self, text: str) -> Entry | None:
        return self._forms.get(text)

    def of_value(self, text: str) -> Iterable[Entry]:
        """The entries of this very value, of any kind."""
        return self._texts.get(text, ())

    def of_meaning(self, kind: str, text: str) -> Entry | None:
        """The entry of a value that means the same, however it is written."""
        stem = self._stems.get((kind, normalised(kind, text)))
        return self._letters.get(stem) if stem is not None else None

    def note_use(self, entry: Entry) -> None:
        entry.used = self._now()

    def token(self, kind: str, value: str | int, form: Form, origin: str, *, is_raw: bool = False) -> str:
        """The token of a value, which came from `origin`."""
        with self._lock:
            entry = self._values.get((kind, value, is_raw)) or self._new(kind, value, is_raw)
            if origin not in entry.origins:
                entry.origins.add(origin)
                self._changed[entry.letters] = entry
            if form in ("word", "email", "uri"):
                return written_as(form, kind, entry.letters, 0)
            return self._other_form(entry, form)

    def _enter(self, entry: Entry) -> None:
        self._values[entry.kind, entry.value, entry.raw] = entry
        self._letters[entry.letters] = entry
        self._texts.setdefault(str(entry.value), []).append(entry)
        plain = normalised(entry.kind, str(entry.value))
        self._stems.setdefault((entry.kind, plain), entry.letters[:LETTERS])

    def _new(self, kind: str, value: str | int, is_raw: bool) -> Entry:
        plain = normalised(kind, str(value))
        stem = self._stems.get((kind, plain))
        for attempt in range(_ATTEMPTS):
            letters = stem or letters_of(number_for(self._key, kind, plain, str(attempt)))
            if stem is not None:
                letters += variant_letters(self._key, f"{attempt}\0{is_raw}\0{type(value).__name__}\0{value}")
            if letters not in self._letters:
                break
        else:  # so many ways to write one value that two letters more don't tell them apart
            return self._new_alone(kind, value, is_raw)
        return self._made(kind, value, letters, is_raw)

    def _new_alone(self, kind: str, value: str | int, is_raw: bool) -> Entry:
        attempt = 0
        while True:
            letters = letters_of(number_for(self._key, kind, str(value), "alone", str(attempt)))
            if letters not in self._letters:
                return self._made(kind, value, letters, is_raw)
            attempt += 1

    def _made(self, kind: str, value: str | int, letters: str, is_raw: bool) -> Entry:
        now = self._now()
        entry = Entry(kind, value, letters, is_raw, created=now, used=now)
        self._enter(entry)
        self._changed[letters] = entry
        return entry

    def _other_form(self, entry: Entry, form: Form) -> str:
        for text in entry.forms:
            if form_of(text) == form:
                return text
        attempt = 0
        while True:
            number = number_for(self._key, form, entry.kind, str(entry.value), str(attempt))
            text = written_as(form, entry.kind, entry.letters, number)
            if text not in self._forms:
                break
            attempt += 1
        entry.forms.append(text)
        self._forms[text] = entry
        self._changed[entry.letters] = entry
        return text
