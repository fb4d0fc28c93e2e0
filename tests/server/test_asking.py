"""What servers ask in the middle of a call: it reaches the client that the call is for, and nobody else."""

import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from satchel import model
from satchel.config.agents import Mode
from satchel.errors import ToolError
from satchel.server import pending as work
from satchel.server.surface import Surface
from satchel.upstream import stdio
from tests.server.clients_helpers import (
    CLIENT_ERAS,
    LEGACY,
    MODERN,
    SERVER_ERAS,
    WAIT,
    Person,
    Served,
    asking,
    call,
    client_of,
    client_over_http,
    execute,
    listening,
    own_project,
    served,
    text_from,
    text_of,
)
from tests.servers import HERE, raw
from tests.upstream.helpers import lines, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

HURRIED = {"timeout": 5}
"""For servers that may take less time than a person; they have to be listed within it as well."""
SECRET = "canary-0123456789-0123456789"
SETTINGS: dict[str, Any] = {
    "agents": {"default": {}, "other": {}},
    "code_execution": {"timeout": 20, "max_timeout": 40},
}
WAYS: list[Mode] = ["direct", "search", "code"]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """For the whole module, so that one Satchel can serve its tests."""
    return "asyncio"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the servers were sent: a file each."""
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory, logs: Path) -> AsyncGenerator[Served]:
    """A Satchel with a server of each era, and with the same in a hurry."""
    servers = {
        "legacy": asking("legacy", log=logs / "legacy") | {"env": {"API_TOKEN": SECRET}},
        "modern": asking("modern", log=logs / "modern") | {"env": {"API_TOKEN": SECRET}},
        "given_up": asking("legacy", log=logs / "given_up"),
        "legacy_hurried": asking("legacy") | HURRIED,
        "modern_hurried": asking("modern") | HURRIED,
        "sdk": {"command": sys.executable, "args": [str(HERE / "sdk_asking.py")]},
    }
    project = own_project(tmp_path_factory.mktemp("asking"), servers, SETTINGS)
    async with served(project) as opened:
        assert [server.error for server in opened.satchel.catalog.servers] == [None] * 6
        yield opened


def surface_of(here: Served, mode: Mode) -> Surface:
    return Surface(here.satchel, mode=mode)


def program(server: str, tool: str, arguments: dict[str, Any]) -> str:
    """One that calls a tool, and prints what it says or how it failed."""
    return (
        "from satchel_runtime import ToolError, call_tool\n"
        "try:\n"
        f"    print(await call_tool({server!r}, {tool!r}, {arguments!r}))\n"
        "except ToolError as error:\n"
        "    print(error.kind, '|', error.message)\n"
    )


async def asked_by(client: Client, way: Mode, server: str, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Call a tool in one of the ways that there are; whether that failed, and what was said."""
    if way == "code":
        execution = await execute(client, program(server, tool, arguments))
        assert execution["exit_code"] == 0, execution
        statuses = [use["status"] for use in execution["tools_called"]]
        return statuses != ["ok"], execution["stdout"].strip()
    if way == "search":
        answer = await call(client, "call_tool", name=f"{server}.{tool}", arguments=arguments)
    else:
        answer = await call(client, f"{server}__{tool}", **arguments)
    return answer.is_error is True, text_of(answer)


# Questions and answers


@CLIENT_ERAS
@SERVER_ERAS
@pytest.mark.parametrize("way", WAYS)
async def test_a_form_reaches_the_person_and_the_answer_the_tool(
    here: Served, way: Mode, server_era: str, client_era: str
) -> None:
    person = Person(text="blue")
    async with client_of(surface_of(here, way), client_era, person=person) as client:
        said = await asked_by(client, way, server_era, "ask", question="Which colour?")
    assert said == (False, "accept blue")
    assert person.questions == ["Which colour?"]
    assert person.asked[0].requested_schema["required"] == ["answer"]


@pytest.mark.parametrize("way", WAYS)
async def test_a_server_of_both_eras_asks_a_client_of_the_older_one_as_if_connected_to_it(
    here: Served, way: Mode
) -> None:
    """Most servers can ask in no other way; and none is remembered as an old one for it."""
    person = Person(text="blue")
    async with client_of(surface_of(here, way), LEGACY, person=person) as client:
        failed, said = await asked_by(client, way, "sdk", "ask", question="Which colour?")
    assert not failed and "accept blue" in said
    assert person.questions == ["Which colour?"]
    assert here.satchel.catalog.server("sdk").protocol_version == "2026-07-28"


