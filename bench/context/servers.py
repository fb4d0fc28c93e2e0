"""A user with example servers that run, and with public servers that are cached and can't be started."""

import json
import shutil
import subprocess
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.context.client import Client
from bench.context.conversation import definition_tokens, text_tokens
from bench.listing import DATA, SATCHEL
from bench.rows import Skipped
from bench.surroundings import Entry, Home, example_server, temporary_home
from satchel.catalog import Catalog
from satchel.config import find_paths, read_configuration
from satchel.languages import LANGUAGES, Language
from satchel.model import Json, Listing

EXAMPLES = ("google-drive", "salesforce", "slack")
RENAMED = {"slack": "slack-community"}
"""A public server that is called like one of the examples; who has both must call one of them otherwise."""
NO_PROGRAM = "satchel-bench-no-such-server"


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What a public server answered to `initialize` and `tools/list`."""

    name: str
    about: Json
    tools: tuple[Json, ...]
    tokens: int
    """Of its definitions, in the way that is the most favourable: name, description and input."""

    def listing(self) -> Listing:
        information = self.about["serverInfo"]
        return Listing(
            tools=self.tools,
            instructions=self.about.get("instructions"),
            implementation=information["name"],
            version=information.get("version", ""),
            protocol_version=self.about["protocolVersion"],
        )


@cache
def recorded_servers() -> tuple[Recorded, ...]:
    """By name."""
    if not DATA.is_dir():
        raise Skipped(f"the recorded tools of public servers are not in ../{'/'.join(DATA.parts[-3:])}")
    answers: list[Json] = [json.loads(file.read_bytes()) for file in sorted(DATA.glob("*.json"))]
    return tuple(
        Recorded(
            name=RENAMED.get(str(answer["server"]), str(answer["server"])),
            about=answer["initialize"],
            tools=tuple(answer["tools"]),
            tokens=definition_tokens(answer["tools"]),
        )
        for answer in answers
    )


class Place:
    """One home, in which each measurement configures what it needs; what was cached stays cached."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._is_filled = False

    def configure(self, examples: Sequence[str], others: int, language: Language = "python") -> None:
        """Attach these examples and the first of the public servers; the examples' data is as new."""
        public = recorded_servers()[:others] if others else ()
        if others and not self._is_filled:
            self._fill()
        self._write(examples, public)
        settings = self.home.project / "satchel.yaml"
        settings.write_text(f"code_execution:\n  language: {language}\n", encoding="utf-8")
        self.forget_changes()

    def forget_changes(self) -> None:
        shutil.rmtree(self._state, ignore_errors=True)

    def list_examples(self) -> None:
        """Have Satchel know the examples, as it does after its first start."""
        self._write(EXAMPLES, ())
        subprocess.run(
            [SATCHEL, "list"],
            cwd=self.home.project,
            env=dict(self.home.environment),
            check=True,
            capture_output=True,
        )

    def missing_languages(self) -> dict[Language, str]:
        """Those in which programs can't be run here, and why."""
        self.configure((), 0)
        missing: dict[Language, str] = {}
        with self.served() as client:
            for language in LANGUAGES:
                try:
                    client.call("execute_code", {"code": "0", "language": language})
                except RuntimeError as error:
                    missing[language] = " ".join(str(error).split())
        return missing

    @contextmanager
    def served(self, mode: str = "code") -> Generator[Client]:
        command = [SATCHEL, "serve", "--mode", mode]
        with Client(command, self.home.project, self.home.environment) as client:
            client.initialize()
            yield client

    @contextmanager
    def straight(self, examples: Sequence[str]) -> Generator[dict[str, Client]]:
        """A connection to each server, as a client without Satchel has it; all are started at once."""
        environment = {**self.home.environment, "SATCHEL_EXAMPLES_STATE": str(self._state)}
        with ExitStack() as stack:
            clients = {
                name: stack.enter_context(Client(_command(name), self.home.project, environment))
                for name in examples
            }
            for client in clients.values():
                client.initialize()
            yield clients

    @property
    def _state(self) -> Path:
        return Path(self.home.environment["HOME"]) / "examples-state"

    def _write(self, examples: Sequence[str], public: Sequence[Recorded]) -> None:
        entries: dict[str, Entry] = {server.name: {"command": NO_PROGRAM} for server in public}
        self.home.configure(entries | {name: _entry(name) for name in examples})

    def _fill(self) -> None:
        self._write((), recorded_servers())
        record(self.home, recorded_servers())
        self._is_filled = True


def record(home: Home, servers: Sequence[Recorded]) -> None:
    """Put into the cache of configured servers what they would have answered."""
    paths = find_paths(config=home.project, environment=home.environment)
    catalog = Catalog(read_configuration(paths), home.environment)
    for server in servers:
        catalog.record(catalog.entries[server.name], server.listing())


@contextmanager
def open_place() -> Generator[Place]:
    with temporary_home() as home:
        place = Place(home)
        place.list_examples()
        yield place


def tokens_before(client: Client) -> int:
    """What Satchel gives a model before the first message: its definitions, output included, and its text."""
    return definition_tokens(client.tools(), output=True) + text_tokens(client.instructions)


def _entry(name: str) -> Entry:
    return example_server(name.replace("-", "_"))


def _command(name: str) -> list[str]:
    entry = _entry(name)
    return [entry["command"], *entry["args"]]
