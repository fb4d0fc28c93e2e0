"""Which folders of skills an agent has: the one answer for prompts, searches, mounts, imports and commands.

    .satchel/skills/<agent>          saved by that agent; no other sees it
    .satchel/skills/community        saved by agents, and given to all by an agent that may
    skills/public, skills/custom     everybody's
    skills/<skill>                   a skill that stands alone, shown among the public ones
    skills/community                 given to all by a person
    skills/<agent>                   saved by that agent in earlier versions of Satchel
    ~/.config/satchel/skills         the person's own, shown as `user`
    skills.include                   folders of other programs
    plugins.path                     plugins, each a category of its own: plugin:sales

Code that an agent wrote is saved below a dot directory, where neither test runners nor other tools look for
something to run. Nothing is made or changed here; `saved/places.py` makes the folders that are saved to.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from satchel.config import Paths
from satchel.config.settings import SkillsSettings
from satchel.library.skills.directory import (
    FILE,
    STRAY,
    folders_in,
    has_file,
    is_folder,
    names_in,
    read_directory,
)

PUBLIC, CUSTOM, COMMUNITY, USER = "public", "custom", "community", "user"
SHARED = (PUBLIC, CUSTOM, COMMUNITY, USER)
DEFAULT = "default"
MOST_ALONE = 250  # each has to be shown to programs by itself, which takes its time
_MOST_BESIDE = 1_000  # the same of a category with two folders
_CATEGORIES = frozenset({PUBLIC, CUSTOM, COMMUNITY, DEFAULT})  # whatever is in them
_AGENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_HEAD = 16 * 1024  # bytes of a file that have its name, and who saved it
_MOVE = f"move it into the folder '{PUBLIC}'"

Owner = Literal["everybody", "agent", "person"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """A folder with folders of skills in it."""

    root: Path
    category: str
    owner: Owner = "everybody"
    mounted_at: str | None = None  # where programs see it, below skills.container_path
    importable: bool = False  # programs import the modules of its skills
    enabled: bool = False  # what its skills are unless extensions_config.json says otherwise
    only: frozenset[str] | None = None  # what in the root belongs to it; None: everything
    problem: str | None = None  # why none of it can be used
    folders: tuple[str, ...] | None = None  # where its skills are, below the root; None: wherever they are
    place: str | None = None  # where programs see the root, if that is not below skills.container_path


def sources(
    paths: Paths, settings: SkillsSettings, agent: str | None = None, plugins: Iterable[Source] = ()
) -> tuple[Source, ...]:
    """The sources of one agent; without one, those of all agents, for a person. The first of a category wins.

    Without an agent, skills that belong to an agent count as enabled only for the agent `default`. `plugins`
    are those of `plugins/listing.py`; an agent does not see the disabled ones.
    """
    saved = {source.category: source for source in _saved(paths, agent)}
    found: list[Source] = []
    for source in _in_project(paths, settings, agent):
        other = saved.pop(source.category, None)
        if other is None:
            found.append(source)
        elif source.category == COMMUNITY:  # where a person's word counts more than an agent's
            found += _side_by_side(source, other)
        else:  # a skill that was saved later counts
            found += _side_by_side(other, source)
    user = Source(
        root=paths.user_config / "skills", category=USER, owner="person", mounted_at=USER, enabled=True
    )
    brought = [source for source in plugins if source.enabled or agent is None]
    return (*found, *saved.values(), user, *included(paths, settings, agent), *brought)


def sources_in(root: Path) -> tuple[Source, ...]:
    """The sources of a folder with categories, no matter who owns it. Programs don't see it."""
    return tuple(_categories(root, None, is_shown=False))


def included(paths: Paths, settings: SkillsSettings, agent: str | None = None) -> list[Source]:
    """The folders of `skills.include`, which programs see as a whole."""
    if not settings.include:
        return []
    root = project_root(paths, settings)
    taken = {*SHARED, agent, *names_in(root), *folders_in(saved_root(paths))}
    found: list[Source] = []
    for path in settings.include:
        place = paths.project / os.path.expanduser(path)
        category = _category_of(place, taken)
        taken.add(category)
        found.append(
            Source(
                root=place,
                category=category,
                mounted_at=category if _AGENT.fullmatch(category) else None,
                enabled=True,
                problem=_refusal(place, root, paths),
            )
        )
    return found


