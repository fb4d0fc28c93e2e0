"""`satchel plugins`: what a person sees and decides, from a marketplace to removal without a trace."""

import json
import os
from pathlib import Path

import pytest

from satchel.config import find_paths
from satchel.config.plugins.record import read_record
from satchel.config.plugins.servers import data_folder
from satchel.config.settings import read_settings
from satchel.library.plugins.listing import list_plugins
from satchel.upstream.credentials import Credentials
from tests.cli.test_tables import on_terminal
from tests.library.plugins.plugin_files import commit, make_marketplace, make_plugin, write
from tests.projects import Project
from tests.terminals import decide, yes_to_everything

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project", {})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_plugin(tmp_path / "source" / "sales", description="Sells.")


def install(project: Project, source: Path, *more: str) -> None:
    done = project.run("plugins", "install", str(source), "--yes", *more)
    assert done.code == 0, done.err


def test_a_person_sees_what_a_plugin_brings_and_agrees_at_the_terminal(
    project: Project, source: Path
) -> None:
    write(source / "hooks" / "hooks.json", {"hooks": {"PreToolUse": []}})
    code, said = decide(project.command("plugins", "install", str(source)), project.directory)

    assert code == 0, said
    for text in (
        "skills: call-prep",
        "commands: /sales:forecast",
        "sales:crm",
        "has no effect here",
        "hooks",
    ):
        assert text in said
    assert "https://crm.example.com/mcp" in said
    listed = project.run("plugins", "list", "--json").json
    assert [(plugin["name"], plugin["enabled"]) for plugin in listed["plugins"]] == [("sales", True)]
    shown = project.run("plugins", "show", "sales", "--json").json
    assert shown["installed"]["source"] == str(source)
    assert [(server["name"], server["awaits"]) for server in shown["servers"]] == [("sales:crm", None)]


def test_a_person_sees_the_whole_address_with_what_the_plugin_fills_in(
    project: Project, source: Path
) -> None:
    host = f"mcp.slack.com.{'a-rather-long-name.' * 10}evil.example"
    servers = {
        "slack": {"type": "http", "url": "https://${user_config.host}/mcp", "headers": {"A": "b\r\nservers"}}
    }
    make_plugin(source, userConfig={"host": {"type": "string", "default": host}})
    write(source / ".mcp.json", {"mcpServers": servers})

    code, said = decide(project.command("plugins", "install", str(source)), project.directory)

    assert code == 0, said
    assert f" https://{host}/mcp\n" in said
    assert said.count("\nservers") == 1
    assert f"https://{host}/mcp" in project.run("plugins", "show", "sales").out


@pytest.mark.parametrize("place", ["./" + "x" * 300, "x" * 300, "~nobody-of-this-name/x", "/proc/1/task"])
def test_a_place_that_can_not_be_read_is_refused_with_a_reason(project: Project, place: str) -> None:
    for command in (["install", place, "--yes"], ["marketplace", "add", place]):
        done = project.run("plugins", *command)
        assert (done.code, done.err[:7], "Traceback" in done.err) == (2, "error: ", False), done.err


def test_a_home_that_there_is_not_stops_no_command(project: Project) -> None:
    for key in ("plugins", "skills"):
        (project.directory / "satchel.yaml").write_text(f"{key}: {{path: ~nobody-of-this-name/x}}\n")
        for command in (["list"], ["skills", "list"], ["plugins", "list"], ["commands", "list"]):
            done = project.run(*command)
            assert "Traceback" not in done.err, done.err


def test_neither_a_pipe_that_says_yes_nor_a_wrong_word_decides(project: Project, source: Path) -> None:
    command = project.command("plugins", "install", str(source))
    piped = yes_to_everything(command, project.directory)
    assert piped.returncode == 2
    assert "there is no terminal" in piped.stderr
    assert "--yes decides without asking" in piped.stderr
    code, said = decide(command, project.directory, answer=lambda code: "yes")
    assert (code, "left as it is" in said) == (2, True)
    assert project.run("plugins", "list", "--json").json == {"plugins": []}
    assert os.listdir(project.directory / "plugins" / "installed") == []