async def test_a_server_that_can_not_ask_a_client_of_its_era_is_told_of_as_such(here: Served) -> None:
    async with client_of(surface_of(here, "code"), MODERN, person=Person()) as client:
        failed, said = await asked_by(client, "code", "sdk", "ask", question="Which colour?")
    assert failed and said.startswith("input | it asks in the way before 2026")


@CLIENT_ERAS
@SERVER_ERAS
@pytest.mark.parametrize("way", WAYS)
async def test_a_clients_model_is_asked(here: Served, way: Mode, server_era: str, client_era: str) -> None:
    async with client_of(surface_of(here, way), client_era, person=Person()) as client:
        said = await asked_by(client, way, server_era, "consult", prompt="parrots")
    assert said == (False, "parrot: about parrots")


@CLIENT_ERAS
@SERVER_ERAS
@pytest.mark.parametrize("answer", ["decline", "cancel"])
async def test_a_person_who_says_no_is_heard(
    here: Served, server_era: str, client_era: str, answer: str
) -> None:
    async with client_of(surface_of(here, "direct"), client_era, person=Person(answer)) as client:
        assert await text_from(client, f"{server_era}__ask", question="May I?") == answer


@CLIENT_ERAS
@SERVER_ERAS
async def test_a_page_to_visit_reaches_the_person(here: Served, server_era: str, client_era: str) -> None:
    person = Person()
    async with client_of(surface_of(here, "direct"), client_era, person=person) as client:
        said = await asked_by(
            client, "direct", server_era, "visit", question="Log in?", url="https://example.com/login"
        )
    assert said == (False, "accept")
    assert [params.url for params in person.asked] == ["https://example.com/login"]


@CLIENT_ERAS
@SERVER_ERAS
async def test_two_questions_at_once_are_both_answered(
    here: Served, server_era: str, client_era: str
) -> None:
    async def repeat(params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"answer": params.message.upper()})

    async with client_of(surface_of(here, "direct"), client_era, person=Person(repeat)) as client:
        assert (
            await text_from(client, f"{server_era}__ask_both", first="a", second="b") == "accept A, accept B"
        )


@CLIENT_ERAS
async def test_calls_at_once_of_one_program_ask_each_their_own(here: Served, client_era: str) -> None:
    async def repeat(params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"answer": params.message.upper()})

    code = (
        "import asyncio\n"
        "from satchel_runtime import call_tool\n"
        "print(*await asyncio.gather(*(call_tool(server, 'ask', {'question': f'{server[0]}{number}'})\n"
        "    for server in ('legacy', 'modern') for number in range(3))), sep=', ')\n"
    )
    async with client_of(surface_of(here, "code"), client_era, person=Person(repeat)) as client:
        execution = await execute(client, code)
    expected = ", ".join(f"accept {name}" for name in ("L0", "L1", "L2", "M0", "M1", "M2"))
    assert execution["stdout"].strip() == expected, execution


@CLIENT_ERAS
@SERVER_ERAS
async def test_a_client_that_answers_with_an_error_ends_the_call_and_not_the_connection(
    here: Served, server_era: str, client_era: str
) -> None:
    async def refuse(params: Any) -> types.ErrorData:
        return types.ErrorData(code=-32603, message="the dialog could not be shown")

    person = Person(refuse)
    async with client_of(surface_of(here, "direct"), LEGACY, person=person) as client:
        failed, said = await asked_by(client, "direct", server_era, "ask", question="May I?")
    assert failed
    assert "the dialog could not be shown" in said
    async with client_of(surface_of(here, "direct"), client_era, person=Person()) as client:
        assert await text_from(client, f"{server_era}__ask", question="And now?") == "accept yes"


@SERVER_ERAS
async def test_an_answer_that_is_none_is_told_and_not_passed_on(here: Served, server_era: str) -> None:
    async def answer(method: str, params: Any, key: str) -> Any:
        return {"colour": "blue"}

    client = model.Client(key="junk", can=frozenset({"elicitation", "sampling"}), ask=answer)
    with pytest.raises(ToolError, match="does not fit that") as caught:
        await here.satchel.call(f"{server_era}.ask", {"question": "Which colour?"}, client=client)
    assert caught.value.kind == "input"


