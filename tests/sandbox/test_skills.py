"""Skills in the box: what programs see of them, save and import; and that none gets further than its user."""

import json
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.errors import ArgumentError, SandboxError
from satchel.model import Execution
from tests.projects import Project
from tests.servers import raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 60  # seconds; only a hang reaches it
SETTINGS = """
code_execution: { timeout: 20, max_timeout: 40 }
agents:
  default: {}
  other: {}
  reader: { deny: ["good.echo"] }
  giver: { promote_skills: true }
  community: {}
"""
SAVE = """
from satchel_runtime import save_skill
result = await save_skill({name!r}, {code!r}, {description!r})
"""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """For the whole module, so that one Satchel can serve its tests."""
    return "asyncio"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = Project(tmp_path_factory.mktemp("skills") / "project", {"good": raw("good")})
    (project.directory / "satchel.yaml").write_text(SETTINGS)
    for place in ("skills/public/pdf", "skills/other/mine", "skills/stranger/x"):
        folder = project.directory / place
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: secret of {place}\n---\n")
    return project.directory


@pytest.fixture(scope="module")
async def satchel(project: Path) -> AsyncGenerator[Satchel]:
    async with open_satchel(project, environment=environment_of(project)) as satchel:
        yield satchel


def environment_of(project: Path) -> dict[str, str]:
    home = project.parent / "home"
    (home / ".config/satchel/skills/private").mkdir(parents=True, exist_ok=True)
    (home / ".config/satchel/skills/private/SKILL.md").write_text("mine")
    return {**os.environ, "HOME": str(home)}


async def run(satchel: Satchel, code: str, **more: Any) -> Execution:
    with anyio.fail_after(WAIT):
        return await satchel.execute(dedent(code), **more)


async def result_of(satchel: Satchel, code: str, **more: Any) -> Any:
    """The `result` of a program that is expected to succeed."""
    execution = await run(satchel, code, **more)
    assert execution.exit_code == 0, execution.stderr
    return execution.result


async def save(satchel: Satchel, name: str, code: str, **more: Any) -> Any:
    return await result_of(satchel, SAVE.format(name=name, code=code, description="A skill."), **more)


# What is shown


async def test_programs_see_skills_of_their_own_and_of_everybody(satchel: Satchel) -> None:
    seen = await result_of(
        satchel,
        """
        import os
        result = {
            "categories": sorted(os.listdir("/mnt/skills")),
            "link": os.readlink("/workspace/skills"),
            "public": open("/workspace/skills/public/pdf/SKILL.md").read(),
            "user": open("/mnt/skills/user/private/SKILL.md").read(),
            "other": [os.path.exists(f"/mnt/skills/{name}") for name in ("other", "stranger")],
        }
        """,
    )
    assert seen["categories"] == ["community", "default", "public", "user"]
    assert (seen["link"], seen["user"]) == ("/mnt/skills", "mine")
    assert "secret of skills/public/pdf" in seen["public"]
    assert seen["other"] == [False, False]
    seen = await result_of(satchel, "import os; result = os.listdir('/mnt/skills')", agent="other")
    assert sorted(seen) == ["community", "other", "public", "user"]


async def test_nothing_of_it_can_be_written_to(satchel: Satchel) -> None:
    await save(satchel, "kept", "def kept(): return 1")
    tried = await result_of(
        satchel,
        """
        import os
        result = []
        skills = ["", "/public", "/default", "/default/kept", "/community"]
        for place in [*("/mnt/skills" + name for name in skills), "/program", "/program/skills"]:
            path = place + "/x"
            try:
                os.mkdir(path)
                result.append(path)
            except OSError:
                pass
        modules = ["/program/skills/kept.py", "/program/skills/__init__.py", "/opt/satchel/skills/kept.py"]
        for path in ["/mnt/skills/default/kept/kept.py", *modules]:
            for attempt in (lambda: open(path, "a"), lambda: os.unlink(path), lambda: os.chmod(path, 0o777),
                            lambda: os.rename(path, "/workspace/x")):
                try:
                    attempt()
                    result.append(path)
                except OSError:
                    pass
        """,
    )
    assert tried == []