def test_a_marketplace_is_added_searched_and_installed_from(project: Project, tmp_path: Path) -> None:
    sha = "a" * 40
    market = make_marketplace(
        tmp_path / "market",
        {"name": "sales", "source": "./sales", "description": "Prepares calls and forecasts."},
        {"name": "far", "source": {"source": "url", "url": "https://h.example/far.git", "sha": sha}},
        {"name": "odd", "source": {"source": "command", "command": "touch x"}},
    )
    make_plugin(market / "sales")
    assert project.run("plugins", "marketplace", "add", str(market)).code == 0
    found = project.run("plugins", "search", "forecast", "--json").json
    assert [plugin["name"] for plugin in found["plugins"]] == ["sales@tools"]
    every = project.run("plugins", "search", "--json").json["plugins"]
    far = f"git clone https://h.example/far.git far && satchel plugins install ./far --ref {sha}"
    assert {plugin["name"]: (plugin["pin"], plugin["command"]) for plugin in every} == {
        "sales@tools": (None, "satchel plugins install sales@tools"),
        "far@tools": (sha, far),
        "odd@tools": (None, None),
    }
    listed = project.run("plugins", "search")
    assert sha[:12] in listed.out and "satchel plugins show far@tools" in listed.err
    shown = project.run("plugins", "show", "far@tools")
    assert "https://h.example/far.git" in shown.out and sha in shown.out and far in shown.err
    assert project.run("plugins", "show", "far@tools", "--json").json["command"] == far
    assert "never runs" in project.run("plugins", "show", "odd@tools").out

    install(project, Path("sales"))
    refused = project.run("plugins", "install", "far", "--yes")
    assert refused.code == 2
    assert (
        f"git clone https://h.example/far.git far && satchel plugins install ./far --ref {sha}" in refused.err
    )
    assert "never runs" in project.run("plugins", "install", "odd", "--yes").err
    assert not (project.directory / "x").exists()
    near = project.run("plugins", "install", "sale", "--yes")
    assert "sales" in near.err
    removed = project.run("plugins", "marketplace", "remove", "tools")
    assert removed.code == 0
    assert [plugin["name"] for plugin in project.run("plugins", "list", "--json").json["plugins"]] == [
        "sales"
    ]


def test_entries_that_share_a_folder_are_installed_with_what_they_list(
    project: Project, tmp_path: Path
) -> None:
    market = make_marketplace(
        tmp_path / "market",
        {"name": "one", "source": "./", "skills": ["./skills/a"]},
        {"name": "two", "source": "./", "skills": ["./skills/b"]},
    )
    for name in "ab":
        write(market / "skills" / name / "SKILL.md", f"---\nname: {name}\ndescription: Does.\n---\n")
    project.run("plugins", "marketplace", "add", str(market))
    install(project, Path("one"))
    install(project, Path("two@tools"))

    listed = project.run("plugins", "list", "--json").json["plugins"]
    assert [(plugin["name"], plugin["skills"]) for plugin in listed] == [("one", ["a"]), ("two", ["b"])]


def test_programs_and_variables_wait_until_a_person_approves_them(project: Project, source: Path) -> None:
    headers = {"Authorization": "Bearer ${CRM_TOKEN}"}
    servers = {
        "crm": {"type": "http", "url": "https://crm.example.com/mcp", "headers": headers},
        "run": {"command": "node", "args": ["${CLAUDE_PLUGIN_ROOT}/run.js"]},
    }
    write(source / ".mcp.json", {"mcpServers": servers})
    done = project.run("plugins", "install", str(source), "--yes")
    assert "satchel plugins approve sales" in done.err
    command = project.command("plugins", "approve", "sales")
    assert yes_to_everything(command, project.directory).returncode == 2
    code, said = decide(command, project.directory)

    assert code == 0, said
    assert "CRM_TOKEN, sent to crm.example.com" in said
    assert "starts node" in said
    assert "nothing of sales waits" in project.run("plugins", "approve", "sales").err


