"""What passes the wire to MCP clients of both generations has no personal data; servers get it."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.server.clients_helpers import (
    CLIENT_ERAS,
    Person,
    Served,
    asking,
    call,
    client_of,
    own_project,
    served,
    text_of,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

EMAIL = "annelie.w@posteo.de"
IBAN = "DE89 3704 0044 0532 0130 00"
SECRETS = (EMAIL, "annelie", IBAN, "3704 0044")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Served]:
    settings: dict[str, Any] = {"privacy": {"detect": ["all"]}, "agents": {"default": {}}}
    project = own_project(tmp_path_factory.mktemp("privacy"), {"both": asking()}, settings)
    async with served(project, mode="direct") as here:
        yield here


def leaks(*values: object) -> list[str]:
    text = json.dumps([str(value) for value in values], ensure_ascii=False)
    return [secret for secret in SECRETS if secret in text]


@CLIENT_ERAS
async def test_questions_prompts_errors_and_logs_pass_as_tokens(here: Served, client_era: Any) -> None:
    person, heard = Person(), list[Any]()

    async def note(params: Any) -> None:
        heard.append(params.data)

    async with client_of(here.surface, client_era, person=person, samples=True, log=note) as client:
        asked = await call(client, "both__ask", question=f"Is it {EMAIL}?")
        assert not asked.is_error, text_of(asked)
        assert person.questions
        token = person.questions[0].removeprefix("Is it ").removesuffix("?")
        assert token.startswith("EMAIL_")
        person.text = f"yes, {token}"  # what a person answers goes back to the server that asked
        again = await call(client, "both__ask", question="Which one?")
        consulted = await call(client, "both__consult", prompt=f"Think of {IBAN}")
        failed = await call(client, "both__fail", message=f"no row for {EMAIL}")
        assert failed.is_error
        said = await call(client, "both__say", line=f"wrote to {EMAIL}")
        prompt = await client.get_prompt("greet", {"who": f"{EMAIL}"})
        results = [text_of(each) for each in (asked, again, consulted, failed, said)]
        assert leaks(*results, prompt, heard, person.asked) == []
        assert "EMAIL_" in str(prompt)
        assert "EMAIL_" in text_of(failed)


@CLIENT_ERAS
async def test_a_misspelt_token_is_an_error_on_the_wire(here: Served, client_era: Any) -> None:
    async with client_of(here.surface, client_era) as client:
        failed = text_of(await call(client, "both__fail", message=f"no row for {EMAIL}"))
        token = next(word for word in failed.split() if word.startswith("EMAIL_"))
        wrong = await call(client, "both__fail", message=f"{token[:-1]} again")
        assert f"did you mean {token}" in text_of(wrong)
