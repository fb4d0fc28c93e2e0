"""Links among the files to be installed: what they lead to inside is copied, all else is left out."""

import os
import subprocess
from pathlib import Path

import pytest

from satchel.errors import ArgumentError
from satchel.library.install.members import PLUGIN, Member
from satchel.library.install.origins import folder_tree
from satchel.library.install.repositories import commit_of, repository_tree
from satchel.library.install.trees import Tree, members_below


def tree_of(root: Path, kind: str) -> Tree:
    if kind == "folder":
        return folder_tree(root)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e@example.com", *command], cwd=root, check=True
        )
    return repository_tree(root, commit_of(root))


def content(member: Member) -> str:
    return b"".join(member.read()).decode()


@pytest.mark.parametrize("kind", ["folder", "git"])
def test_links_are_copied_where_they_lead_inside_and_left_out_elsewhere(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "market"
    (root / "plugins" / "one" / "skills").mkdir(parents=True)
    (root / "shared" / "skill").mkdir(parents=True)
    (root / "shared" / "skill" / "SKILL.md").write_text("shared")
    (root / "plugins" / "one" / "own.md").write_text("own")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    links = {
        "skills/shared": "../../../shared/skill",
        "again.md": "own.md",
        "out.md": "../../../secret",
        "absolute.md": str(secret),
        "nowhere.md": "missing",
        "circle": "circle",
        "self": ".",
        "up": "..",
        "root": "../..",
    }
    for place, target in links.items():
        os.symlink(target, root / "plugins" / "one" / place)

    members, left_out = members_below(tree_of(root, kind), "plugins/one", PLUGIN)

    assert {member.path: content(member) for member in members} == {
        "own.md": "own",
        "again.md": "own",
        "skills/shared/SKILL.md": "shared",
    }
    assert sorted(left_out) == sorted(set(links) - {"skills/shared", "again.md"})


def test_links_into_each_other_end(tmp_path: Path) -> None:
    """Each folder has links to all others: without a bound there would be as many paths as orders."""
    for name in map(str, range(12)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
        for other in map(str, range(12)):
            os.symlink(f"../{other}", tmp_path / name / f"to-{other}")

    with pytest.raises(ArgumentError, match=r"more than 20,000 files"):
        members_below(folder_tree(tmp_path), "", PLUGIN)


def test_a_pipe_and_a_submodule_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ArgumentError, match="'pipe' is a device, a pipe or a socket; a plugin has plain"):
        members_below(folder_tree(tmp_path), "", PLUGIN)


@pytest.mark.slow
def test_thousands_of_files_of_a_repository_are_read_by_one_git(tmp_path: Path) -> None:
    for number in range(3_000):
        (tmp_path / f"{number}").write_text(f"content {number}")

    members, _ = members_below(tree_of(tmp_path, "git"), "", PLUGIN)

    assert {member.path: content(member) for member in members} == {
        f"{number}": f"content {number}" for number in range(3_000)
    }


def test_a_folder_that_can_not_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="gone can't be read: No such file"):
        folder_tree(tmp_path / "gone")