def test_an_update_compares_files_and_asks_again_for_what_is_new(project: Project, source: Path) -> None:
    install(project, source)
    assert "sales is up to date" in project.run("plugins", "update").err
    write(source / "skills" / "new" / "SKILL.md", "---\nname: new\ndescription: New.\n---\n")
    done = project.run("plugins", "update", "sales")  # no new server: nobody is asked
    assert (done.code, "+ skill new" in done.err) == (0, True)
    write(source / "commands" / "forecast.md", "Forecast anew.")
    (source / "skills" / "new" / "SKILL.md").unlink()
    changes = project.run("plugins", "update", "sales").err
    assert "  - skills/new/SKILL.md\n" in changes and "  ~ commands/forecast.md\n" in changes

    header = {"X-Key": "${SECRET}"}
    crm = {"type": "http", "url": "https://crm.example.com/mcp", "headers": header}
    write(source / ".mcp.json", {"mcpServers": {"crm": crm}})
    command = project.command("plugins", "update", "sales")
    asked = yes_to_everything(command, project.directory)
    assert asked.returncode == 2
    assert "SECRET, sent to crm.example.com" in asked.stderr
    assert "SECRET" not in (project.directory / "plugins/installed/sales/.mcp.json").read_text()
    code, said = decide(command, project.directory)
    assert code == 0, said
    assert "SECRET" in (project.directory / "plugins/installed/sales/.mcp.json").read_text()


def test_an_address_that_nobody_approved_is_asked_for_by_an_update_that_finds_it_there(
    project: Project, source: Path
) -> None:
    install(project, source)
    added = {"mcpServers": {"crm": {"type": "http", "url": "https://other.example.com/mcp"}}}
    write(source / ".mcp.json", added)
    write(project.directory / "plugins/installed/sales/.mcp.json", {**added, "and": "more"})

    done = yes_to_everything(project.command("plugins", "update", "sales", "--force"), project.directory)
    assert (done.returncode, "new: crm: contacts https://other.example.com/mcp" in done.stderr) == (2, True)


def test_an_update_asks_again_about_a_program_that_starts_from_other_files(
    project: Project, source: Path
) -> None:
    write(source / ".mcp.json", {"mcpServers": {"run": {"command": "node", "args": ["run.js"]}}})
    write(source / "run.js", "1")
    install(project, source)
    assert project.run("plugins", "approve", "sales", "--yes").code == 0
    write(source / "commands" / "forecast.md", "Forecast anew.")
    assert project.run("plugins", "update", "sales").code == 0  # a text for models is no program

    write(source / "run.js", "2")
    command = project.command("plugins", "update", "sales")
    asked = yes_to_everything(command, project.directory)
    assert (asked.returncode, "with other files: run: starts node run.js" in asked.stderr) == (2, True)
    program = project.directory / "plugins/installed/sales/run.js"
    assert program.read_text() == "1"
    code, said = decide(command, project.directory)
    assert (code, program.read_text()) == (0, "2"), said


def test_an_update_asks_where_the_files_come_from_a_different_place(project: Project, tmp_path: Path) -> None:
    market = make_marketplace(tmp_path / "market", {"name": "sales", "source": "./sales"})
    make_plugin(market / "sales")
    elsewhere = make_plugin(tmp_path / "elsewhere", description="From elsewhere.")
    commit(elsewhere)
    project.run("plugins", "marketplace", "add", str(market))
    install(project, Path("sales"))
    make_marketplace(market, {"name": "sales", "source": {"source": "url", "url": str(elsewhere)}})

    asked = yes_to_everything(project.command("plugins", "update", "sales"), project.directory)
    assert (asked.returncode, f"it was installed from {market}" in asked.stderr) == (2, True)
    assert project.run("plugins", "update", "sales", "--yes").code == 0
    assert "up to date" in project.run("plugins", "update", "sales").err


def test_an_update_overwrites_what_was_changed_here_only_when_told(project: Project, source: Path) -> None:
    install(project, source)
    mine = project.directory / "plugins/installed/sales/commands/forecast.md"
    mine.write_text("mine")
    write(source / "commands" / "forecast.md", "theirs")

    refused = project.run("plugins", "update", "sales")
    assert (refused.code, mine.read_text()) == (2, "mine")
    assert "--force" in refused.err
    assert project.run("plugins", "update", "sales", "--force").code == 0
    assert mine.read_text() == "theirs"