# Clients that can't be asked


@CLIENT_ERAS
@SERVER_ERAS
@pytest.mark.parametrize("way", WAYS)
async def test_a_client_that_cant_be_asked_is_told_what_was_asked(
    here: Served, way: Mode, server_era: str, client_era: str
) -> None:
    async with client_of(surface_of(here, way), client_era) as client:
        failed, said = await asked_by(client, way, server_era, "ask", question="Which colour?")
    assert failed
    assert "Which colour?" in said
    assert "can't be asked" in said
    if way == "code":
        assert said.startswith("input |"), said


@CLIENT_ERAS
@SERVER_ERAS
async def test_a_client_without_a_model_is_told_what_the_model_was_asked(
    here: Served, server_era: str, client_era: str
) -> None:
    async with client_of(surface_of(here, "direct"), client_era, person=Person(), samples=False) as client:
        failed, said = await asked_by(client, "direct", server_era, "consult", prompt="about parrots")
    assert failed
    assert "about parrots" in said
    assert "can't be asked" in said


# Time


@CLIENT_ERAS
@SERVER_ERAS
@pytest.mark.parametrize("way", ["direct", "code"])
async def test_the_clock_of_a_call_stands_still_while_a_person_is_asked(
    here: Served, way: Mode, server_era: str, client_era: str
) -> None:
    async def take_time(params: Any) -> types.ElicitResult:
        await anyio.sleep(5.5)  # longer than the server may take
        return types.ElicitResult(action="accept", content={"answer": "at last"})

    async with client_of(surface_of(here, way), client_era, person=Person(take_time)) as client:
        said = await asked_by(client, way, f"{server_era}_hurried", "ask", question="Take your time?")
    assert said == (False, "accept at last")


@CLIENT_ERAS
async def test_the_clock_of_a_program_stands_still_while_a_person_is_asked(
    here: Served, client_era: str
) -> None:
    async def take_time(params: Any) -> types.ElicitResult:
        if len(person.asked) > 1:
            await anyio.sleep(6.5)  # longer than the program may take
        return types.ElicitResult(action="accept", content={"answer": "at last"})

    person = Person(take_time)
    async with client_of(surface_of(here, "code"), client_era, person=person) as client:
        code = program("modern", "ask", {"question": "Take your time?"})
        await execute(client, code)  # the server is started, which takes its time as well
        execution = await execute(client, code, timeout=6)
    assert (execution["exit_code"], execution["stdout"]) == (0, "accept at last\n"), execution


@CLIENT_ERAS
async def test_the_clock_of_a_call_goes_on_after_the_answer(here: Served, client_era: str) -> None:
    async with client_of(surface_of(here, "direct"), client_era, person=Person()) as client:
        failed, said = await asked_by(
            client, "direct", "legacy_hurried", "pause_and_ask", question="Ready?", seconds=60
        )
    assert failed
    assert "no answer within 5 s" in said


async def test_the_clock_goes_on_after_two_questions_at_once(here: Served) -> None:
    """Answered in the order in which they were asked, so that one is still open when the other is not."""
    both, first = anyio.Event(), anyio.Event()

    async def one_after_the_other(params: Any) -> types.ElicitResult:
        if len(person.asked) == 1:
            await both.wait()
            first.set()
        else:
            both.set()
            await first.wait()
            await anyio.sleep(0.2)  # for the first answer to have its effect
        return types.ElicitResult(action="accept", content={"answer": "yes"})

    person = Person(one_after_the_other)
    arguments = {"first": "first", "second": "second", "seconds": 60}
    async with client_of(surface_of(here, "direct"), LEGACY, person=person) as client:
        with anyio.fail_after(WAIT):  # the tool alone would take 60 s
            failed, said = await asked_by(client, "direct", "legacy_hurried", "ask_both", **arguments)
    assert failed
    assert "no answer within 5 s" in said


