"""Tokens that outlive a process: sealed in the database, for their own conversation, until they end."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml

from satchel.config.settings import PrivacySettings, Settings
from satchel.errors import ArgumentError, JournalError
from satchel.model import Caller, Conversation, ConversationRecord, ExecutionRequest
from satchel.store import ConversationStore, Writer
from satchel.store.privacy.interface import StoredToken, TokenStore
from satchel.support.sealing import Sealer
from satchel.toolset import Toolset
from satchel.verbs.privacy.boundary import IDLE, Privacy
from tests.verbs.privacy.test_boundary import ask, leaks, log_of, opened, project_in, shown, token_in

pytestmark = pytest.mark.anyio
ON = PrivacySettings(detect=("all",))
ME = Caller(conversation="talk")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Process:
    """A process with the boundary on a database."""

    def __init__(self, directory: Path, idle: float = IDLE, settings: PrivacySettings = ON) -> None:
        self.writer = Writer(directory / "satchel.db")
        self.store = TokenStore(self.writer, Sealer(directory / "keys", lambda: "file"), idle)
        self.privacy = Privacy(lambda: Settings(privacy=settings), store=self.store)

    async def __aenter__(self) -> "Process":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.writer.aclose()

    async def hidden(self, value: Any, caller: Caller = ME) -> Any:
        scope = await self.privacy.open(caller)
        assert scope is not None
        return await scope.hidden(value, "crm")

    async def revealed(self, value: Any, caller: Caller = ME) -> Any:
        scope = await self.privacy.open(caller)
        assert scope is not None
        return scope.revealed(value)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "keys").mkdir(mode=0o700)
    return tmp_path


def rows(directory: Path) -> list[tuple[Any, ...]]:
    with sqlite3.connect(directory / "satchel.db") as database:
        return database.execute("SELECT * FROM privacy_tokens").fetchall()


def age(directory: Path) -> None:
    """Let a week pass."""
    with sqlite3.connect(directory / "satchel.db") as database:
        database.execute("UPDATE privacy_tokens SET used_at = '2020-01-01T00:00:00.000+00:00'")


PEOPLE = {
    "name": "Annelie Wöhrle",
    "email": "annelie.w@posteo.de",
    "phone": 4930901820,
    "ip": "203.12.9.77",
    "birth_date": "1985-03-12",
}


async def test_a_new_process_knows_the_tokens_and_gives_equal_ones(directory: Path) -> None:
    async with Process(directory) as first:
        hidden = await first.hidden(PEOPLE)
        spelt = await first.hidden({"email": "ANNELIE.W@posteo.de"})
    assert leaks(str(hidden)) == []
    async with Process(directory) as second:
        assert await second.revealed(hidden) == PEOPLE
        assert await second.revealed(spelt) == {"email": "ANNELIE.W@posteo.de"}
        assert await second.hidden(PEOPLE) == hidden
        scope = await second.privacy.open(ME)
        assert scope is not None
        assert {origin for entry in scope.vault.entries for origin in entry.origins} == {"crm"}


async def test_tokens_that_were_made_before_the_old_ones_were_read_stand_beside_them(directory: Path) -> None:
    async with Process(directory) as first:
        old = await first.hidden("write to annelie.w@posteo.de")
    async with Process(directory) as second:
        scope = second.privacy.scope_of(ME)
        assert scope is not None
        new = scope.hidden_now("write to annelie.w@posteo.de", "crm")
        assert new != old
        assert await second.revealed([old, new]) == ["write to annelie.w@posteo.de"] * 2


async def test_nothing_in_the_database_can_be_read_or_moved(directory: Path) -> None:
    async with Process(directory) as first:
        hidden = await first.hidden(PEOPLE)
    whole = b"".join(file.read_bytes() for file in directory.glob("satchel.db*"))
    assert leaks(whole.decode("utf-8", "replace")) == []
    assert b"crm" not in whole  # where values come from decides where they may go
    with sqlite3.connect(directory / "satchel.db") as database:
        database.execute("UPDATE privacy_tokens SET conversation = 'other'")
    other = Caller(conversation="other")
    async with Process(directory) as second:
        with pytest.raises(ArgumentError, match="not known here"):
            await second.revealed(hidden, other)


@pytest.mark.parametrize("other", [Caller(conversation="another"), Caller(agent="mail", conversation="talk")])
async def test_others_have_none_of_them(directory: Path, other: Caller) -> None:
    async with Process(directory) as first:
        hidden = await first.hidden(PEOPLE)
    async with Process(directory) as second:
        with pytest.raises(ArgumentError, match="not known here"):
            await second.revealed(hidden, other)


async def test_tokens_end_a_day_after_their_last_use_but_in_a_kept_conversation_they_stay(
    directory: Path,
) -> None:
    kept = Caller(conversation="kept")
    async with Process(directory) as first:
        talks = ConversationStore(first.writer)
        await talks.begin(ConversationRecord(id="kept", agent="default", title="t", state="running"))
        await talks.release("kept", usage=(await talks.get("kept")).usage, reads=())
        hidden, stays = await first.hidden(PEOPLE), await first.hidden(PEOPLE, kept)
    age(directory)
    async with Process(directory) as second:
        with pytest.raises(ArgumentError, match="not known here"):
            await second.revealed(hidden)
        assert await second.revealed(stays, kept) == PEOPLE
        assert {row[1] for row in rows(directory)} == {"kept"}  # opening the database removes what has ended
        await ConversationStore(second.writer).delete("kept")
        assert rows(directory) == []


async def test_a_use_keeps_all_tokens_of_its_conversation(directory: Path) -> None:
    async with Process(directory) as first:
        hidden = await first.hidden(PEOPLE)
        before = {row[-1] for row in rows(directory)}
    async with Process(directory) as second:
        await second.hidden({"email": "somebody.else@posteo.de"})
        assert await second.revealed(hidden) == PEOPLE
        after = {row[-1] for row in rows(directory)}
    assert len(after) == 1
    assert min(after) > max(before)


async def test_forgetting_removes_them_here_and_there(directory: Path) -> None:
    async with Process(directory) as first:
        hidden = await first.hidden(PEOPLE)
        await first.privacy.forget("talk")
        assert rows(directory) == []
        with pytest.raises(ArgumentError, match="not known here"):
            await first.revealed(hidden)


async def test_what_is_asked_for_at_once_is_committed_for_everybody(directory: Path) -> None:
    texts = [f"write to person{number}@posteo.de and common@posteo.de" for number in range(20)]
    found: list[Any] = []
    async with Process(directory) as first:

        async def one(text: str) -> None:
            hidden = await first.hidden(text)
            assert len(rows(directory)) >= 2
            found.append(hidden)

        async with anyio.create_task_group() as tasks:
            for text in texts:
                tasks.start_soon(one, text)
    assert len(rows(directory)) == 21
    async with Process(directory) as second:
        assert sorted(await second.revealed(found)) == sorted(texts)


async def test_while_it_is_off_no_database_is_opened(directory: Path) -> None:
    async with Process(directory, settings=PrivacySettings()) as process:
        assert await process.privacy.open(ME) is None
        await process.privacy.forget("talk")
    assert list(directory.glob("satchel.db*")) == []


async def test_a_database_that_fails_costs_no_result(
    directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with Process(directory) as first:
        await first.hidden("a@posteo.de")
        save = TokenStore.save

        async def full(self: TokenStore, agent: str, talk: str, tokens: Sequence[StoredToken]) -> None:
            raise JournalError("the disk is full")

        monkeypatch.setattr(TokenStore, "save", full)
        hidden = await first.hidden("b@posteo.de")
        assert "the disk is full" in caplog.text
        monkeypatch.setattr(TokenStore, "save", save)
        await first.hidden("c@posteo.de")
    async with Process(directory) as second:
        assert await second.revealed(hidden) == "b@posteo.de"


async def test_a_conversation_goes_on_in_a_new_process(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    talk = Conversation()
    async with opened(project) as satchel:
        await satchel.servers.refresh()
        found = await ask(Toolset(satchel, conversation=talk), "crm__find", query="all")
        name = token_in(shown(found), "PERSON")
    async with opened(project) as satchel:
        again = Toolset(satchel, conversation=Conversation(id=talk.id))
        await ask(again, "crm__find", query=name)
        assert log_of(satchel, "crm")[-1] == "Annelie Wöhrle"
        refused = await ask(again, "mail__send", to=name)
        assert "mail may not receive" in shown(refused)


@pytest.mark.slow
async def test_a_program_that_waited_for_a_person_is_resumed_in_a_new_process(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    settings = project.directory / "satchel.yaml"
    written = yaml.safe_load(settings.read_text())
    written |= {"agents": {"default": {"approve": ["crm.fail"]}}, "approvals": {"wait": "0s"}}
    settings.write_text(yaml.safe_dump(written))
    async with opened(project) as satchel:
        await satchel.servers.refresh()
        toolset = Toolset(satchel, mode="code")
        first = await ask(
            toolset, "execute_code", code="print(await call_mcp_tool('crm.find', {'query': 'x'}))"
        )
        name = token_in(shown(first), "PERSON")
        code = (
            f"try:\n    await call_mcp_tool('crm.fail', {{'query': '{name}'}})\n"
            "except Exception as error:\n    print(error)\n"
            f"await call_mcp_tool('crm.find', {{'query': '{name}'}})"
        )
        stopped = await ask(toolset, "execute_code", code=code)
        assert stopped.structured is not None
        assert stopped.structured["ended"] == "approval", stopped
    async with opened(project) as satchel:
        for row in await satchel.approvals.list_all():
            found = await satchel.approvals.find(row.id)
            assert leaks(str(found)) == []
            await satchel.approvals.allow(found, by="me")
        request = ExecutionRequest(code="", resume=stopped.structured["execution_id"])
        resumed = await satchel.executions.run(request, Caller())
        assert resumed.exit_code == 0, resumed
        assert "no luck with" in resumed.stdout
        assert leaks(resumed.stdout) == []
        assert log_of(satchel, "crm")[-1] == "Annelie Wöhrle"