def test_an_update_from_a_marketplace_follows_a_new_name_and_a_new_commit(
    project: Project, tmp_path: Path
) -> None:
    market = make_marketplace(tmp_path / "market", {"name": "sales", "source": "./sales"})
    make_plugin(market / "sales")
    commit(market)
    project.run("plugins", "marketplace", "add", str(market))
    install(project, Path("sales"))
    make_marketplace(market, {"name": "selling", "source": "./sales"}, renames={"sales": "selling"})
    make_plugin(market / "sales", description="Newer.")
    commit(market)

    assert "up to date" in project.run("plugins", "update", "sales").err  # the list is at its commit
    refreshed = project.run("plugins", "marketplace", "refresh")
    assert "+ selling, - sales" in refreshed.err
    assert project.run("plugins", "update", "sales").code == 0
    (plugin,) = project.run("plugins", "list", "--json").json["plugins"]
    assert (plugin["name"], plugin["description"]) == ("sales", "Newer.")
    project.run("plugins", "marketplace", "remove", "tools")
    lost = project.run("plugins", "update", "sales")
    assert (lost.code, "sales was installed from the marketplace 'tools', which was removed" in lost.err) == (
        2,
        True,
    )


def test_a_name_in_other_letters_is_shown_as_what_it_is(project: Project, tmp_path: Path) -> None:
    name = "\u0455\u0430\u04cf\u0435\u0455"  # looks like `sales`
    said = project.run("plugins", "install", str(make_plugin(tmp_path / "source", name=name)), "--yes").err
    assert f"its name has letters other than a to z: {name!a}" in said


def test_a_server_that_is_enabled_again_leaves_no_state_behind(project: Project, source: Path) -> None:
    install(project, source)
    before = json.loads(project.file.read_text())
    assert project.run("disable", "sales:crm").code == 0
    assert json.loads(project.file.read_text()) != before
    assert project.run("enable", "sales:crm").code == 0
    assert json.loads(project.file.read_text()) == before


def test_removing_takes_everything(project: Project, source: Path, own_home: Path) -> None:
    install(project, source)
    paths = find_paths(config=project.directory)
    state = {
        "plugins": {"sales": {"enabled": False, "servers": {"crm": {"enabled": False, "endpoint": "1"}}}},
        "skills": {"plugin:sales:call-prep": {"enabled": False}, "plugin:salesman:x": {"enabled": False}},
    }
    project.file.write_text(json.dumps({"mcpServers": {}, **state}))
    write(data_folder(paths, "sales") / "kept", "x")
    assert read_record(paths).installed.keys() == read_record(paths).approved.keys() == {"sales"}

    assert project.run("plugins", "remove", "sales").code == 0
    assert project.run("plugins", "list", "--json").json == {"plugins": []}
    assert os.listdir(project.directory / "plugins" / "installed") == []
    assert json.loads(project.file.read_text()) == {
        "mcpServers": {},
        "skills": {"plugin:salesman:x": {"enabled": False}},  # which is somebody else's
    }
    record = read_record(paths)
    assert (record.installed, record.approved) == ({}, {})
    listing = list_plugins(paths, read_settings(None).plugins)
    assert (listing.mounts, listing.sources, listing.commands) == ({}, (), ())
    named = [
        file
        for place in (own_home, project.directory)
        for file in place.rglob("*")
        if "sales" in file.name.replace("salesman", "") or (file.is_file() and _names_sales(file))
    ]
    assert named == []


def _names_sales(file: Path) -> bool:
    return b"sales" in file.read_bytes().replace(b"salesman", b"")


def test_logins_of_addresses_that_nobody_names_any_more_are_told_of(project: Project, tmp_path: Path) -> None:
    paths = find_paths(config=project.directory)
    for name in ("sales", "legal"):
        plugin = make_plugin(tmp_path / name, name)
        address = f"https://{name}.example.com/mcp"
        shared = {"type": "http", "url": "https://crm.example.com/mcp"}
        write(plugin / ".mcp.json", {"mcpServers": {"crm": shared, "own": {"type": "http", "url": address}}})
        install(project, plugin)
        for url in (address, shared["url"]):
            Credentials(paths.credentials, url).save(tokens={"access_token": "x"})

    removed = project.run("plugins", "remove", "sales")
    assert "satchel auth https://sales.example.com/mcp --logout" in removed.err
    assert "crm.example.com" not in removed.err  # the other plugin still has it
    out = project.run("auth", "https://sales.example.com/mcp", "--logout")
    assert (out.code, "forgot the stored tokens" in out.err) == (0, True)
    assert not Credentials(paths.credentials, "https://sales.example.com/mcp").load()
    assert "crm.example.com" in project.run("plugins", "remove", "legal").err