async def test_another_agents_skill_can_be_neither_imported_nor_read(satchel: Satchel, project: Path) -> None:
    await save(satchel, "hidden_thing", "def hidden_thing(): return 'top secret'", agent="other")
    assert (project / ".satchel/skills/other/hidden-thing/hidden_thing.py").is_file()
    found = await result_of(
        satchel,
        """
        import os, subprocess
        found = []
        for place, folders, names in os.walk("/"):
            if place.startswith(("/usr", "/dev", "/root")):
                folders.clear()
            for name in names + folders:
                if "hidden" in name and "thing" in name:
                    found.append(os.path.join(place, name))
        for path in ("/mnt/skills/other", "/mnt/skills/default/../other", "/opt/satchel/skills/../../other"):
            found += os.listdir(path) if os.path.exists(path) else []
        try:
            from skills.hidden_thing import hidden_thing
            found.append("imported")
        except ModuleNotFoundError:
            pass
        from satchel_runtime import semantic_search
        found += [row["path"] for row in await semantic_search("hidden thing secret", limit=50)
                  if "other" in row["path"] or "stranger" in row["path"]]
        result = found
        """,
    )
    assert found == []
    assert await result_of(
        satchel, "from skills.hidden_thing import hidden_thing; result = hidden_thing()", agent="other"
    )


async def test_a_grant_does_not_open_the_skills_of_all(project: Path, tmp_path: Path) -> None:
    inner = tmp_path / "project"
    inner.mkdir()
    (inner / "extensions_config.json").write_text("{}")
    (inner / "skills/other").mkdir(parents=True)
    (inner / "satchel.yaml").write_text("agents: { default: {}, other: {} }")
    async with open_satchel(inner, environment=environment_of(project)) as satchel:
        await save(satchel, "one", "def one(): return 1", agent="other")
    for key, place in (
        ("allow_read", "skills/other"),
        ("allow_write", "skills"),
        ("allow_read", "skills"),
        ("allow_read", ".satchel/skills/other"),
        ("allow_write", ".satchel/skills"),
    ):
        (inner / "satchel.yaml").write_text(f"code_execution: {{ sandbox: {{ {key}: [{place}] }} }}")
        async with open_satchel(inner, environment=environment_of(project)) as satchel:
            with pytest.raises(SandboxError, match="Satchel's own"):
                await run(satchel, "pass")


@pytest.mark.parametrize(
    "path", ["/workspace/skills", "/mnt", "/mnt/memory", "/usr", "/mnt/../usr", "skills"]
)
async def test_skills_are_shown_nowhere_that_something_else_is(
    project: Path, tmp_path: Path, path: str
) -> None:
    inner = tmp_path / "project"
    inner.mkdir()
    (inner / "extensions_config.json").write_text("{}")
    (inner / "satchel.yaml").write_text(f"skills: {{ container_path: {path} }}")
    async with open_satchel(inner, environment=environment_of(project)) as satchel:
        with pytest.raises(SandboxError, match="container_path"):
            await run(satchel, "pass")


async def test_another_place_below_mnt_will_do_and_a_project_without_skills_stays_so(
    project: Path, tmp_path: Path
) -> None:
    inner = tmp_path / "project"
    inner.mkdir()
    (inner / "extensions_config.json").write_text("{}")
    (inner / "satchel.yaml").write_text("skills: { container_path: /mnt/library, path: kept/here }")
    async with open_satchel(inner, environment=environment_of(project)) as satchel:
        seen = await result_of(satchel, "import os; result = os.listdir('/workspace/skills')")
        assert sorted(seen) == ["community", "default", "user"]
        assert not (inner / "kept").exists()
        saved = await save(satchel, "one", "def one(): return 1")
        assert saved["path"] == "/mnt/library/default/one/SKILL.md"
        assert (inner / ".satchel/skills/default/one/one.py").is_file()
        assert not (inner / "kept").exists()


