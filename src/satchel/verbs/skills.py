"""The verbs for skills as agents see them: those there are, found, viewed, read, and told in a prompt."""

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from satchel.config import Configuration
from satchel.errors import ArgumentError, ConfigError, NotFoundError
from satchel.library.commands.places import with_places
from satchel.library.commands.reading import is_told, places_for
from satchel.library.plugins.files import is_below, read_plugin_file
from satchel.library.plugins.listing import PluginListing, Plugins
from satchel.library.skills.contents import (
    MOST_FILES,
    File,
    files_of,
    instructions_of,
    read_of,
    shown_path,
)
from satchel.library.skills.files import read_virtual
from satchel.library.skills.finding import cache_of
from satchel.library.skills.front_matter import decode
from satchel.library.skills.listing import Listings
from satchel.library.skills.walking import walk
from satchel.library.sources import COMMUNITY, sources
from satchel.library.state import is_identity, named_skill, read_states, with_state
from satchel.model import Json, Skill

if TYPE_CHECKING:  # most programs and calls search no skills
    from satchel.search.documents import Document
    from satchel.search.index import Index

_MOST_FOUND = 50
_GROUP = "skills"
_MOST_BODIES = 2_000  # texts that are kept to be searched
_MOST_INDEXES = 8  # one for each agent that searches
_REST = 50  # times as long as a look for changes took, until the next
_LONGEST_REST = 5.0  # seconds
_NO_TEXT = re.compile(rb"[\0-\x08\x0e-\x1a]")  # of any encoding but UTF-16
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Shown(NamedTuple):
    """What an agent has, and of what it was made."""

    listed: list[Skill]
    states: Json
    used: list[Skill]
    told: list[Skill]


class _Searched(NamedTuple):
    """Skills, and what they are found by."""

    skills: list[Skill]
    words: "Index"
    asked: list[tuple[str, str]]  # the name and the first sentence of each, as somebody asks for them