@CLIENT_ERAS
async def test_the_clock_of_a_prompt_stands_still_while_a_person_is_asked(
    tmp_path: Path, client_era: str
) -> None:
    async def take_time(params: Any) -> types.ElicitResult:
        await anyio.sleep(5.5)  # longer than the server may take
        return types.ElicitResult(action="accept", content={"context": "at last"})

    entry = {"command": sys.executable, "args": [str(HERE / "conformance.py")], **HURRIED}
    project = own_project(tmp_path, {"suite": entry}, {"mode": "direct"})
    async with (
        served(project) as opened,
        client_of(opened.surface, client_era, person=Person(take_time)) as client,
    ):
        answer = await client.get_prompt("suite__test_input_required_result_prompt")
    assert "at last" in str(answer.messages[0].content)


# Several clients


@CLIENT_ERAS
async def test_two_clients_of_a_modern_server_are_asked_each_their_own(here: Served, client_era: str) -> None:
    persons = {"one": Person(text="one"), "two": Person(text="two")}
    said: dict[str, str] = {}

    async def ask(url: str, name: str) -> None:
        async with client_over_http(url, client_era, person=persons[name]) as client:
            for number in range(5):
                said[f"{name}{number}"] = await text_from(client, "modern__ask", question=f"{name}{number}")

    async with listening(surface_of(here, "direct")) as url, anyio.create_task_group() as tasks:
        for name in persons:
            tasks.start_soon(ask, url, name)
    for name, person in persons.items():
        assert person.questions == [f"{name}{number}" for number in range(5)]
        assert all(said[f"{name}{number}"] == f"accept {name}" for number in range(5))


@CLIENT_ERAS
async def test_nobody_is_asked_what_could_be_meant_for_another_client(
    here: Served, client_era: str, tmp_path: Path
) -> None:
    persons = {"one": Person(), "two": Person()}
    said: dict[str, tuple[bool, str]] = {}
    go = tmp_path / "go"

    async def ask(url: str, name: str) -> None:
        async with client_over_http(url, client_era, person=persons[name]) as client:
            said[name] = await asked_by(
                client, "direct", "legacy", "ask_late", question=name, began=str(tmp_path / name), go=str(go)
            )

    async with listening(surface_of(here, "direct")) as url, anyio.create_task_group() as tasks:
        for name in persons:
            tasks.start_soon(ask, url, name)
        await until(lambda: all((tmp_path / name).exists() for name in persons))
        go.touch()
    for name, person in persons.items():
        assert person.questions in ([], [name])  # the one that is left when the other has failed may be asked
    assert any("several clients" in text for failed, text in said.values() if failed), said


@CLIENT_ERAS
async def test_a_question_of_a_call_that_was_given_up_is_shown_to_nobody_else(
    here: Served, client_era: str, tmp_path: Path, logs: Path
) -> None:
    persons = {"one": Person(), "two": Person()}
    files = {name: (tmp_path / f"{name} began", tmp_path / f"{name} go") for name in persons}

    async def ask(client: Client, name: str) -> None:
        began, go = files[name]
        await call(client, "given_up__ask_late", question=name, began=str(began), go=str(go))

    before = len(lines(logs / "given_up"))
    async with (
        listening(surface_of(here, "direct")) as url,
        client_over_http(url, client_era, person=persons["one"]) as one,
        client_over_http(url, client_era, person=persons["two"]) as two,
    ):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, one, "one")
            await until(files["one"][0].exists)
            tasks.cancel_scope.cancel()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, two, "two")
            await until(files["two"][0].exists)
            files["one"][1].touch()  # now the server asks for the one that is gone
            await until(lambda: any(line.startswith("late") for line in lines(logs / "given_up")[before:]))
            files["two"][1].touch()
    assert "one" not in persons["two"].questions


@CLIENT_ERAS
async def test_what_a_server_logs_for_one_client_is_not_told_to_another(
    here: Served, client_era: str, tmp_path: Path
) -> None:
    told: dict[str, list[Any]] = {"one": [], "two": []}

    def listener(name: str) -> Any:
        async def listen(params: types.LoggingMessageNotificationParams) -> None:
            told[name].append(params.data)

        return listen

    began, go = tmp_path / "began", tmp_path / "go"
    async with (
        listening(surface_of(here, "direct")) as url,
        client_over_http(url, client_era, person=Person(), log=listener("one")) as one,
        client_over_http(url, client_era, person=Person(), log=listener("two")) as two,
        anyio.create_task_group() as tasks,
    ):

        async def wait() -> None:
            await call(one, "legacy__ask_late", question="?", began=str(began), go=str(go))

        tasks.start_soon(wait)
        await until(began.exists)
        assert await text_from(two, "legacy__say", line="a secret of two") == "said"
        go.touch()
    assert told["one"] == []