async def test_in_the_persons_own_configuration_one_agent_does_not_see_anothers_either(
    tmp_path: Path,
) -> None:
    own = tmp_path / ".config/satchel"
    (own / "skills/private").mkdir(parents=True)
    (own / "extensions_config.json").write_text("{}")
    (own / "satchel.yaml").write_text("agents: { default: {}, other: {} }")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    async with open_satchel(own, environment={**environment, "HOME": str(tmp_path)}) as satchel:
        await save(satchel, "one", "def one(): return 1", agent="other")
        look = "import os; result = [os.listdir('/mnt/skills'), os.listdir('/mnt/skills/user')]"
        categories, user = await result_of(satchel, look)
        assert (sorted(categories), user) == (["community", "default", "user"], ["private"])
        use = "from skills.one import one; result = one()"
        assert await result_of(satchel, use, agent="other") == 1
        assert (await run(satchel, use)).exit_code == 1


async def test_folders_of_other_programs_are_shown_on_request(project: Path, tmp_path: Path) -> None:
    inner = tmp_path / "project"
    (inner / ".claude/skills/pdf").mkdir(parents=True)
    (inner / "extensions_config.json").write_text("{}")
    (inner / "satchel.yaml").write_text("skills: { include: [.claude/skills] }")
    async with open_satchel(inner, environment=environment_of(project)) as satchel:
        assert await result_of(satchel, "import os; result = os.listdir('/mnt/skills/claude')") == ["pdf"]


async def test_what_earlier_versions_saved_is_shown_beside_what_is_saved_now(
    project: Path, tmp_path: Path
) -> None:
    inner = tmp_path / "project"
    inner.mkdir()
    (inner / "extensions_config.json").write_text("{}")
    (inner / "satchel.yaml").write_text("agents: { default: {}, other: {} }")
    look = """
        import os
        result = {}
        for place, _, names in os.walk("/mnt/skills/default"):
            result |= {f"{place}/{name}": open(f"{place}/{name}").read() for name in names if ".py" in name}
    """
    async with open_satchel(inner, environment=environment_of(project)) as satchel:
        for name in ("old", "both"):
            await save(satchel, name, f"def {name}(): return 1")
        (inner / "skills").mkdir()
        os.rename(inner / ".satchel/skills/default", inner / "skills/default")
        use = "from skills.old import old; from skills.both import both; result = [old(), both()]"
        assert await result_of(satchel, use) == [1, 1]
        assert (await satchel.skill_tests.run("old")).passed
        await save(satchel, "both", "def both(): return 2")
        assert await result_of(satchel, use) == [1, 2]
        seen = await result_of(satchel, look)
        assert {path: "return 2" in code for path, code in seen.items() if "tests" not in path} == {
            "/mnt/skills/default/old/old.py": False,
            "/mnt/skills/default/both/both.py": True,
        }
        assert await result_of(satchel, look.replace("default", "other"), agent="other") == {}
        write = """
            result = []
            for path in ("/mnt/skills/default/x", "/mnt/skills/default/both/x", "/mnt/skills/default/old/x"):
                try:
                    open(path, "w")
                except OSError:
                    result.append(path)
        """
        assert len(await result_of(satchel, write)) == 3
        assert (inner / "skills/default/both/both.py").read_text() == "def both(): return 1"


