"""`satchel chat` at a real terminal, with a scripted model: typed to, interrupted, killed, gone on with."""

import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from tests.agent.wires import Hang, Say, ScriptedModel, Step, Use, scripted_model
from tests.plugin_folders import add_sales
from tests.projects import Project
from tests.servers import raw
from tests.terminals import Terminal, decide

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

PROMPT = r"(?:^|\n)>"
CHOICE = r"\[y/a/n/e\]: "
ENTER, STOP, LEAVE, NEW_LINE = "\r", "\x03", "\x04", "\x1b\r"


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(scripted_model([])) as model:
        yield model


@pytest.fixture
def project(tmp_path: Path, model: ScriptedModel) -> Project:
    model.script.clear()
    model.requests.clear()
    project = Project(tmp_path / "project", {"noting": raw("notes", calls=tmp_path / "calls")})
    add_sales(project.directory)
    agent = {"model": "scripted", "approve": ["noting"], "contexts": "flat", "memory": {"enabled": False}}
    settings = {"mode": "direct", "agents": {"default": agent}, "models": {"scripted": model.settings()}}
    (project.directory / "satchel.yaml").write_text(json.dumps(settings))
    return project


def chat(project: Project, *arguments: str, command: str = "chat") -> Terminal:
    environment = {"SCRIPTED_KEY": "k", "XDG_STATE_HOME": str(project.directory.parent / "state")}
    return Terminal(project.command(command, *arguments), project.directory, environment)


def note(number: str) -> Say:
    return Say(uses=(Use("noting__note", {"number": number}),))


def say(terminal: Terminal, text: str, model: ScriptedModel, *steps: Step) -> None:
    """Type a message once the chat asks for one; the model answers with these steps."""
    model.script.extend(steps)
    terminal.until(PROMPT)
    terminal.type(text + ENTER)


def test_a_chat_from_its_first_message_to_a_killed_process(
    project: Project, model: ScriptedModel, tmp_path: Path
) -> None:
    def notes() -> list[str]:
        return (tmp_path / "calls").read_text().split()

    with chat(project) as terminal:
        say(terminal, f"Hello,{NEW_LINE}model", model, Say("Hello from the model."))
        terminal.until("Hello from the model.")
        assert model.requests[-1].last == "Hello,\nmodel"
        say(terminal, "/forecast Q4", model, Say("It will rain."))
        terminal.until("It will rain.")
        assert "\nForecast Q4, read" in model.requests[-1].last

        say(terminal, "note it", model, note("1"), Say("Noted."))
        asked = terminal.until(CHOICE)
        assert "wants to call noting.note" in asked and '| number = "1"' in asked
        terminal.type(ENTER)
        terminal.until(CHOICE)
        assert not (tmp_path / "calls").exists(), "an empty line decides nothing"
        terminal.type("y" + ENTER)
        assert re.search(r"· noting__note \(number=\"1\"\) ok \d", terminal.until("Noted."))
        assert notes() == ["1"]

        say(terminal, "note 2", model, note("2"), Say("Noted 7."))
        terminal.until(CHOICE)
        terminal.type("e" + ENTER)
        terminal.until("arguments: ")
        terminal.type("\x15" + '{"number": 5}' + ENTER)
        terminal.until("error: ")
        terminal.until(CHOICE)
        terminal.type("e" + ENTER)
        terminal.until("arguments: ")
        terminal.type("\x15" + '{"number": "7"}' + ENTER)
        assert '| number = "7"' in terminal.until(CHOICE)
        terminal.type("y" + ENTER)
        terminal.until("Noted 7.")
        assert notes() == ["1", "7"]

        say(terminal, "note 3", model, note("3"), Say("I am sorry."))
        terminal.until(CHOICE)
        terminal.type("n" + ENTER)
        terminal.until("I am sorry.")
        assert notes() == ["1", "7"] and "a person said no" in model.requests[-1].last

        say(terminal, "note 4", model, note("4"), note("5"), Say("Both."))
        terminal.until(CHOICE)
        terminal.type("a" + ENTER)
        assert "wants to call" not in terminal.until("Both.")
        assert notes() == ["1", "7", "4", "5"]

        ask = Use("ask_user", {"question": "Which colour?", "options": ["red", "blue"]})
        say(terminal, "paint it", model, Say(uses=(ask,)), Say("Painted."))
        assert "| Which colour?" in terminal.until("your answer: ")
        terminal.type("2" + ENTER)
        terminal.until("Painted.")
        assert model.requests[-1].last == "blue"

        say(terminal, "tell me all", model, note("6"), Hang("It begins"))
        terminal.until("It begins")
        terminal.type(STOP)
        terminal.until("stopped; what was done is kept")
        terminal.until(PROMPT)
        terminal.type(STOP)
        code, said = terminal.ended()
    (id,) = re.findall(r"satchel chat --resume (\w+)", said)
    assert code == 0 and notes() == ["1", "7", "4", "5", "6"]
    history = next((tmp_path / "state").rglob("chat/*"))
    assert history.stat().st_mode & 0o777 == 0o600 and "+tell me all" in history.read_text()

    with chat(project, "--resume", id) as terminal:
        assert "it stopped in the middle" in terminal.until(PROMPT)
        model.script.append(note("8"))
        model.script.append(Hang("And then"))
        terminal.type(ENTER)
        terminal.until("And then")
        terminal.kill()
    with chat(project, "--continue") as terminal:
        say(terminal, "", model, Say("All is done."))
        terminal.until("All is done.")
        terminal.until(PROMPT)
        terminal.type(LEAVE)
        assert terminal.ended()[0] == 0
    assert notes() == ["1", "7", "4", "5", "6", "8"], "nothing is done twice"
    assert model.requests[-1].messages[-1][0] == "result"


