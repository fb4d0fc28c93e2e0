"""Mistakes in options, as real processes."""

from pathlib import Path

import pytest

from tests.projects import Project

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("arguments", "usage", "text"),
    [
        (["serve", "--htpp", "127.0.0.1:1"], "serve", "--htpp 127.0.0.1:1; did you mean --http?"),
        (["skills", "list", "--categry=x"], "skills list", "--categry=x; did you mean --category?"),
        (["call", "a.b", "--tiemout", "3"], "call", "--tiemout 3; did you mean --timeout?"),
        (["list", "a", "b"], "list", "arguments: b\n"),
        (["doctor", "--zzz"], "doctor", "arguments: --zzz\n"),
        (["doctor", "-jsn"], "doctor", "-jsn; did you mean --json?"),
    ],
)
def test_an_unknown_option_is_answered_with_the_usage_of_its_command_and_the_closest_one(
    tmp_path: Path, arguments: list[str], usage: str, text: str
) -> None:
    outcome = Project(tmp_path, {}).run(*arguments)
    assert outcome.code == 2
    assert outcome.err.startswith(f"usage: satchel {usage} ")
    assert f"satchel {usage}: error: unrecognized arguments: " in outcome.err
    assert text in outcome.err


def test_whose_token_it_is_can_be_said_with_and_without_the_option(tmp_path: Path) -> None:
    project = Project(tmp_path, {})
    (tmp_path / "satchel.yaml").write_text("agents: {reader: {}}\n")
    token = project.run("token", "--agent", "reader").out
    assert token
    assert project.run("token", "reader").out == token
    assert project.run("token").out == project.run("token", "--agent", "default").out != token
    both = project.run("token", "reader", "--agent", "default")
    assert both.code == 2
    assert "not allowed with" in both.err
