"""sh, and run for programs in other languages or checked ones, as real processes with a real sandbox."""

from pathlib import Path

import anyio
import pytest

from satchel import open_satchel
from tests.projects import Project
from tests.servers import raw

pytestmark = pytest.mark.e2e


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Its server has been listed; here, because this process has loaded the SDK already."""
    project = Project(tmp_path / "project", {"good": raw("good")})

    async def refresh() -> None:
        async with open_satchel(project.directory) as satchel:
            await satchel.servers.refresh()

    anyio.run(refresh)
    return project


def write(project: Project, name: str, text: str) -> Path:
    file = project.directory / name
    file.write_text(text)
    return file


# sh


def test_a_command_with_its_arguments_looks_around(project: Project) -> None:
    outcome = project.run("sh", "ls", "-la", "servers/")
    assert (outcome.code, outcome.err) == (0, "")
    assert any(line.endswith(" good") for line in outcome.out.splitlines())


def test_every_link_in_the_workspace_leads_somewhere_without_custom_tools_and_skills(
    project: Project,
) -> None:
    outcome = project.run(
        "sh", "rg -l echo servers/ tools/; find -L . -maxdepth 1 -type l; ls tools/ skills/"
    )
    assert (outcome.code, outcome.err) == (0, "")
    assert "servers/good/echo.py" in outcome.out
    assert "\n./" not in outcome.out


def test_arguments_arrive_as_they_are(project: Project) -> None:
    outcome = project.run("sh", "printf", "%s|", "a b", "$HOME", "*", "--json", "-x", "it's")
    assert (outcome.code, outcome.out.strip()) == (0, "a b|$HOME|*|--json|-x|it's|")
    assert project.run("sh", "--", "echo", "--", "x").out == "-- x\n"


def test_a_single_word_is_a_script(project: Project) -> None:
    outcome = project.run("sh", "echo a; echo b | tr b c; echo $((6 * 7))")
    assert (outcome.code, outcome.out) == (0, "a\nc\n42\n")


def test_a_script_can_come_from_standard_input(project: Project) -> None:
    outcome = project.run("sh", stdin="for n in 1 2; do\n  echo $n\ndone\nexit 5\n")
    assert (outcome.code, outcome.out) == (5, "1\n2\n")


@pytest.mark.parametrize(
    ("command", "code"), [("exit 3", 3), ("false", 1), ("no-such-command", 127), ("true", 0)]
)
def test_the_exit_code_is_the_commands(project: Project, command: str, code: int) -> None:
    assert project.run("sh", command).code == code


def test_options_come_before_the_command(project: Project) -> None:
    outcome = project.run("sh", "--json", "--description", "look around", "echo a; echo b >&2; exit 4")
    assert outcome.code == 4
    assert (outcome.json["stdout"], outcome.json["stderr"], outcome.json["exit_code"]) == ("a\n", "b\n", 4)
    shown = project.run("show-execution", outcome.json["execution_id"], "--json").json
    assert (shown["language"], shown["description"]) == ("bash", "look around")
    outcome = project.run("sh", "--timeout", "0.5", "sleep", "60")
    assert outcome.code == 137
    assert "ended: timeout" in outcome.err
    outcome = project.run("sh", "--agent", "stranger", "true")
    assert outcome.code == 2
    assert "unknown agent 'stranger'" in outcome.err


def test_a_pipe_that_is_closed_early_is_no_error(project: Project) -> None:
    outcome = project.run("sh", "yes | head -n 2")
    assert (outcome.code, outcome.out, outcome.err) == (0, "y\ny\n", "")


# run


def test_a_file_in_typescript_is_run_by_its_ending(project: Project) -> None:
    write(
        project,
        "program.ts",
        'import { add } from "./servers/good/index.ts";\n'
        "const sum: number = (await add({ a: 2, b: 3 })).sum;\n"
        "console.log(`sum ${sum}`);\n"
        'console.error("to stderr");\n'
        "export const result = { sum };\n",
    )
    outcome = project.run("run", "program.ts")
    assert (outcome.code, outcome.out) == (0, "sum 5\n"), outcome.err
    assert outcome.err.splitlines() == ["to stderr", 'result: {"sum": 5}']


@pytest.mark.parametrize("name", ["x.mts", "x.js", "x.mjs"])
def test_endings_of_javascript_are_known(project: Project, name: str) -> None:
    write(project, name, "console.log([1, 2].map((n) => n * 2).join());")
    assert project.run("run", name).out == "2,4\n"


def test_a_shell_script_is_run_by_its_ending(project: Project) -> None:
    write(project, "x.sh", "echo $((6 * 7))\nexit 3\n")
    outcome = project.run("run", "x.sh")
    assert (outcome.code, outcome.out) == (3, "42\n")


def test_an_error_in_typescript_names_the_line_and_ends_with_1(project: Project) -> None:
    write(project, "fails.ts", "const x = 1;\nfunction f(): never { throw new Error('odd'); }\nf();\n")
    outcome = project.run("run", "fails.ts")
    assert outcome.code == 1
    assert outcome.err.startswith("Error: odd\n    at f (main.ts:2:29)\n    at main.ts:3:1\n")


def test_the_language_can_be_said(project: Project) -> None:
    outcome = project.run("run", "-", "--language", "typescript", stdin="console.log('x' satisfies string)")
    assert (outcome.code, outcome.out) == (0, "x\n"), outcome.err
    write(project, "without-ending", "echo $((1 + 1))")
    assert project.run("run", "without-ending", "--language", "bash").out == "2\n"
    assert project.run("run", "-", "--language", "ruby").code == 2


def test_without_an_ending_the_language_is_that_of_the_settings(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {})
    write(project, "satchel.yaml", "code_execution: {language: typescript}")
    assert project.run("run", "-", stdin="console.log(6 * 7 as number)").out == "42\n"


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    ids=["python", "typescript"],
    argvalues=[
        (
            "checked.py",
            "from servers.good import add\nprint((await add(a=1, b=2)).sum)\n",
            "from servers.good import add\nprint('ran')\nawait add(a='one', b=2)\n",
        ),
        (
            "checked.ts",
            'import { add } from "./servers/good/index.ts";\nconsole.log((await add({ a: 1, b: 2 })).sum);\n',
            'import { add } from "./servers/good";\nconsole.log("ran");\nawait add({ a: "one", b: 2 });\n',
        ),
    ],
)
def test_a_program_is_checked_before_it_runs(project: Project, name: str, right: str, wrong: str) -> None:
    write(project, name, right)
    outcome = project.run("run", name, "--check")
    assert (outcome.code, outcome.out, outcome.err) == (0, "3\n", "")
    write(project, name, wrong)
    outcome = project.run("run", "--check", name)
    assert (outcome.code, outcome.out) == (1, "")
    assert f"main{Path(name).suffix}:3:" in outcome.err
    assert "ended: check: its types don't fit; nothing was run" in outcome.err
    calls = project.run("audit", "--json").json["calls"]
    value = project.run("run", "--check", name, "--json")
    assert (value.code, value.json["ended"], value.json["tools_called"]) == (1, "check", [])
    assert project.run("audit", "--json").json["calls"] == calls
    assert project.run("run", name).out == "ran\n"  # which is what the check prevents


def test_a_shell_script_is_not_checked(project: Project) -> None:
    outcome = project.run("run", "-", "--language", "bash", "--check", stdin="echo ran")
    assert (outcome.code, outcome.out) == (2, "")
    assert "only a program that stands alone can be checked" in outcome.err