# Coming back


async def interim(client: Client, name: str, arguments: dict[str, Any], **more: Any) -> Any:
    """One round of a call, by hand."""
    with anyio.fail_after(WAIT):
        return await client.session.call_tool(name, arguments, allow_input_required=True, **more)


def accepted(text: str) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"answer": text})


@SERVER_ERAS
async def test_questions_that_are_left_out_are_asked_again(here: Served, server_era: str) -> None:
    arguments = {"first": "a", "second": "b"}
    name = f"{server_era}__ask_both"
    answered: list[str] = []
    async with client_of(surface_of(here, "direct"), MODERN, person=Person()) as client:
        answer = await interim(client, name, arguments)
        for _ in range(6):
            if not isinstance(answer, types.InputRequiredResult):
                break
            questions = dict(answer.input_requests or {})
            state = answer.request_state
            answer = await interim(client, name, arguments, input_responses={}, request_state=state)
            assert isinstance(answer, types.InputRequiredResult)
            assert set(questions) <= set(answer.input_requests or {})
            key, request = next(iter((answer.input_requests or {}).items()))
            assert isinstance(request, types.ElicitRequest)
            answered.append(request.params.message)
            answer = await interim(
                client,
                name,
                arguments,
                input_responses={key: accepted(request.params.message.upper())},
                request_state=answer.request_state,
            )
    assert isinstance(answer, types.CallToolResult)
    assert text_of(answer) == "accept A, accept B"
    assert sorted(answered) == ["a", "b"]


async def test_an_answer_to_a_question_that_was_withdrawn_brings_the_result(here: Served) -> None:
    code = (
        "import asyncio, os\n"
        "from satchel_runtime import call_tool\n"
        "call = asyncio.ensure_future(call_tool('legacy', 'ask', {'question': 'Still there?'}))\n"
        "while not call.done() and not os.path.exists('give up'):\n"
        "    await asyncio.sleep(0.02)\n"
        "call.cancel()\n"
        "try:\n"
        "    await call\n"
        "except asyncio.CancelledError:\n"
        "    print('gave up')\n"
    )
    sign = here.satchel.configuration.paths.state / "agents" / "default" / "workspace" / "give up"
    async with client_of(surface_of(here, "code"), MODERN, person=Person()) as client:
        answer = await interim(client, "execute_code", {"code": code})
        given = {next(iter(answer.input_requests)): accepted("yes")}
        sign.touch()  # not before the question has come here
        with anyio.fail_after(WAIT):
            while not any(use.outcome for use in await here.satchel.journal.executions(limit=1)):  # noqa: ASYNC110
                await anyio.sleep(0.02)
        more = {"input_responses": given, "request_state": answer.request_state}
        answer = await interim(client, "execute_code", {"code": code}, **more)
    sign.unlink()
    assert isinstance(answer, types.CallToolResult)
    assert answer.structured_content is not None
    assert answer.structured_content["stdout"] == "gave up\n"


async def test_a_state_is_taken_once_and_only_for_the_request_that_it_is_of(here: Served) -> None:
    name, arguments = "modern__ask", {"question": "Which?"}
    surface, elsewhere = surface_of(here, "direct"), surface_of(here, "direct")
    async with (
        client_of(surface, MODERN, person=Person()) as client,
        client_of(elsewhere, MODERN, person=Person()) as foreign,
    ):
        answer = await interim(client, name, arguments)
        state, key = answer.request_state, next(iter(answer.input_requests))
        given = {key: accepted("blue")}

        async def refused(asked: Client, name: str, arguments: dict[str, Any], state: str) -> None:
            with pytest.raises(MCPError) as caught:
                await interim(asked, name, arguments, input_responses=given, request_state=state)
            assert caught.value.code == -32602

        await refused(client, name, arguments, "forged")
        await refused(client, name, arguments, state[:-2] + ("AA" if state[-2:] != "AA" else "BB"))
        await refused(client, name, {"question": "Another?"}, state)
        await refused(client, "legacy__ask", arguments, state)
        await refused(foreign, name, arguments, state)
        answer = await interim(client, name, arguments, input_responses=given, request_state=state)
        assert text_of(answer) == "accept blue"
        await refused(client, name, arguments, state)