async def test_no_tool_of_the_developer_runs_what_an_agent_saved(project: Path, tmp_path: Path) -> None:
    inner, marks = tmp_path / "project", tmp_path / "marks"
    inner.mkdir()
    marks.mkdir()
    (inner / "extensions_config.json").write_text("{}")
    (inner / "satchel.yaml").write_text("agents: { default: { promote_skills: true } }")
    (inner / "test_own.py").write_text("def test_own(): pass\n")
    names = ("conftest", "test_report", "report_test", "setup")
    async with open_satchel(inner, environment=environment_of(project)) as satchel:
        for name in names:
            mark = f"import pathlib; pathlib.Path({str(marks / name)!r}).touch()"
            code = f"try:\n    {mark}\nexcept OSError:\n    pass\ndef {name}():\n    return 1\n"
            assert (await save(satchel, name, code))["name"] == name.replace("_", "-")
            assert (await satchel.skill_tests.run(name)).passed
            give = f"from satchel_runtime import promote_skill\nresult = await promote_skill({name!r})"
            assert (await result_of(satchel, give))["name"] == name.replace("_", "-")
            with pytest.raises(ArgumentError, match=f"would run its file {name}.py"):
                await satchel.saved_skills.promote(name, force=True)
            use = f"from skills.{name} import {name}; result = {name}()"
            assert await result_of(satchel, use) == 1
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin", "-o", "addopts=")
    done = await anyio.run_process([sys.executable, "-m", "pytest", *options], cwd=inner, check=False)
    assert (done.returncode, b"1 passed" in done.stdout) == (0, True), done.stdout
    assert os.listdir(marks) == []
    outside = [path for path in inner.rglob("*.py") if not path.is_relative_to(inner / ".satchel")]
    assert outside == [inner / "test_own.py"]


# Saving and importing


async def test_a_skill_can_be_read_and_imported_at_once_also_where_it_is_the_first(
    project: Path, tmp_path: Path
) -> None:
    inner = Project(tmp_path / "project", {"good": raw("good")})
    code = """
        from satchel_runtime import save_skill
        lines = ["from servers.good import echo", "async def say(text='hello'):"]
        lines.append("    return (await echo(text=text)).text")
        saved = await save_skill("say", "\\n".join(lines), "Says something.")
        from skills.say import say
        result = [saved, open(saved["path"]).read(), await say()]
    """
    async with open_satchel(inner.directory, environment=environment_of(project)) as satchel:
        saved, text, said = await result_of(satchel, code)
        assert saved == {
            "name": "say",
            "import": "from skills.say import say",
            "signature": "async def say(text='hello')",
            "tools": ["good.echo"],
            "path": "/mnt/skills/default/say/SKILL.md",
        }
        assert "Says something." in text
        assert said == "hello"
        use = "from skills.say import say; result = await say(text='again')"
        for _ in range(3):  # in a box that was made for it, and in prepared ones
            assert await result_of(satchel, use) == "again"
            await anyio.sleep(0.2)


async def test_a_session_that_was_there_before_has_it_too(satchel: Satchel) -> None:
    first = await run(satchel, "x = 1", session="new")
    assert first.session
    for number in (1, 2):
        code = f"def in_between():\n    return {number}"
        if number == 1:
            await save(satchel, "in_between", code)
        else:
            await save(satchel, "in_between", code, session=first.session)
        use = """
            from skills.in_between import in_between
            result = [in_between(), open("/mnt/skills/default/in-between/in_between.py").read()]
        """
        assert await result_of(satchel, use, session=first.session) == [number, code]
    await satchel.executions.end_session(first.session)


