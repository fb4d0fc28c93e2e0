"""What a model and a person have of each other's words where personal data is hidden."""

import os
import re
from pathlib import Path

import anyio
import pytest
import yaml

from satchel import open_satchel
from satchel.model import Caller, TextDelta, ToolEnded, TurnEvent
from satchel.verbs.privacy.people import ForPeople
from tests.agent.wires import Say, Use, scripted_model
from tests.verbs.privacy.test_boundary import leaks, log_of, project_in

WAIT = 60  # seconds; only a hang reaches it
TYPED = "typed.by.hand@posteo.de"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def streamed(pieces: list[str]) -> str:
    told: list[TurnEvent] = []
    tell = ForPeople(
        lambda text: text.replace("PERSON_ksn2vr", "Ada").replace("k@email.example", "a@b.de")
    ).telling(told.append)
    for piece in pieces:
        tell(TextDelta(text=piece))
    tell(ToolEnded(id="1", name="x", outcome="ok", ms=1, text="for PERSON_ksn2vr"))
    last = told.pop()
    assert isinstance(last, ToolEnded)
    assert last.text == "for Ada"
    return "".join(event.text for event in told if isinstance(event, TextDelta))


@pytest.mark.parametrize("size", [1, 2, 5, 7, 100])
@pytest.mark.parametrize("end", ["", " ", ".", "\n"])
def test_a_token_that_streams_in_pieces_is_restored_wherever_it_is_cut(size: int, end: str) -> None:
    text = f"你好PERSON_ksn2vr, write (k@email.example)\nor PERSON_ksn2vr{end}"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert streamed(pieces) == f"你好Ada, write (a@b.de)\nor Ada{end}"


@pytest.mark.anyio
@pytest.mark.slow
async def test_the_model_gets_tokens_and_the_person_values(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "SCRIPTED_KEY": "k"}
    async with scripted_model([]) as model:
        project = project_in(tmp_path)
        file = project.directory / "satchel.yaml"
        settings = yaml.safe_load(file.read_text())
        settings["models"] = {"scripted": model.settings()}
        settings["agents"] = {
            "default": {"model": "scripted", "mode": "direct", "memory": {"enabled": False}}
        }
        file.write_text(yaml.safe_dump(settings))
        async with open_satchel(project.directory, environment=environment) as satchel:
            await satchel.servers.refresh()
            model.script[:] = [Say(uses=(Use("crm__find", {"query": "all"}),)), Say("found")]
            with anyio.fail_after(WAIT):
                first = await satchel.agents.run("default", f"Who is {TYPED}?")
        sent = str(model.requests)
        assert leaks(sent) == []
        assert TYPED not in sent
        name = re.findall(r'"name": ?"(PERSON_[a-z0-9]{6})"', sent.replace("\\", ""))[0]
        typed = re.findall(r"Who is (\S+)\?", sent)[0]

        # In a new process, as with `satchel ask --resume`
        async with open_satchel(project.directory, environment=environment) as satchel:
            await satchel.servers.refresh()
            model.requests.clear()
            uses = (Use("crm__find", {"query": name}), Use("mail__send", {"to": typed}))
            model.script[:] = [Say(uses=uses), Say(f"It is {name}, who has {typed}.")]
            told: list[TurnEvent] = []
            with anyio.fail_after(WAIT):
                async for event in satchel.agents.run("default", "Go on.", conversation=first.conversation):
                    told.append(event)
            assert log_of(satchel, "crm")[-1] == "Annelie Wöhrle"
            assert log_of(satchel, "mail") == []
            assert f"mail may not receive {typed} (from the user)" in str(model.requests)
            assert leaks(str(model.requests)) == []
            said = "".join(event.text for event in told if isinstance(event, TextDelta))
            answer = f"It is Annelie Wöhrle, who has {TYPED}."
            assert said == answer
            assert f"text={answer!r}" in repr(told[-1])
            record = await satchel.conversations.get(first.conversation)
            assert leaks(repr(record)) == []
            assert TYPED not in repr(record)
        shown = project.run("conversations", "show", first.conversation, environment={"HOME": str(tmp_path)})
        assert answer in shown.out
        assert f"Who is {TYPED}?" in shown.out

        file.write_text(yaml.safe_dump(settings | {"privacy": {"detect": ["all"], "user": "show"}}))
        async with open_satchel(project.directory, environment=environment) as satchel:
            model.requests.clear()
            model.script[:] = [Say("hello")]
            with anyio.fail_after(WAIT):
                await satchel.agents.run("default", f"I am {TYPED}.")
            assert TYPED in str(model.requests)
            await satchel.conversations.delete(first.conversation)
            kept = await satchel.privacy.open(Caller(conversation=first.conversation))
            assert kept is not None
            assert len(kept.vault) == 0
