"""The strict rules for a SKILL.md: of the Agent Skills specification, of Claude, and of DeerFlow.

Loading is lenient, and what it forgives is found here. Each rule has a name by which it can be waived.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from satchel.errors import ArgumentError
from satchel.library.skills.directory import FILE
from satchel.library.skills.finding import LARGEST
from satchel.library.skills.front_matter import Document, decode, read_document
from satchel.model import Skill, is_list, is_object
from satchel.names import closest
from satchel.support.files import read_small

Profile = Literal["spec", "claude", "deerflow"]
Severity = Literal["error", "warning"]
PROFILES: tuple[Profile, ...] = get_args(Profile)

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
LONGEST_COMPATIBILITY = 500
MOST_LINES = 500
_SPECIFIED = frozenset({"name", "description", "license", "allowed-tools", "metadata", "compatibility"})
KEYS: dict[Profile, frozenset[str]] = {
    "spec": _SPECIFIED,
    "claude": _SPECIFIED
    | {"version", "argument-hint", "arguments", "user-invocable", "disable-model-invocation", "when_to_use"}
    | {"disallowed-tools", "model", "effort", "context", "agent", "hooks", "paths", "shell"},
    "deerflow": _SPECIFIED | {"version", "author", "required-secrets", "secrets-autonomous"},
}
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_RESERVED = ("anthropic", "claude")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A rule that a SKILL.md breaks."""

    rule: str
    severity: Severity
    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text} [{self.rule}]"


@dataclass(frozen=True, kw_only=True)
class _Subject:
    """The input of the rules."""

    data: bytes
    document: Document
    folder: str | None  # its name, where that matters
    profile: Profile

    def value(self, key: str) -> object:
        return self.document.values.get(key)

    def text(self, key: str) -> str:
        """The value of a key that has a text; empty otherwise, which other rules are about."""
        value = self.value(key)
        return value.strip() if isinstance(value, str) else ""


_Remarks = Iterator[tuple[str | int, str]]  # each a key or a line, and what is wrong there


@dataclass(frozen=True, kw_only=True)
class Rule:
    name: str
    text: str  # what it asks for
    check: Callable[[_Subject], _Remarks]
    profiles: tuple[Profile, ...] = PROFILES
    advice: tuple[Profile, ...] = ()  # where it is a warning only


def lint(target: Path | Skill, profile: Profile = "spec", *, folder: str | None = "") -> list[Fault]:
    """Which rules a skill breaks, by line. `folder` is the name that it must have; with None, any will do."""
    file = target.file if isinstance(target, Skill) else target / FILE
    if isinstance(target, Skill) and target.error is not None and target.line is None:
        return [_unreadable(target.error)]  # a link, a device: not to be opened
    named = file.parent.resolve().name if folder == "" else folder
    try:
        data = read_small(file, LARGEST)
    except FileNotFoundError:
        return [_unreadable(f"there is no {FILE}")]
    except OSError as error:
        reason = error.strerror or f"it is not a file of at most {LARGEST >> 10:,} KiB"
        return [_unreadable(f"can't be read: {reason}")]
    return lint_text(data, named, profile)


def _unreadable(reason: str) -> Fault:
    return Fault(rule="front-matter", severity="error", line=1, text=reason)


def lint_text(data: bytes, folder: str | None, profile: Profile = "spec") -> list[Fault]:
    """Which rules the text of a SKILL.md breaks."""
    document = read_document(data)
    subject = _Subject(data=data, document=document, folder=folder, profile=profile)
    rules = RULES if document.error is None else RULES[:1]
    found = [
        Fault(
            rule=rule.name,
            severity="warning" if profile in rule.advice else "error",
            line=document.lines.get(place, 1) if isinstance(place, str) else place,
            text=text,
        )
        for rule in rules
        if profile in rule.profiles
        for place, text in rule.check(subject)
    ]
    return sorted(found, key=lambda fault: fault.line)


def check_rules(names: Collection[str]) -> None:
    """Refuse unknown names of rules, so that nobody believes a rule to be waived that is not."""
    known = [rule.name for rule in RULES]
    for name in names:
        if name not in known:
            near = closest(name, known, limit=1)
            hint = f"did you mean {near[0]}?" if near else "the rules are " + ", ".join(known)
            raise ArgumentError(f"there is no rule '{name}'", hint=hint)


# The rules


def _front_matter(subject: _Subject) -> _Remarks:
    if subject.document.error is not None:
        yield subject.document.error.line, subject.document.error.text


def _strict(subject: _Subject) -> _Remarks:
    if subject.data.startswith(b"\xef\xbb\xbf"):
        yield 1, "begins with a byte order mark"
    elif subject.data[:1].isspace():
        yield 1, "does not begin with '---'"
    last = subject.document.body_line - 1
    if decode(subject.data)[0].split("\n", last)[last - 1].strip() == "...":
        yield last, "its front matter ends in '...'; other programs want '---'"
    for remark in subject.document.warnings:
        yield remark.line, remark.text