@pytest.mark.slow
async def test_the_same_in_typescript(satchel: Satchel) -> None:
    code = dedent("""
        import { echo } from "./servers/good";
        import { saveSkill } from "satchel-runtime";
        const code = `import { echo } from "./servers/good";
        import { shout } from "./skills/shout-it";
        export async function sayIt(text = "hello") { return shout((await echo({ text })).text); }`;
        const other = "export const shoutIt = () => 1; export const shout = (a: string) => a + '!';";
        await saveSkill("shout-it", other, "Is for others.");
        const saved = await saveSkill("say_it", code, "Says something.");
        export const result = [saved, Deno.readTextFileSync("/mnt/skills/default/say-it/say-it.ts") === code];
    """)
    saved, is_same = await result_of(satchel, code, language="typescript")
    assert is_same
    assert saved["import"] == 'import { sayIt } from "./skills/say-it";'
    assert saved["tools"] == ["good.echo"]
    use = 'import { sayIt } from "./skills/say-it";\nexport const result = await sayIt("again");'
    assert await result_of(satchel, use, language="typescript") == "again!"
    assert await result_of(satchel, use, language="typescript", check=True) == "again!"
    wrong = await run(satchel, use.replace('"again"', "1"), language="typescript", check=True)
    assert wrong.ended == "check"
    failed = await run(satchel, "import { x } from './skills/hidden-thing';", language="ts", agent="reader")
    assert failed.exit_code == 1


@pytest.mark.slow
async def test_a_program_in_typescript_imports_what_it_saved_by_its_file(satchel: Satchel) -> None:
    code = dedent("""
        import { saveSkill } from "satchel-runtime";
        await saveSkill("count-all", "export const countAll = () => 3;", "Counts.");
        export const result = (await import("./skills/count-all.ts")).countAll();
    """)
    assert await result_of(satchel, code, language="typescript") == 3
    later = code.replace("count-all.ts", "count-all")
    assert await result_of(satchel, later, language="typescript") == 3


async def test_a_skill_has_the_rights_of_whoever_uses_it(satchel: Satchel) -> None:
    code = "from servers.good import echo\nasync def speak():\n    return (await echo(text='x')).text"
    await save(satchel, "speak", code, agent="giver")
    await satchel.saved_skills.promote("speak", agent="giver", force=True)
    use = "from skills.speak import speak\nresult = await speak()"
    assert await result_of(satchel, use) == "x"
    denied = await run(satchel, use, agent="reader")
    assert denied.exit_code == 1
    assert "PermissionError" in denied.stderr
    assert denied.tools_called[0].status == "denied"


async def test_no_skill_stands_in_for_a_module_of_anyone_else(satchel: Satchel) -> None:
    for name in ("os", "json", "asyncio", "main", "sitecustomize"):
        await save(satchel, name, f"def {name}(): return 'taken over'")
    taken = await result_of(
        satchel,
        """
        from satchel_runtime import ToolError, save_skill
        result = []
        ours = ["servers", "tools", "helpers", "skills", "satchel_runtime", "__init__"]
        for name in [*ours, "../x", "a/b", ""]:
            try:
                await save_skill(name, f"def {name}(): pass", "x")
                result.append(name)
            except ToolError as error:
                assert error.kind == "request" or "arguments" in error.kind, error.kind
        """,
    )
    assert taken == []
    names = await result_of(
        satchel,
        """
        import asyncio, json, os, sys
        import servers, skills, satchel_runtime
        modules = (asyncio, json, os, servers, skills, satchel_runtime)
        result = [module.__name__ + ":" + str(module.__file__) for module in modules]
        assert not hasattr(os, "os")
        """,
    )
    assert "skills:/program/skills/__init__.py" in names
    assert not any("/skills/" in name for name in names if not name.startswith("skills:"))
    assert await result_of(satchel, "from skills.os import os; result = os()") == "taken over"


async def test_what_a_program_leaves_in_its_workspace_is_not_a_skill(satchel: Satchel) -> None:
    await save(satchel, "real", "def real(): return 'real'")
    await run(
        satchel,
        """
        import os
        os.unlink("/workspace/skills")
        os.mkdir("/workspace/skills")
        for name in ("__init__", "real", "planted"):
            open(f"/workspace/skills/{name}.py", "w").write("def real(): return 'planted'")
        """,
    )
    try:
        result = await result_of(
            satchel,
            """
            from skills.real import real
            try:
                import skills.planted
                planted = True
            except ModuleNotFoundError:
                planted = False
            result = [real(), planted]
            """,
        )
        assert result == ["real", False]
    finally:
        await run(satchel, "import shutil, os; shutil.rmtree('skills'); os.symlink('/mnt/skills', 'skills')")