def test_commands_of_a_chat(project: Project, model: ScriptedModel) -> None:
    def typed(text: str, shown: str) -> str:
        terminal.until(PROMPT)
        terminal.type(text + ENTER)
        return terminal.until(shown)

    with chat(project) as terminal:
        assert "/sales:forecast" in typed("/help", "Ctrl-D leaves")
        typed("/skills", "call-prep")
        typed("/skill nope", "unknown skill 'nope'")
        typed("/skill sales:call-prep", "your next message goes to call-prep")
        typed("/new", "a new conversation begins")
        typed("/tools", "noting__note")
        typed("/memory", "the memory of the agent .default. is off")
        typed("/usage", "nothing was asked yet")
        typed("/approve", "nothing waits")
        typed("/resume", "no conversations")
        typed("/resume nope", "unknown conversation 'nope'")
        typed("/export", "there is no conversation yet")
        typed("/expotr", "did you mean /export or /exit")
        assert model.requests == []
        say(terminal, "/etc/hosts is what?", model, Say("A path."))
        terminal.until("A path.")
        assert model.requests[-1].last == "/etc/hosts is what?"
        typed("/usage", r"1 request, 100 tokens read, 10 written")
        terminal.until(PROMPT)
        terminal.type("/exp\t")
        terminal.until("ort")  # is completed
        terminal.type(" talk.json" + ENTER)
        terminal.until(r"written to talk\.json")
        typed("/export talk.json", "talk.json can't be written: File exists")
        typed("/resume", "/etc/hosts is what")
        terminal.until(PROMPT)
        terminal.type("draft" + STOP)
        typed("", PROMPT)
        terminal.type("/exit" + ENTER)
        assert terminal.ended()[0] == 0
    exported = project.directory / "talk.json"
    assert json.loads(exported.read_text())["satchel_conversation"] == 1
    assert exported.stat().st_mode & 0o777 == 0o600


def test_ask_waits_for_a_person_only_where_one_can_be_asked(
    project: Project, model: ScriptedModel, tmp_path: Path
) -> None:
    settings = json.loads((project.directory / "satchel.yaml").read_text())
    (project.directory / "satchel.yaml").write_text(json.dumps({**settings, "approvals": {"wait": "0s"}}))
    key = {"SCRIPTED_KEY": "k"}
    model.script[:] = [note("1"), Say("Noted.")]
    ended = project.run("ask", "note it", environment=key)
    assert (ended.code, ended.out) == (6, ""), ended.err
    (id,) = set(re.findall(r"satchel approvals allow (\w+)\n", ended.err))
    (talk,) = re.findall(r"satchel ask --resume (\w+) goes on", ended.err)
    assert decide(project.command("approvals", "allow", id), project.directory)[0] == 0
    done = project.run("ask", "--resume", talk, environment=key)
    assert (done.code, done.out) == (0, "Noted.\n"), done.err
    assert (tmp_path / "calls").read_text().split() == ["1"]

    model.script[:] = [*model.script[:2], note("2"), Say("Noted, too.")]
    with chat(project, "note it", command="ask") as terminal:
        terminal.until(CHOICE)
        terminal.type("y" + ENTER)
        terminal.until("Noted, too.")
        assert terminal.ended()[0] == 0
    assert (tmp_path / "calls").read_text().split() == ["1", "2"]
    piped = project.run("chat")
    assert (piped.code, "a chat needs a terminal" in piped.err) == (2, True)