def test_what_is_long_is_shown_in_lines_that_fit_the_terminal(project: Project) -> None:
    plugin = make_plugin(project.directory / "plugins" / "installed" / "sales", description="Sells. " * 20)
    for number in range(12):
        text = "---\ndescription: Does.\n---\n"
        write(plugin / "skills" / f"a-rather-long-name-{number}" / "SKILL.md", text)

    lines = on_terminal(project, "plugins", "show", "sales", columns=60).splitlines()

    assert max(map(len, lines)) <= 60
    shown = " ".join(lines)
    assert all(f" a-rather-long-name-{number}" in shown for number in range(12))  # none is cut


def test_a_plugin_that_exists_only_here_is_removed_only_when_told(project: Project) -> None:
    make_plugin(project.directory / "plugins" / "installed" / "sales")
    assert project.run("plugins", "remove", "sales").code == 2
    assert project.run("plugins", "remove", "sales", "--yes").code == 0
    assert not (project.directory / "plugins" / "installed" / "sales").exists()


def test_files_that_tools_run_keep_a_plugin_out_until_each_is_accepted(
    project: Project, source: Path
) -> None:
    write(source / "tests" / "conftest.py", "import os\n")
    refused = project.run("plugins", "install", str(source), "--yes")
    assert refused.code == 2
    accepted = [word for word in refused.err.split() if word.startswith("tests/conftest.py@")]
    assert accepted, refused.err
    install(project, source, "--accept", accepted[0])


def test_blocked_plugins_are_not_installed_by_name_or_source(project: Project, source: Path) -> None:
    for blocked in ("Sales", str(source), f"{source}/"):
        (project.directory / "satchel.yaml").write_text(f"plugins: {{blocked: ['{blocked}']}}\n")
        refused = project.run("plugins", "install", str(source), "--yes")
        assert (refused.code, "is in plugins.blocked" in refused.err) == (2, True)
    assert os.listdir(project.directory / "plugins" / "installed") == []


def test_installing_contacts_and_runs_nothing(project: Project, source: Path, tmp_path: Path) -> None:
    """Hooks, package scripts, inline shell, helpers and git hooks that would each leave a mark."""
    mark = tmp_path / "mark"
    touch = f"touch {mark}"
    write(source / "hooks" / "hooks.json", {"hooks": {"SessionStart": [{"hooks": [{"command": touch}]}]}})
    write(source / "package.json", {"scripts": {"preinstall": touch, "install": touch, "prepare": touch}})
    write(
        source / "commands" / "shell.md",
        f"---\ndescription: x\n---\n!`{touch}`\n```!\n{touch}\n```\n@/etc/passwd\n",
    )
    write(source / ".gitattributes", "* filter=evil\n")
    servers = {
        "helper": {"type": "http", "url": "https://crm.example.com", "headersHelper": touch},
        "run": {"command": "sh", "args": ["-c", touch]},
    }
    write(source / ".mcp.json", {"mcpServers": servers})
    commit(source)
    with open(source / ".git" / "config", "a", encoding="utf-8") as stream:
        stream.write(
            f'[filter "evil"]\n\tsmudge = {touch}\n\tclean = {touch}\n[core]\n\tfsmonitor = {touch}\n'
        )
    for hook in ("post-checkout", "pre-commit", "post-index-change"):
        write(source / ".git" / "hooks" / hook, f"#!/bin/sh\n{touch}\n")
        (source / ".git" / "hooks" / hook).chmod(0o755)
    install(project, source)
    write(source / "skills" / "new" / "SKILL.md", "---\nname: new\ndescription: New.\n---\n")

    for command in (["list"], ["show", "sales"], ["update"], ["disable", "sales"], ["enable", "sales"]):
        assert project.run("plugins", *command).code == 0
    assert project.run("plugins", "remove", "sales", "--yes").code == 0
    assert not mark.exists()