def mounts(found: Iterable[Source]) -> dict[str, Path]:
    """The folders that programs see, by their places below skills.container_path. No link is followed.

    Nothing can be mounted into a folder that is mounted read-only, so where two sources have one place, each
    of their folders is mounted by itself. A source that has only part of its root is never mounted whole.
    """
    groups: dict[str, list[Source]] = {}
    for source in found:
        if source.mounted_at is not None and source.problem is None and is_folder(source.root):
            groups.setdefault(source.mounted_at, []).append(source)
    shown: dict[str, Path] = {}
    for place, group in groups.items():
        filled = [source for source in group if any(_counted(source))]
        (single,) = filled if len(filled) == 1 else group[:1]
        if len(filled) <= 1 and single.only is None:
            shown[place] = single.root
            continue
        for source in group:
            for name in _counted(source):
                shown.setdefault(f"{place}/{name}", source.root / name)
    return shown


def importable(found: Iterable[Source]) -> list[Source]:
    """The sources whose modules programs import: an agent's own before those for all."""
    usable = [source for source in found if source.importable and source.problem is None]
    return sorted(usable, key=lambda source: source.owner == "everybody")


def can_save(agent: str) -> bool:
    """Whether an agent can have a folder of its own: none whose name is that of a folder for all."""
    return bool(_AGENT.fullmatch(agent)) and agent.casefold() not in SHARED


def saved_root(paths: Paths) -> Path:
    """The folder of skills that agents save, with a folder for each agent. No program sees it as a whole."""
    return paths.state / "skills"


def project_root(paths: Paths, settings: SkillsSettings) -> Path:
    """The folder of a project's skills that people keep, with a folder for each category."""
    root = paths.project / os.path.expanduser(settings.path)
    return _saved_for_person(paths) if _is_persons(root, paths) else root


def _saved_for_person(paths: Paths) -> Path:
    return paths.user_config / "saved"


def overlap(one: Path, other: Path) -> bool:
    """Whether one of two folders is in the other, wherever links lead."""
    real, real_other = os.path.realpath(one), os.path.realpath(other)
    return _is_in(real, real_other) or _is_in(real_other, real)


# What is in the project


def _in_project(paths: Paths, settings: SkillsSettings, agent: str | None) -> Iterator[Source]:
    written = paths.project / os.path.expanduser(settings.path)
    is_persons = _is_persons(written, paths)
    root = _saved_for_person(paths) if is_persons else written
    if not os.path.lexists(root):
        return  # nobody has made that folder yet, and every list of tools comes by here
    hidden = _private_in(root, () if is_persons else paths.private)
    is_shown = hidden is not None and is_folder(root)
    for source in _categories(root, agent, is_shown=is_shown):
        if hidden and source.root.parent == root and source.root.name in hidden:
            yield replace(source, problem="has something of Satchel's own in it", importable=False)
        else:
            yield source


def _is_persons(root: Path, paths: Paths) -> bool:
    """Whether the project's folder is the person's own, which everybody sees: nothing is saved there."""
    user = paths.user_config / "skills"
    return root.is_relative_to(user) or user.is_relative_to(root)


def _private_in(root: Path, private: Iterable[Path]) -> set[str] | None:
    """The names in a root that lead to what is Satchel's own; None where all of it is."""
    real = os.path.realpath(root)
    names: set[str] = set()
    for own in map(os.path.realpath, private):
        if _is_in(real, own):
            return None
        if _is_in(own, real):
            names.add(own[len(real) :].strip("/").partition("/")[0])
    return names


def _categories(root: Path, agent: str | None, *, is_shown: bool) -> Iterator[Source]:
    """The folders of a root, each of which is a category, or a public skill that stands alone."""
    try:
        inside = read_directory(str(root))
    except FileNotFoundError:
        return  # nobody has made that folder yet
    except OSError as error:
        yield Source(root=root, category=PUBLIC, problem=f"can't be read: {error.strerror}")
        return
    alone = _alone(str(root), inside.folders, agent or "")
    for name in sorted({*inside.folders} - {*alone}):
        if _is_seen(name, agent):
            yield _category(root / name, agent, is_shown=is_shown)
    unseen = alone if is_shown else dict.fromkeys(alone)
    shown = frozenset(name for name, problem in unseen.items() if problem is None)
    if shown:
        place = PUBLIC if is_shown else None
        yield Source(root=root, category=PUBLIC, only=shown, mounted_at=place, enabled=True)
    for name, problem in unseen.items():
        if problem is not None:
            yield Source(root=root / name, category=PUBLIC, problem=problem)
    if inside.file is not None and agent is None:
        yield Source(root=root, category=PUBLIC, problem=STRAY)
    for name, problem in inside.odd:
        if _is_seen(name, agent):
            yield Source(root=root / name, category=name, problem=f"the folder {problem}")


def _is_seen(category: str, agent: str | None) -> bool:
    return agent is None or category in (PUBLIC, CUSTOM, COMMUNITY) or (category == agent and can_save(agent))