async def test_a_skill_that_writes_outside_does_not_get_there(satchel: Satchel, project: Path) -> None:
    code = dedent(f"""
        import os
        wrote = []
        def break_out():
            for path in ({str(project / "x")!r}, "/mnt/skills/public/pdf/SKILL.md", "/opt/satchel/python/x",
                         "/mnt/code-api/x", "/etc/x", "/x"):
                try:
                    open(path, "w").write("x")
                    wrote.append(path)
                except OSError:
                    pass
            return wrote
        wrote = break_out()
    """)
    await save(satchel, "break_out", code)
    assert not (project / "x").exists()  # saving it has run nothing
    assert await result_of(satchel, "from skills.break_out import break_out; result = break_out()") == []
    assert not (project / "x").exists()


async def test_a_skill_is_never_run_outside_of_the_box(satchel: Satchel, project: Path) -> None:
    marker = project / "marker"
    code = f"import pathlib\npathlib.Path({str(marker)!r}).touch()\ndef mark(): pass\n"
    await save(satchel, "mark", code, agent="giver")
    await satchel.skill_tests.run("mark", agent="giver")
    await satchel.saved_skills.promote("mark", agent="giver", force=True)
    satchel.saved_skills.check()
    assert not marker.exists()


async def test_what_is_too_large_or_nested_without_end_is_refused_and_the_host_lives(
    satchel: Satchel,
) -> None:
    refused = await result_of(
        satchel,
        """
        from satchel_runtime import ToolError, save_skill
        result = []
        tail = "\\ndef big(): pass"
        def nested(n):
            return "".join([" " * n, "try:\\n ", " " * n, "pass\\n", " " * n, "finally:\\n"])
        for code in (
            "#" * 5_000_000 + tail,
            "x = " + "-" * 100_000 + "1" + tail,
            "x = " + "a." * 60_000 + "a" + tail,
            "x = " + "lambda:" * 9_000 + "1" + tail,
            "x = " + "1+" * 60_000 + "1" + tail,
            "x = f'" + "{a}" * 30_000 + "'" + "(" * 10_000,
            "if a:\\n pass\\n" + "elif a:\\n pass\\n" * 8_000 + tail,
            "".join(nested(n) for n in range(95)) + " " * 95 + "pass" + tail,  # takes for ever to compile
        ):
            try:
                await save_skill("big", code, "x")
            except ToolError as error:
                result.append(error.message[:30])
        """,
    )
    assert len(refused) >= 6
    assert await result_of(satchel, "result = 1") == 1


async def test_a_flood_of_saves_of_one_name_leaves_one_whole_skill(satchel: Satchel, project: Path) -> None:
    program = """
        import asyncio
        from satchel_runtime import save_skill
        async def one(number):
            text = f"{{number}} " * 2000
            code = f"def crowded():\\n    return {number}\\n# {{text}}"
            await save_skill("crowded", code, f"Number {number}.")
        await asyncio.gather(*(one(number) for number in range(5)))
    """
    seen: list[Any] = []

    async def one(number: int) -> None:
        await run(satchel, program.replace("{number}", str(number)).replace("{{", "{").replace("}}", "}"))
        seen.append(await result_of(satchel, "from skills.crowded import crowded; result = crowded()"))

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(one, number)
    folder = project / ".satchel/skills/default/crowded"
    code = (folder / "crowded.py").read_text()
    number = code.partition("return ")[2].partition("\n")[0]
    assert f"Number {number}." in (folder / "SKILL.md").read_text()
    assert len(seen) == 6
    assert not [name for name in os.listdir(folder.parent) if name.startswith(".")]


async def test_who_may_only_read_saves_nothing(satchel: Satchel) -> None:
    execution = await run(
        satchel, SAVE.format(name="x", code="def x(): pass", description="x"), read_only=True
    )
    assert "PermissionError" in execution.stderr
    assert "may only read" in execution.stderr