async def test_a_state_of_one_agent_is_nothing_to_another(here: Served) -> None:
    name, arguments = "modern__ask", {"question": "Which?"}
    async with (
        listening(surface_of(here, "direct")) as url,
        client_over_http(url, MODERN, person=Person()) as client,
        client_over_http(url, MODERN, person=Person(), agent="other") as other,
    ):
        answer = await interim(client, name, arguments)
        given = {next(iter(answer.input_requests)): accepted("blue")}
        more = {"input_responses": given, "request_state": answer.request_state}
        with pytest.raises(MCPError, match="requestState"):
            await interim(other, name, arguments, **more)
        assert text_of(await interim(client, name, arguments, **more)) == "accept blue"


@pytest.mark.parametrize("way", ["direct", "code"])
async def test_a_client_that_never_comes_back_is_not_waited_for(
    here: Served, monkeypatch: pytest.MonkeyPatch, logs: Path, way: Mode
) -> None:
    monkeypatch.setattr(work, "_KEPT", 0.2)
    before = len(lines(logs / "legacy"))
    name, arguments = "legacy__ask", {"question": "Are you there?"}
    if way == "code":
        name, arguments = "execute_code", {"code": program("legacy", "ask", arguments)}
    async with client_of(surface_of(here, way), MODERN, person=Person()) as client:
        answer = await interim(client, name, arguments)
        await until(lambda: "cancelled ask" in lines(logs / "legacy")[before:])
        with pytest.raises(MCPError, match="nothing waits for this input any more"):
            given = {next(iter(answer.input_requests)): accepted("yes")}
            await interim(client, name, arguments, input_responses=given, request_state=answer.request_state)
    if way == "code":

        async def outcome() -> Any:
            return (await here.satchel.journal.executions(limit=1))[0].outcome

        with anyio.fail_after(WAIT):
            while (found := await outcome()) is None:  # noqa: ASYNC110  it is written in the background
                await anyio.sleep(0.01)
        assert found["ended"] == "cancelled"


async def test_work_that_waits_for_a_client_ends_with_satchel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "_EXIT_GRACE", 20.0)  # in which the server notes what was cancelled
    log = tmp_path / "log"
    project = own_project(tmp_path, {"legacy": asking("legacy", log=log)})
    async with (
        served(project, mode="direct") as opened,
        client_of(opened.surface, MODERN, person=Person()) as client,
    ):
        answer = await interim(client, "legacy__ask", {"question": "Are you there?"})
        assert isinstance(answer, types.InputRequiredResult)
    assert "cancelled ask" in lines(log)


# What a server says meanwhile


async def test_what_is_told_while_a_client_is_away_has_an_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    logged: list[str] = []
    steps: list[float] = []

    async def answer(params: Any) -> types.ElicitResult:
        await until(lambda: "chattered" in lines(log))
        return types.ElicitResult(action="accept", content={"answer": "yes"})

    async def note(params: types.LoggingMessageNotificationParams) -> None:
        logged.append(str(params.data))

    async def step(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    project = own_project(tmp_path, {"elicits": raw("elicits", log=log)})
    async with (
        served(project, mode="direct") as opened,
        client_of(opened.surface, MODERN, person=Person(answer=answer), log=note) as client,
    ):
        result = await client.call_tool("elicits__chatter", {"lines": 2_000}, progress_callback=step)
    assert isinstance(result, types.CallToolResult) and text_of(result) == "done"
    for numbers in ([int(line.split()[0]) for line in logged], steps):
        assert numbers[-1] == 2_000
        assert len(numbers) < 400  # a hundred, what came before the question, and what was still in the pipe


@CLIENT_ERAS
@SERVER_ERAS
@pytest.mark.parametrize("way", WAYS)
async def test_a_question_in_an_error_has_no_secret_in_it(
    here: Served, way: Mode, server_era: str, client_era: str
) -> None:
    question = "Is it " + "x" * 180 + " " + SECRET
    async with client_of(surface_of(here, way), client_era) as client:
        failed, said = await asked_by(client, way, server_era, "ask", question=question)
    assert failed
    assert "Is it" in said and "can't be asked" in said
    assert SECRET[:6] not in said