def _name_given(subject: _Subject) -> _Remarks:
    name = subject.value("name")
    if name is None or name == "":
        yield "name", "has no name"
    elif not isinstance(name, str):
        yield "name", "the name is not a text; put it in quotes"


def _name_format(subject: _Subject) -> _Remarks:
    name = normal_name(subject.text("name"))
    if not name:
        return
    is_valid = _is_specified(name) if subject.profile == "spec" else _NAME.fullmatch(name)
    if not is_valid:
        yield "name", f"the name '{name}' is not lower case letters, digits and single hyphens between them"


def normal_name(name: str) -> str:
    """A name as names are compared: the same letters, however they are composed."""
    return unicodedata.normalize("NFKC", name.strip())


def _is_specified(name: str) -> bool:
    """As the reference validator has it: letters and digits of any script, and none in upper case."""
    return name == name.lower() and all(word.isalnum() for word in name.split("-"))


def _name_length(subject: _Subject) -> _Remarks:
    number = len(normal_name(subject.text("name")))
    if number > LONGEST_NAME:
        yield "name", f"the name has {number} characters; at most {LONGEST_NAME} are allowed"


def _name_folder(subject: _Subject) -> _Remarks:
    name = subject.text("name")
    if name and subject.folder is not None and normal_name(name) != normal_name(subject.folder):
        yield "name", f"the name '{name}' is not that of its folder, '{subject.folder}'"


def _name_reserved(subject: _Subject) -> _Remarks:
    for word in _RESERVED:
        if word in normal_name(subject.text("name")).lower():
            yield "name", f"the name has the reserved word '{word}'"


def _description_given(subject: _Subject) -> _Remarks:
    description = subject.value("description")
    if description is None or (isinstance(description, str) and not description.strip()):
        yield "description", "has no description"
    elif not isinstance(description, str):
        yield "description", "the description is not a text; put it in quotes"


def _description_length(subject: _Subject) -> _Remarks:
    number = len(subject.text("description"))
    if number > LONGEST_DESCRIPTION:
        yield "description", f"the description has {number:,} characters; at most 1,024 are allowed"


def _description_brackets(subject: _Subject) -> _Remarks:
    if re.search("[<>]", subject.text("description")):
        yield "description", "the description has an angle bracket"


def _known_keys(subject: _Subject) -> _Remarks:
    known = KEYS[subject.profile]
    for key in subject.document.values:
        if key not in known:
            near = closest(key, known, limit=1)
            yield key, f"unknown key '{key}'" + (f"; did you mean '{near[0]}'?" if near else "")


def _value_types(subject: _Subject) -> _Remarks:
    for key in ("license", "compatibility"):
        if subject.value(key) is not None and not isinstance(subject.value(key), str):
            yield key, f"'{key}' is not a text"
    if not is_object(subject.document.values.get("metadata", {})):
        yield "metadata", "'metadata' is not keys and values"
    tools = subject.document.values.get("allowed-tools", "")
    if not isinstance(tools, str) and not (is_list(tools) and all(isinstance(item, str) for item in tools)):
        yield "allowed-tools", "'allowed-tools' is neither a text nor a list of texts"


def _compatibility_length(subject: _Subject) -> _Remarks:
    number = len(subject.text("compatibility"))
    if number > LONGEST_COMPATIBILITY:
        yield "compatibility", f"'compatibility' has {number} characters; at most 500 are allowed"


def _body(subject: _Subject) -> _Remarks:
    document = subject.document
    number = document.body.count("\n") + 1
    if not document.body.strip():
        yield document.body_line, "has no instructions below its front matter"
    elif number > MOST_LINES:
        yield document.body_line, f"has {number:,} lines of instructions; at most {MOST_LINES} are advised"


RULES: tuple[Rule, ...] = (
    Rule(name="front-matter", text="It begins with front matter that can be read", check=_front_matter),
    Rule(name="strict-yaml", text="Its front matter needs no mending: UTF-8, valid YAML", check=_strict),
    Rule(name="name-given", text="It has a name", check=_name_given),
    Rule(name="name-format", text="Lower case letters, digits and single hyphens", check=_name_format),
    Rule(name="name-length", text="At most 64 characters", check=_name_length),
    Rule(name="name-folder", text="The name is that of the folder", check=_name_folder, advice=("deerflow",)),
    Rule(
        name="name-reserved",
        text="The name has neither `anthropic` nor `claude` in it",
        check=_name_reserved,
        profiles=("claude",),
    ),
    Rule(name="description-given", text="It has a description", check=_description_given),
    Rule(name="description-length", text="At most 1,024 characters", check=_description_length),
    Rule(
        name="description-brackets",
        text="No `<` and no `>` in it",
        check=_description_brackets,
        profiles=("claude", "deerflow"),
    ),
    Rule(name="known-keys", text="Only keys that the profile knows", check=_known_keys),
    Rule(name="value-types", text="Values are of the type that their key has", check=_value_types),
    Rule(name="compatibility-length", text="At most 500 characters", check=_compatibility_length),
    Rule(name="body", text="It has instructions, of at most 500 lines", check=_body, advice=PROFILES),
)