async def test_an_agent_whose_name_is_a_category_saves_nothing(satchel: Satchel, project: Path) -> None:
    before = sorted(os.listdir(project / "skills")), sorted(os.listdir(project / ".satchel/skills"))
    program = SAVE.format(name="x", code="def x(): pass", description="x")
    execution = await run(satchel, program, agent="community")
    assert "can't have skills of its own" in execution.stderr
    assert (sorted(os.listdir(project / "skills")), sorted(os.listdir(project / ".satchel/skills"))) == before


async def test_only_an_agent_that_may_promotes_and_only_what_was_tested(satchel: Satchel) -> None:
    program = "from satchel_runtime import promote_skill\nresult = await promote_skill('give_it')"
    await save(satchel, "give_it", "def give_it(): return 7", agent="giver")
    await save(satchel, "give_it", "def give_it(): return 8")
    assert "PermissionError" in (await run(satchel, program)).stderr
    assert "not tested" in (await run(satchel, program, agent="giver")).stderr
    tested = await satchel.skill_tests.run("give_it", agent="giver")
    assert tested.passed
    assert (await result_of(satchel, program, agent="giver"))[
        "path"
    ] == "/mnt/skills/community/give-it/SKILL.md"
    use = "from skills.give_it import give_it; result = give_it()"
    assert await result_of(satchel, use, agent="other") == 7
    assert await result_of(satchel, use) == 8  # its own


async def test_what_is_switched_off_is_not_imported_and_can_still_be_read(
    satchel: Satchel, project: Path
) -> None:
    await save(satchel, "quiet", "def quiet(): return 1")
    file = project / "extensions_config.json"
    document = json.loads(file.read_text())
    states = document.setdefault("skills", {})
    states["default:quiet"] = {"enabled": False}
    file.write_text(json.dumps(document))
    seen = await result_of(
        satchel,
        """
        import os
        try:
            import skills.quiet
            result = "imported"
        except ModuleNotFoundError:
            result = os.path.exists("/mnt/skills/default/quiet/quiet.py")
        """,
    )
    assert seen is True


async def test_a_test_with_a_recording_calls_nobody(satchel: Satchel) -> None:
    code = "from servers.good import add\nasync def sum_up(a=1):\n    return (await add(a=a, b=2)).sum"
    await save(satchel, "sum_up", code)
    with pytest.raises(Exception, match="no recording"):
        await satchel.skill_tests.run("sum_up", way="recorded")
    recorded = await satchel.skill_tests.run("sum_up", way="record")
    assert (recorded.passed, recorded.execution.result) == (True, 3)
    before = len(await satchel.journal.calls(limit=1000))
    again = await satchel.skill_tests.run("sum_up", way="recorded")
    assert (again.passed, again.execution.result) == (True, 3)
    assert len(await satchel.journal.calls(limit=1000)) == before
    example = again.skill.example
    example.write_text(
        "from skills.sum_up import sum_up\ntry:\n    await sum_up(5)\nexcept Exception:\n    pass\n"
    )
    other = await satchel.skill_tests.run("sum_up", way="recorded")
    assert (other.execution.exit_code, other.passed, other.missing) == (0, False, ("good.add",))
    with pytest.raises(Exception, match="its last test failed"):
        await satchel.saved_skills.promote("sum_up")


@pytest.mark.slow
async def test_a_process_without_isolation_imports_skills_as_well(project: Path, tmp_path: Path) -> None:
    inner = tmp_path / "project"
    inner.mkdir()
    (inner / "extensions_config.json").write_text("{}")
    (inner / "satchel.yaml").write_text("code_execution: { sandbox: { backend: process } }")
    async with open_satchel(inner, environment=environment_of(project)) as satchel:
        await save(satchel, "one", "def one(): return 1")
        assert await result_of(satchel, "from skills.one import one; result = one()") == 1
