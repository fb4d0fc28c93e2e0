"""All that a folder or a commit has at its paths, links included, and the files of one folder in it.

Links are followed in the tree alone, by their text: what they lead to outside of it is never looked at.
"""

import posixpath
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from satchel.library.install.members import Limits, Member, is_left_out, refused

_MOST_LINKS = 40  # behind each other, as in Linux


@dataclass(frozen=True, kw_only=True)
class Node:
    """Something that is not a folder: a file, a link, or what can't be installed, with the reason."""

    read: Callable[[], Iterator[bytes]] | None = None
    executable: bool = False
    link: str | None = None
    reason: str = ""


Tree = Mapping[str, Node]
"""By path, with slashes."""


def bytes_at(tree: Tree, path: str, most: int) -> bytes | None:
    """A small file whole, where a link leads too; None where there is none."""
    target = _Walk(tree).target(path) if path in tree else None
    node = tree.get(target) if target is not None else None
    if node is None or node.read is None:
        return None
    data = b""
    for chunk in node.read():
        data += chunk
        if len(data) > most:
            raise refused(f"{path!a} has more than {most:,} bytes")
    return data


def members_below(tree: Tree, folder: str, limits: Limits) -> tuple[list[Member], list[str]]:
    """The files below a folder of a tree, and the links that were left out, as they lead to nothing in it."""
    walk = _Walk(tree)
    members: list[Member] = []
    left_out: list[str] = []
    for path, node in walk.below(folder, "", frozenset()):
        if node is None:
            left_out.append(path)
        elif node.read is None:
            raise refused(f"{path!a} {node.reason}; a {limits.what} has plain files only")
        else:
            members.append(Member(path=path, read=node.read, executable=node.executable))
        if len(members) + len(left_out) > limits.files:
            raise refused(
                f"there are more than {limits.files:,} files, which is the limit for a {limits.what}"
            )
    return members, left_out


def _is_around(target: str, inside: frozenset[str]) -> bool:
    return any(f"{folder}/".startswith(f"{target}/") for folder in inside)


class _Walk:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._paths = sorted(tree)

    def below(self, folder: str, place: str, inside: frozenset[str]) -> Iterator[tuple[str, Node | None]]:
        """The files below `folder`, at their paths below `place`; None for a link that leads to nothing here.

        `inside` are the folders that are being walked: a link into one of them would never end.
        """
        start = f"{folder}/" if folder else ""
        inside |= {folder}
        for path in self._beginning(start):
            inner = path[len(start) :]
            if not any(map(is_left_out, inner.split("/"))):
                yield from self._at(path, f"{place}{inner}", inside)

    def _at(self, path: str, place: str, inside: frozenset[str]) -> Iterator[tuple[str, Node | None]]:
        if self._tree[path].link is None:
            yield place, self._tree[path]
            return
        target = self.target(path)
        if target is None or any(map(is_left_out, target.split("/"))):
            yield place, None
        elif target in self._tree:
            yield place, self._tree[target]
        elif target == "" or _is_around(target, inside) or len(inside) > _MOST_LINKS:
            yield place, None
        else:
            yield from self.below(target, f"{place}/", inside)

    def target(self, path: str) -> str | None:
        """The file or folder a link leads to in the end; None where it leads out, nowhere or in a circle."""
        for _ in range(_MOST_LINKS):
            node = self._tree.get(path)
            if node is None:
                return path if not path or any(True for _ in self._beginning(f"{path}/")) else None
            if node.link is None:
                return path
            reached = posixpath.normpath(posixpath.join(posixpath.dirname(path), node.link))
            if reached.startswith(("/", "../")) or reached == ".." or "\0" in reached:
                return None
            path = "" if reached == "." else reached
        return None

    def _beginning(self, start: str) -> Iterator[str]:
        place = bisect_left(self._paths, start)
        while place < len(self._paths) and self._paths[place].startswith(start):
            yield self._paths[place]
            place += 1
