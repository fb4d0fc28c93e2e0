"""What to call the objects within a schema: by what they are, and not by the first place they are met in.

Objects of the same make are one type, whatever the properties that hold them are called. It is named after
most of these, or after the words that all of them share. Different objects that want the same name are told
apart by what they are a part of.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from satchel.codegen.types import Array, Field, Map, Object, Shape, Tuple, Type, Union
from satchel.names import type_name

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z0-9]+|[0-9]+")
_SAYS_NOTHING = frozenset(["Item", "Value", "Or", "Of", "The", "A"])
_LONGEST = 50  # characters of a name with that of what it is a part of


@dataclass(kw_only=True)
class _Make:
    """The objects of one make: what they would be called, and what they are parts of."""

    names: list[str] = field(default_factory=list[str])
    parents: dict[str, None] = field(default_factory=dict[str, None])  # in the order in which they are met
    texts: set[str] = field(default_factory=set[str])
    fields: tuple[Field, ...] = ()
    name: str = ""


def name_types(shape: Shape) -> Shape:
    """The same shape with better names for the objects within it. Its own and those of definitions stay."""
    roots = [shape.type, *shape.definitions.values()]
    if sum(1 for root in roots for _ in _inside(root)) < (1 if shape.definitions else 2):
        return shape
    naming = _Naming(frozenset(shape.definitions))
    for root, name in zip(roots, ["", *shape.definitions], strict=True):
        naming.gather(root, name)
    naming.decide()
    definitions = {name: naming.renamed(kind, is_root=True) for name, kind in shape.definitions.items()}
    return replace(shape, type=naming.renamed(shape.type, is_root=True), definitions=definitions)


class _Naming:
    def __init__(self, taken: frozenset[str]) -> None:
        self._taken = taken
        self._bare: dict[Object, Object] = {}
        self._makes: dict[tuple[Object, str], _Make] = {}

    def gather(self, root: Type, parent: str) -> None:
        for kind, owner in _inside(root, parent):
            make = self._makes.setdefault(self._key(kind), _Make())
            make.names.append(kind.name)
            make.parents.setdefault(owner)
            make.texts.add(kind.text)
            make.fields = kind.fields

    def decide(self) -> None:
        names: dict[str, str] = {}  # what the first of that name is called now
        for make in self._makes.values():
            make.name = _shared_name(make.names)
            for name in make.names:
                names.setdefault(name, make.name)
        for name, makes in self._rivals():
            longer = [_by_parent(name, make, names) for make in makes]
            if len(set(longer)) > 1 or name in self._taken:
                for make, told_apart in zip(makes, longer, strict=True):
                    make.name = told_apart
        for name, makes in self._rivals():
            for make in makes:
                make.name = _by_field(name, make, makes)

    def _rivals(self) -> list[tuple[str, list[_Make]]]:
        """The names that several makes want, or that one shares with a definition."""
        wanted: dict[str, list[_Make]] = {}
        for make in self._makes.values():
            wanted.setdefault(make.name, []).append(make)
        return [(name, makes) for name, makes in wanted.items() if len(makes) > 1 or name in self._taken]

    def renamed(self, kind: Type, *, is_root: bool = False) -> Type:
        if isinstance(kind, Object):
            fields = tuple(replace(part, type=self.renamed(part.type)) for part in kind.fields)
            extra = None if kind.extra is None else self.renamed(kind.extra)
            if is_root:
                return Object(kind.name, fields, extra, kind.text)
            make = self._makes[self._key(kind)]
            text = kind.text if len(make.texts) == 1 else ""
            return Object(make.name, fields, extra, text)
        if isinstance(kind, Array):
            return Array(self.renamed(kind.items))
        if isinstance(kind, Map):
            return Map(self.renamed(kind.values))
        if isinstance(kind, Tuple):
            return Tuple(tuple(map(self.renamed, kind.items)))
        if isinstance(kind, Union):
            return Union(tuple(map(self.renamed, kind.options)))
        return kind

    def _key(self, kind: Object) -> tuple[Object, str]:
        """What makes objects the same. One with a single property says too little to be known by it."""
        if kind not in self._bare:
            fields = tuple(replace(part, type=self._without_names(part.type)) for part in kind.fields)
            self._bare[kind] = Object("", fields, kind.extra and self._without_names(kind.extra))
        return self._bare[kind], kind.name if len(kind.fields) < 2 else ""

    def _without_names(self, kind: Type) -> Type:
        if isinstance(kind, Object):
            bare, name = self._key(kind)
            return replace(bare, name=name)
        if isinstance(kind, Array):
            return Array(self._without_names(kind.items))
        if isinstance(kind, Map):
            return Map(self._without_names(kind.values))
        if isinstance(kind, Tuple):
            return Tuple(tuple(map(self._without_names, kind.items)))
        if isinstance(kind, Union):
            return Union(tuple(map(self._without_names, kind.options)))
        return kind


def _inside(root: Type, parent: str = "") -> Iterator[tuple[Object, str]]:
    """The objects within a type, each with the name of the one that it is a part of."""
    waiting: deque[tuple[Type, str]] = deque([(root, parent)])
    while waiting:
        kind, owner = waiting.popleft()
        if isinstance(kind, Object):
            if kind is not root:
                yield kind, owner
                owner = kind.name
            waiting += [(part.type, owner) for part in kind.fields]
            waiting += [(kind.extra, owner)] if kind.extra is not None else []
        elif isinstance(kind, Array):
            waiting.append((kind.items, owner))
        elif isinstance(kind, Map):
            waiting.append((kind.values, owner))
        elif isinstance(kind, Tuple):
            waiting += [(item, owner) for item in kind.items]
        elif isinstance(kind, Union):
            waiting += [(option, owner) for option in kind.options]


def _shared_name(names: list[str]) -> str:
    """The most common of them; the words that all share where none is; both where there are just two."""
    (first, most), *others = Counter(names).most_common()
    tied = [first, *(name for name, count in others if count == most)]
    if len(tied) == 1:
        return first
    words = _common_words(tied)
    if words:
        return words
    return "Or".join(tied) if len(tied) == 2 and len("".join(tied)) <= _LONGEST - 2 else first


def _common_words(names: list[str]) -> str:
    """The longest run of words that is in all of the names, where it says something."""
    lists = [_WORDS.findall(name) for name in names]
    shortest = min(lists, key=len)
    for length in range(len(shortest), 0, -1):
        for start in range(len(shortest) - length + 1):
            run = shortest[start : start + length]
            if not _SAYS_NOTHING.issuperset(run) and all(_has_run(words, run) for words in lists):
                return "".join(run) if run[0][:1].isalpha() else ""
    return ""


def _has_run(words: list[str], run: list[str]) -> bool:
    return any(words[start : start + len(run)] == run for start in range(len(words) - len(run) + 1))


def _by_parent(name: str, make: _Make, names: Mapping[str, str]) -> str:
    """With the name of what it is a part of before its own, where that is one thing and another word."""
    parents = {names.get(parent, parent).removesuffix("Item") for parent in make.parents}
    (parent, *others) = parents
    longer = f"{parent}{name}"
    return name if others or parent.endswith(name) or len(longer) > _LONGEST else longer


def _by_field(name: str, make: _Make, others: list[_Make]) -> str:
    """With the name of a field that the others lack, best one that is always there."""
    theirs = {part.name for other in others if other is not make for part in other.fields}
    own = sorted(
        (part for part in make.fields if part.name not in theirs), key=lambda part: not part.required
    )
    words = next((words for part in own if (words := type_name(part.name))), "")
    longer = f"{name}With{words}"
    return longer if words and len(longer) <= _LONGEST else name
