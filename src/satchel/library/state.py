"""Which skills are enabled: what extensions_config.json has under `skills`, by name or by identity.

It is read anew each time, so that a change by another process counts at once. A write is that of the servers:
under the same lock, in one step, and with everything kept that is not its business.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from satchel.config import update_extensions
from satchel.config.extensions import line_of, load_document
from satchel.errors import ArgumentError, ConfigError, NotFoundError
from satchel.library.skills.files import BASE
from satchel.model import Json, Skill, is_object
from satchel.model.skills import OF_PLUGIN
from satchel.names import closest

_KEY = "skills"


def read_states(file: Path) -> Json:
    """The current entry of the file for each skill; empty if there is no file."""
    return _states(load_document(file), file)


def is_enabled(states: Mapping[str, object], identity: str, name: str, *, default: bool) -> bool:
    """Whether a skill is enabled: by what is said of its identity, of its name, or by default."""
    for key in (identity, name):
        state = states.get(key)
        if is_object(state) and isinstance(state.get("enabled"), bool):
            return state["enabled"]
        if isinstance(state, bool):
            return state
    return default


def with_state(skills: Iterable[Skill], states: Mapping[str, object]) -> list[Skill]:
    """The skills, each enabled or not. What they say of that themselves counts where nothing else does.

    In a plugin that is disabled, none is enabled.
    """
    found: list[Skill] = []
    for skill in skills:
        state = is_enabled(states, skill.identity, skill.name, default=skill.enabled)
        enabled = state and skill.error is None and (skill.enabled or skill.plugin is None)
        found.append(skill if skill.enabled == enabled else replace(skill, enabled=enabled))
    return found


def set_skill_enabled(file: Path, skill: Skill, skills: Iterable[Skill] = (), *, enabled: bool) -> None:
    """Switch one skill on or off. `skills` are all there are: a name that two have does not tell which."""
    same = [other for other in skills if other.name == skill.name and other.identity != skill.identity]

    def change(states: Json) -> None:
        by_identity = bool(same) or skill.plugin is not None or skill.identity in states or ":" in skill.name
        key = skill.identity if by_identity else skill.name
        entry: object = states.get(key)
        states[key] = {**entry, "enabled": enabled} if is_object(entry) else {"enabled": enabled}

    update_states(file, change)


def forget_skill(file: Path, skill: Skill, skills: Iterable[Skill] = ()) -> None:
    """Take out what is said of a skill that is gone; of its name it stays while another one has that."""
    keys = [skill.identity]
    if all(other.name != skill.name or other.identity == skill.identity for other in skills):
        keys.append(skill.name)
    if not any(key in read_states(file) for key in keys):
        return

    def change(states: Json) -> None:
        for key in keys:
            states.pop(key, None)

    update_states(file, change)


def update_states(file: Path, change: Callable[[Json], None]) -> None:
    """Let `change` edit the states of skills, under the lock, and write the file if anything changed."""

    def change_document(document: Json) -> None:
        states = _states(document, file)
        change(states)
        if states or _KEY in document:
            document[_KEY] = states

    update_extensions(file, change_document)


def named_skill(name: str, skills: Iterable[Skill], base: str = BASE) -> Skill:
    """The skill that is meant by a name, by `category:name`, or by its folder here or for programs."""
    found = skills_named(name, skills, base)
    if len(found) == 1:
        return found[0]
    places = ", ".join(str(skill.folder) for skill in found)
    raise ArgumentError(
        f"{len(found)} skills of one category are called '{name}': {places}", hint="name one by its folder"
    )


def skills_named(name: str, skills: Iterable[Skill], base: str = BASE) -> list[Skill]:
    """The same; several where they have one identity, by which they are switched together."""
    every = list(skills)
    found = [skill for skill in every if is_identity(name, skill)]
    found = found or [skill for skill in every if skill.name == name]
    if not found and "/" in name:
        found = [skill for skill in every if _is_at(skill, name.rstrip("/"), base)]
    if not found:
        known = {skill.name for skill in every}
        raise NotFoundError("skill", name, closest=closest(name, known), hint=_hint(known))
    identities = sorted({skill.identity for skill in found})
    if len(identities) > 1:
        hint = "name it as " + " or ".join(identities)
        raise ArgumentError(f"{len(found)} skills are called '{name}'", hint=hint)
    return found


def is_identity(name: str, skill: Skill) -> bool:
    """Whether this is what a skill is told apart by; `sales:call-prep` is one that the plugin brings."""
    return name == skill.identity or (skill.plugin is not None and name == f"{skill.plugin}:{skill.name}")


def forget_plugin(file: Path, plugin: str) -> None:
    """Take out what is said of the skills of a plugin that is gone."""
    prefix = f"{OF_PLUGIN}{plugin}:"

    def change(states: Json) -> None:
        for key in [key for key in states if key.startswith(prefix)]:
            del states[key]

    if any(key.startswith(prefix) for key in read_states(file)):
        update_states(file, change)


def _is_at(skill: Skill, path: str, base: str) -> bool:
    if path in (skill.get_container_path(base), skill.get_container_file_path(base)):
        return True
    here = Path(os.path.abspath(os.path.expanduser(path)))
    return here in (skill.folder.absolute(), skill.file.absolute())


def _hint(known: set[str]) -> str | None:
    return None if known else "there are no skills yet; satchel skills install adds one"


def _states(document: Json, file: Path) -> Json:
    states: object = document.get(_KEY, {})
    if not is_object(states):
        raise ConfigError(f"'{_KEY}' must be an object", file=file, line=line_of(file, (_KEY,)), key=_KEY)
    return states
