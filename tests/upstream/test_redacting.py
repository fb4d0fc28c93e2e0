"""No secret is in what a server asks and lists, but for the page that a person has to open."""

from pathlib import Path

import anyio
import pytest

from satchel.catalog.states import trouble
from satchel.config.entries import read_entry, resolve
from satchel.errors import NeedsSetupError
from satchel.model import Client, Json
from satchel.upstream.asking import Asking
from satchel.upstream.failures import classify
from satchel.upstream.redacting import redact_listed

SECRET = "canary-question"
TARGET = resolve(read_entry("demo", {"command": "x", "env": {"TOKEN": SECRET}}, Path("file.json")), {})


@pytest.mark.anyio
async def test_a_client_is_asked_without_secrets() -> None:
    asked: list[Json] = []
    logged: list[Json] = []

    async def answer(method: str, params: Json, key: str) -> Json:
        asked.append(params)
        return {"action": "decline"}

    client = Client(key="one", can=frozenset({"elicitation"}), ask=answer, log=logged.append)
    asking = Asking(TARGET)
    with anyio.fail_after(30), asking.turn(client):
        page = f"https://example.com/?state={SECRET}"
        await asking.answer("elicitation/create", {"message": f"Is it {SECRET}?", "url": page})
        asking.log({"level": "info", "data": {"said": SECRET}})
    assert asked == [{"message": "Is it ***?", "url": page}]
    assert logged == [{"level": "info", "data": {"said": "***"}}]


def test_what_is_listed_keeps_its_name_and_those_of_its_arguments() -> None:
    tool = {
        "name": SECRET,
        "description": f"Uses {SECRET}",
        "inputSchema": {
            "properties": {SECRET: {"description": SECRET, "default": SECRET}},
            "required": [SECRET],
        },
    }
    assert redact_listed([tool, 5], "name", TARGET.result_secrets) == [
        {
            "name": SECRET,
            "description": "Uses ***",
            "inputSchema": {
                "properties": {SECRET: {"description": "***", "default": "***"}},
                "required": [SECRET],
            },
        },
        5,
    ]


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "npx server --api-key ${TOKEN}"},
        {"command": f"docker run -e TOKEN={SECRET} image"},
        {"command": "/opt/${TOKEN}/bin"},
        {"command": "true", "cwd": "/nonexistent/${TOKEN}"},
    ],
)
def test_models_are_told_no_secret_of_a_command_that_can_not_be_started(entry: Json, tmp_path: Path) -> None:
    target = resolve(read_entry("demo", entry, tmp_path / "file.json"), {"TOKEN": SECRET})
    error = classify(FileNotFoundError(2, "no"), target, child=None, status=None, startup_timeout=1)
    assert isinstance(error, NeedsSetupError)
    assert SECRET not in f"{error.brief} {trouble(error)}"