class ShownSkills:
    """The skills of one project, for callers in any thread. A change on disk counts at once."""

    def __init__(
        self, configuration: Callable[[], Configuration], plugins: PluginListing | None = None
    ) -> None:
        self._configuration = configuration
        self._plugins = plugins or PluginListing()
        self._listings = Listings()
        self._shown: dict[str, _Shown] = {}
        self._lock = Lock()  # a search changes what its index remembers
        self._searched: dict[str, _Searched] = {}
        self._states: Json = {}
        self._looked: tuple[float, object] = (float("-inf"), None)  # when to look again, what was seen
        self._digests: dict[tuple[str, int, int], str] = {}
        self._bodies: dict[tuple[str, int, int], str] = {}

    @property
    def base(self) -> str:
        return self._configuration().settings.skills.container_path

    def plugins(self) -> Plugins:
        """The plugins as they are now; the very same value while nothing has changed."""
        configuration = self._configuration()
        return self._plugins.now(configuration.paths, configuration.settings.plugins)

    def of(self, agent: str) -> list[Skill]:
        """Those that an agent may use: enabled, and everybody's or its own."""
        return list(self._show(agent).used)

    def used(self, agent: str) -> list[Skill]:
        """The same; the very same list, which nobody may change, as long as it holds."""
        return self._show(agent).used

    def is_told(self, skill: Skill) -> bool:
        """Whether models hear of a skill, and not only people who invoke it."""
        return is_told(skill)

    def told(self, agent: str) -> list[Skill]:
        """Those that it hears of, which leaves out what only people invoke.

        Its own stand before the community's of the same names, as in programs.
        """
        return list(self._show(agent).told)

    def _show(self, agent: str) -> _Shown:
        """The present skills of an agent; the same value as before while nothing has changed."""
        configuration = self._configuration()
        paths = configuration.paths
        states = self._read_states(paths.extensions_file)
        found_in = sources(paths, configuration.settings.skills, agent, self.plugins().sources)
        listed = self._listings.find(found_in, cache_of(paths))
        shown = self._shown.get(agent)
        if shown is None or shown.listed is not listed or shown.states != states:
            used = [
                skill
                for skill in with_state(listed, states)
                if skill.enabled and _is_text(f"{skill.category}/{skill.relative}")
            ]
            own = {skill.name for skill in used if skill.category == agent}
            told = [
                skill
                for skill in used
                if (skill.category != COMMUNITY or skill.name not in own) and is_told(skill)
            ]
            shown = _Shown(listed, states, used, told)
            _keep(self._shown, agent, shown, _MOST_INDEXES)
        return shown

    def _read_states(self, file: Path) -> Json:
        """Which are enabled. While somebody edits the file, what it said before counts."""
        with suppress(ConfigError):
            if not self._states or not _is_emptied(file):
                self._states = read_states(file)
        return self._states

    def stamp(self) -> object:
        """Another when a skill has come, gone or changed, of whichever agent; some time later if it has many.

        No folder tells what happens below it, so all are walked.
        """
        again, seen = self._looked
        began = time.monotonic()
        if began < again:
            return seen
        configuration = self._configuration()
        paths = configuration.paths
        plugins = self.plugins()
        found: list[object] = [plugins]
        with suppress(OSError):
            found.append(os.stat(paths.extensions_file).st_mtime_ns)
        for source in sources(paths, configuration.settings.skills, plugins=plugins.sources):
            for each in walk(source):
                status = each.status
                found.append((each.folder, status and (status.st_mtime_ns, status.st_size)))
        took = time.monotonic() - began
        self._looked = began + min(_REST * took, _LONGEST_REST), found
        return found

    def find(self, name: str, agent: str) -> Skill:
        """One of them, by its name, `category:name`, or the path of its folder or its SKILL.md."""
        skills, base, path = self.of(agent), self.base, name.rstrip("/")
        for skill in skills:
            if path in (skill.get_container_path(base), skill.get_container_file_path(base)):
                return skill
        named = [skill for skill in skills if is_identity(name, skill)]
        named = named or [skill for skill in self.told(agent) if skill.name == name]
        if len(named) == 1:
            return named[0]
        if not named:
            return _by_other_name(name, skills)
        places = [skill.get_container_path(base) for skill in named]
        raise ArgumentError(f"{len(named)} skills are called '{name}'", hint=f"name {' or '.join(places)}")

    def search(self, query: str, agent: str, *, limit: int = 10) -> Json:
        """Those that fit a question, best first."""
        if not 1 <= limit <= _MOST_FOUND:
            raise ArgumentError(f"limit is {limit}", argument="limit", hint=f"1 to {_MOST_FOUND}")
        skills, base = self.ranked(query, agent), self.base
        return {
            "query": query[:1000],
            "match_count": len(skills),
            "skills": [
                {
                    "name": skill.name,
                    "description": skill.description,
                    "location": skill.get_container_file_path(base),
                }
                for skill in skills[:limit]
            ],
        }

    def ranked(self, query: str, agent: str) -> list[Skill]:
        """All that fit, best first; without a query all there are, by name."""
        skills = self._show(agent).told
        if not query.strip():
            return list(skills)
        # Only a search has to wait for it to load.
        from satchel.search.rank import search
        from satchel.search.skills import as_asked

        with self._lock:
            searched = self._search(skills, agent)
            hits = [int(hit.key) for hit in search(searched.words, query, limit=len(skills))]
        exact = as_asked(query)
        # A query with a skill's own words means that skill, even if others fit too; above all with its name.
        for part in (1, 0) if exact else ():
            meant = [number for number, texts in enumerate(searched.asked) if texts[part] == exact]
            hits = [*meant, *(number for number in hits if number not in meant)] if meant else hits
        return [skills[number] for number in hits]

    def _search(self, skills: list[Skill], agent: str) -> _Searched:
        # As above.
        from satchel.search.index import Index, make_section
        from satchel.search.skills import FIELDS, as_asked, skill_document

        searched = self._searched.get(agent)
        if searched is None or searched.skills is not skills:
            documents = [
                skill_document(str(number), skill.name, skill.description)
                for number, skill in enumerate(skills)
            ]
            index = Index()
            index.put(_GROUP, make_section(documents, FIELDS))
            asked = [(as_asked(each.name), as_asked(each.fields.get("first", ""))) for each in documents]
            searched = _Searched(skills, index, asked)
            _keep(self._searched, agent, searched, _MOST_INDEXES)
        return searched

    def documents(self, agent: str) -> "list[Document]":
        """The skills that an agent hears of, to be searched together with other texts."""
        from satchel.search.file_documents import text_document  # as above

        found: list[Document] = []
        for skill in self.told(agent):
            path, text = skill.get_container_file_path(self.base), f"{skill.description}\n{self._body(skill)}"
            found.append(text_document(path, skill.name, text))
        return found

    def _body(self, skill: Skill) -> str:
        """Its instructions, kept while the file is the same; nothing where they can't be read."""
        try:
            status = os.stat(skill.file, follow_symlinks=False)
            key = (str(skill.file), status.st_mtime_ns, status.st_size)
            body = self._bodies.get(key)
            if body is None:
                body = instructions_of(skill)
                _keep(self._bodies, key, body, _MOST_BODIES)
            return body
        except (OSError, NotFoundError):
            return ""

    def view(self, name: str, agent: str) -> Json:
        """A skill's instructions, and what else is in its folder."""
        skill = self.find(name, agent)
        files = [shown_path(file.path) for file in self.files(skill) if file.path != skill.file.name]
        return {
            "name": skill.name,
            "description": skill.description,
            "location": skill.get_container_path(self.base),
            "body": with_places(instructions_of(skill), places_for(skill, self.base)),
            "files": files[:MOST_FILES],
            "allowed_tools": list(skill.allowed_tools),
        }

    def read_file(self, path: str, agent: str) -> bytes:
        """A file of a skill by the path that programs know."""
        if not _is_text(path):
            raise NotFoundError("file", shown_path(path)[:300], hint="it is not a plain path")
        used, base = self.used(agent), self._configuration().settings.plugins.container_path
        if not is_below(path, base):
            return read_virtual(path, used, base=self.base)
        usable = {skill.file for skill in used}
        hidden = [skill for skill in self._show(agent).listed if skill.plugin and skill.file not in usable]
        return read_plugin_file(path, self.plugins().mounts, base=base, hidden=hidden)

    def read_text(self, path: str, agent: str) -> str:
        """The same for a model."""
        data = self.read_file(path, agent)
        text, guessed = decode(data)
        if (
            b"\0" in data
            if guessed is None
            else guessed not in ("UTF-16", "UTF-32") and _NO_TEXT.search(data)
        ):
            raise ArgumentError(f"'{path[:300]}' is not text but {len(data):,} bytes of something else")
        return self._as_told(path, text, agent)

    def _as_told(self, path: str, text: str, agent: str) -> str:
        """A skill's own text with the folders that it names as programs see them; any other as it is."""
        if "${" in text:
            for skill in self.used(agent):
                if path == skill.get_container_file_path(self.base):
                    return with_places(text, places_for(skill, self.base))
        return text

    def files(self, skill: Skill) -> list[File]:
        """All regular files in its folder, by their paths from there. What can't be looked into has none."""
        return files_of(skill)

    def read(self, skill: Skill, path: str) -> bytes:
        """A file of a skill by its path from the skill's folder; no link leads out of it."""
        return read_of(skill, path)

    def digest(self, skill: Skill, file: File) -> str:
        """The SHA-256 of a file, kept while it is the same."""
        key = (str(skill.folder / file.path), file.stamp, file.size)
        digest = self._digests.get(key)
        if digest is None:
            digest = sha256(self.read(skill, file.path)).hexdigest()
            _keep(self._digests, key, digest, 100 * MOST_FILES)
        return digest

    def prompt(self, agent: str, *, query: str = "", budget: int | None = None, plain: bool = False) -> str:
        """The text about skills for a model, within a budget in tokens; the best for the query first."""
        # Imported late: a search needs no templates.
        from satchel.context.skills import skill_system

        configuration = self._configuration()
        settings = configuration.settings
        every = self.told(agent)
        found = self.ranked(query, agent) if query.strip() else []
        best = {skill.file for skill in found}
        ordered = [*found, *(skill for skill in every if skill.file not in best)]
        templates: Path | None = None if plain else configuration.paths.project / settings.templates.path
        return skill_system(
            ordered,
            budget=settings.skills.budget if budget is None else budget,
            base=self.base,
            templates=templates,
        )


def _keep(kept: dict[_Key, _Value], key: _Key, value: _Value, most: int) -> None:
    """Keep a value among no more than so many; where there are more, all others are made again."""
    if len(kept) >= most:
        kept.clear()
    kept[key] = value


def _by_other_name(name: str, skills: list[Skill]) -> Skill:
    """By its folder on this machine; or NotFoundError, with what a model can do next."""
    try:
        return named_skill(name, skills)
    except NotFoundError as error:
        hint = " ".join(part for part in (error.hint, "search_skills finds what there is") if part)
        raise error.copy(hint=hint) from None


def _is_emptied(file: Path) -> bool:
    """Whether there is a file without anything in it: editors leave one before they write it."""
    try:
        return os.stat(file).st_size == 0
    except OSError:
        return False


def _is_text(path: str) -> bool:
    """Whether a path can be told: names of files are bytes, which need not be any text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