def _category(root: Path, agent: str | None, *, is_shown: bool) -> Source:
    name = root.name
    return Source(
        root=root,
        category=name,
        owner="everybody" if name in SHARED else "agent",
        mounted_at=name if is_shown else None,
        importable=is_shown and (can_save(name) or name == COMMUNITY),
        enabled=name in (PUBLIC, CUSTOM, USER, agent or DEFAULT),
    )


# What agents have saved


def _saved(paths: Paths, agent: str | None) -> Iterator[Source]:
    root = saved_root(paths)
    if not is_folder(root) or not paths.is_state_ours:  # a link, or what came with somebody's repository
        return
    for name in folders_in(root):
        if name == COMMUNITY or (can_save(name) and agent in (name, None)):
            yield _category(root / name, agent, is_shown=True)


def _side_by_side(first: Source, second: Source) -> Iterator[Source]:
    """Two folders of one category. A folder in the first hides that of the same name in the second."""
    ours = set(folders_in(first.root)) if first.problem is None else set[str]()
    theirs = set(names_in(second.root)) if second.problem is None else set[str]()
    if not ours or not theirs:
        yield from (first, second)
        return
    theirs -= ours
    if len(ours) + len(theirs) > _MOST_BESIDE:
        yield first
        why = f"{first.root} and this folder have more than {_MOST_BESIDE:,} skills, too many for programs"
        yield Source(root=second.root, category=second.category, problem=f"is not read: {why}")
        return
    for source, names in ((first, ours), (second, theirs)):
        odd = {name for name in names if not _is_plain(name)} if theirs else set[str]()
        is_whole = source is first and not odd
        yield source if is_whole else replace(source, only=frozenset(names - odd))
        for name in sorted(odd):
            problem = "has a name that can't be shown to programs: rename the folder"
            yield Source(root=source.root / name, category=source.category, problem=problem)


def _counted(source: Source) -> Iterator[str]:
    """The folders in a source's root that belong to it."""
    for name in folders_in(source.root):
        if (source.only is None or name in source.only) and _is_plain(name):
            yield name


# Skills that stand alone


def _alone(root: str, folders: Iterable[str], agent: str) -> dict[str, str | None]:
    """The folders of skills that are in no category, each with why programs can't see it, if they can't."""
    categories = {*_CATEGORIES, agent}
    names = [name for name in folders if name not in categories and _stands_alone(f"{root}/{name}")]
    public = set(names_in(f"{root}/{PUBLIC}")) if names else set[str]()
    every = {*public, *names}
    are_shown = len(every) <= MOST_ALONE and all(map(_is_plain, every))
    hidden = None if are_shown else f"is in no category, and can't be shown to programs: {_MOVE}"
    taken = f"the folder '{PUBLIC}' has another one of that name"
    return {name: taken if name in public else hidden for name in sorted(names)}


def _is_plain(name: str) -> bool:
    """Whether a folder can be shown to programs by itself; of mounts that root makes, `=` ends the name."""
    return "=" not in name and name.isprintable()


def _stands_alone(folder: str) -> bool:
    """Whether a folder is a skill: with others right in it, only if the folder's name is in its own.

    Else it is somebody's category, with a file in it that belongs elsewhere; so is one with saved skills.
    """
    try:
        inside = read_directory(folder)
    except OSError:
        return False
    if inside.file is None:
        return False
    inner = [name for name in inside.folders if has_file(f"{folder}/{name}")]
    if not inner:
        return True
    name = re.escape(os.fsencode(os.path.basename(folder)))
    return _says(inside.file.path, rb"(?im)^name:.*" + name) and not any(
        _says(f"{folder}/{each}/{FILE}", rb"(?m)^ +\"?agent\"?: [\"']?" + name) for each in inner
    )


def _says(file: str, pattern: bytes) -> bool:
    """Whether something is in the head of a file."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return re.search(pattern, os.read(descriptor, _HEAD)) is not None
    except OSError:  # a folder, or a pipe
        return False
    finally:
        os.close(descriptor)


# Folders of other programs


def _refusal(place: Path, root: Path, paths: Paths) -> str | None:
    """Why a folder is not read for `skills.include`: programs would see all that is in it."""
    if overlap(place, root):
        return "is in skills.include, but has skills.path in it, or is in that"
    own = next((private for private in paths.private if overlap(place, private)), None)
    return None if own is None else f"is in skills.include, and would let programs at {own}, Satchel's own"


def _category_of(place: Path, taken: set[str | None]) -> str:
    """The name for skills from elsewhere: skills in `.claude/skills` belong to `claude`."""
    parts = [part.strip(".") for part in place.parts if part.strip("./") and part != "skills"]
    name = parts[-1] if parts else "other"
    return next(
        spelt
        for number in range(1, 1000)
        if (spelt := f"{name}-{number}" if number > 1 else name) not in taken
    )


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
