"""One server entry: its keys, what is wrong with it, and what it resolves to."""

import json
from pathlib import Path
from typing import Any

import pytest

from satchel.config import OAuthHints, ServerEntry, read_extensions, resolve
from satchel.errors import ConfigError, NeedsSetupError
from satchel.upstream.redacting import redact


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "extensions_config.json"


def entry_of(file: Path, data: object, name: str = "demo") -> ServerEntry:
    file.write_text(json.dumps({"mcpServers": {name: data}}, indent=1), encoding="utf-8")
    return read_extensions(file)[0]


def problem_of(file: Path, data: object) -> ConfigError:
    problem = entry_of(file, data).problem
    assert problem is not None
    assert problem.file == file
    return problem


def setup_error(entry: ServerEntry, **environment: str) -> NeedsSetupError:
    with pytest.raises(NeedsSetupError) as caught:
        resolve(entry, environment)
    assert caught.value.server == entry.name
    return caught.value


# Keys


def test_every_key_of_a_stdio_server_is_read(file: Path) -> None:
    written = {
        "command": "npx",
        "args": ["-y", "thing"],
        "env": {"A": "1"},
        "cwd": "below",
        "type": "stdio",
        "enabled": False,
        "description": "Things",
        "timeout": 1,
        "startup_timeout": 2.5,
        "idle_timeout": 0,
    }

    entry = entry_of(file, written)

    assert entry == ServerEntry(
        name="demo",
        file=file,
        written=written,
        transport="stdio",
        command="npx",
        args=("-y", "thing"),
        env={"A": "1"},
        cwd="below",
        enabled=False,
        description="Things",
        timeout=1,
        startup_timeout=2.5,
        idle_timeout=0,
    )


def test_every_key_of_a_remote_server_is_read(file: Path) -> None:
    oauth = {"clientId": "me", "callbackPort": 8080, "scopes": ["read", "write"]}
    written = {
        "url": "https://a.example/mcp",
        "headers": {"X-Key": "k"},
        "transport": "http",
        "oauth": oauth,
    }

    entry = entry_of(file, written)

    assert entry == ServerEntry(
        name="demo",
        file=file,
        written=written,
        transport="http",
        url="https://a.example/mcp",
        headers={"X-Key": "k"},
        oauth=OAuthHints(clientId="me", callbackPort=8080, scopes=("read", "write")),
    )


@pytest.mark.parametrize("key", ["type", "transport"])
@pytest.mark.parametrize(
    ("word", "transport"),
    [
        ("http", "http"),
        ("streamable-http", "http"),
        ("streamable_http", "http"),
        ("streamableHttp", "http"),
        ("sse", "sse"),
    ],
)
def test_a_remote_transport_may_be_spelled_as_other_clients_do(
    file: Path, key: str, word: str, transport: str
) -> None:
    entry = entry_of(file, {"url": "https://a.example/anything", key: word})

    assert (entry.problem, entry.transport) == (None, transport)


@pytest.mark.parametrize(
    ("data", "transport"),
    [
        ({"command": "x"}, "stdio"),
        ({"url": "https://a.example/mcp"}, "http"),
        ({"url": "https://a.example/sse"}, "sse"),
        ({"url": "https://a.example/sse/"}, "sse"),
        ({"url": "https://a.example/sse", "type": "http"}, "http"),
        ({"command": "x", "type": "stdio"}, "stdio"),
    ],
)
def test_without_a_type_the_transport_is_what_the_entry_looks_like(
    file: Path, data: dict[str, Any], transport: str
) -> None:
    assert entry_of(file, data).transport == transport


@pytest.mark.parametrize(
    ("keys", "enabled"),
    [
        ({}, True),
        ({"disabled": True}, False),
        ({"disabled": False}, True),
        ({"enabled": False}, False),
        ({"enabled": False, "disabled": False}, False),
    ],
)
def test_a_server_is_enabled_unless_one_of_the_spellings_says_otherwise(
    file: Path, keys: dict[str, Any], enabled: bool
) -> None:
    entry = entry_of(file, {"command": "x", **keys})

    assert (entry.problem, entry.enabled) == (None, enabled)


def test_disabled_is_true_or_false(file: Path) -> None:
    assert "disabled" in problem_of(file, {"command": "x", "disabled": "yes"}).message


def test_keys_that_other_clients_keep_for_themselves_are_passed_over(file: Path) -> None:
    data = {
        "command": "x",
        "alwaysAllow": ["a"],
        "autoApprove": [],
        "trust": True,
        "icon": "i",
        "disabledTools": [],
    }

    entry = entry_of(file, data)

    assert entry.problem is None
    assert entry.written == data


# Problems


def test_an_unknown_key_is_the_problem_of_its_entry_alone(file: Path) -> None:
    servers: dict[str, Any] = {
        "one": {"command": "x"},
        "two": {"command": "y", "arg": []},
        "three": {"command": "z"},
    }
    file.write_text(json.dumps({"mcpServers": servers}, indent=1))

    one, two, three = read_extensions(file)

    assert (one.problem, three.problem) == (None, None)
    assert two.problem is not None
    assert (two.problem.file, two.problem.line, two.problem.key) == (file, 8, "arg")
    assert two.problem.hint == "did you mean 'args'?"
    assert f"{file}:8: unknown key 'arg'" in two.problem.message
    error = setup_error(two)
    assert f"{file}:8" in error.message
    assert error.hint == "did you mean 'args'?"
    assert resolve(one, {}).command == "x"


def test_an_unknown_key_of_a_bare_map_has_its_line(file: Path) -> None:
    file.write_text('{\n "one": {"command": "x"},\n "two": {\n  "command": "y",\n  "ulr": "z"\n }\n}')

    _, two = read_extensions(file)

    assert two.problem is not None
    assert two.problem.line == 5


def test_an_unknown_key_inside_oauth_is_named_whole(file: Path) -> None:
    problem = problem_of(file, {"url": "http://a.example", "oauth": {"clientID": "x"}})

    assert (problem.line, problem.key) == (6, "oauth.clientID")
    assert problem.hint == "did you mean 'clientId'?"


@pytest.mark.parametrize(
    ("data", "line", "expected"),
    [
        ({"command": 5}, 4, "'command' must be a string, not 5"),
        ({"command": ["npx"]}, 4, "'command' must be a string, not ['npx']"),
        ({"command": "x", "args": "-y"}, 5, "'args' must be a list, not '-y'"),
        ({"command": "x", "args": ["-y", 5]}, 7, "'args.1' must be a string, not 5"),
        ({"command": "x", "env": []}, 5, "'env' must be keys and values, not []"),
        ({"command": "x", "env": {"A": "1", "B": 2}}, 7, "'env.B' must be a string, not 2"),
        ({"command": "x", "env": {"A": None}}, 6, "'env.A' must be a string, not null"),
        ({"command": "x", "timeout": "5s"}, 5, "'timeout' must be a number, not '5s'"),
        ({"command": "x", "timeout": -1}, 5, "'timeout' must not be negative"),
        ({"command": "x", "enabled": "no"}, 5, "'enabled' must be true or false, not 'no'"),
        ({"url": "http://a.example", "headers": {"A": True}}, 6, "'headers.A' must be a string, not true"),
        ({"url": "http://a.example", "oauth": {"callbackPort": "1"}}, 6, "must be a whole number, not '1'"),
        (
            {"url": "http://a.example", "type": "websocket"},
            5,
            "has type 'websocket'; it can be stdio, http or sse",
        ),
        ({"command": "x", "transport": "pipe"}, 5, "has transport 'pipe'; it can be"),
        ({"command": "x", "url": "http://a.example"}, 5, "has both 'command' and 'url'"),
        ({"args": []}, 3, "has neither 'command' nor 'url'"),
        ({}, 3, "has neither 'command' nor 'url'"),
        ({"type": "http", "command": "x"}, 3, "is of type http but has no 'url'"),
        ({"type": "stdio", "url": "http://a.example"}, 3, "is of type stdio but has no 'command'"),
        ("npx thing", 3, "must be an object with 'command' or 'url'"),
        (None, 3, "must be an object with 'command' or 'url'"),
        ([], 3, "must be an object with 'command' or 'url'"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said_with_file_and_line(
    file: Path, data: object, line: int, expected: str
) -> None:
    problem = problem_of(file, data)

    assert problem.line == line
    assert f"{file}:{line}: " in problem.message
    assert expected in problem.message


def test_a_value_that_counts_is_the_one_whose_line_is_named(file: Path) -> None:
    file.write_text('{"mcpServers": {"demo": {\n"command": "x",\n"timeout": 1,\n"timeout": "soon"\n}}}')

    problem = read_extensions(file)[0].problem

    assert problem is not None
    assert problem.line == 4  # of two keys of the same name, the last one counts


# What a person still has to fill in


@pytest.mark.parametrize("command", ["", "   ", "${EMPTY}"])
def test_an_empty_command_needs_setup_and_says_where(file: Path, command: str) -> None:
    entry = entry_of(file, {"description": "not filled in yet", "command": command})

    assert entry.problem is None
    error = setup_error(entry, EMPTY="")
    assert f"command is empty in {file}:5" in error.message
    assert error.hint is not None


@pytest.mark.parametrize("url", ["", " ", "${EMPTY}"])
def test_an_empty_url_needs_setup_and_says_where(file: Path, url: str) -> None:
    entry = entry_of(file, {"type": "http", "description": "not filled in yet", "url": url})

    assert entry.problem is None
    error = setup_error(entry, EMPTY="")
    assert f"url is empty in {file}:6" in error.message
    assert error.hint is not None


# Resolving


def test_a_stdio_entry_resolves_to_what_is_started(file: Path) -> None:
    entry = entry_of(
        file,
        {
            "command": "${BIN}/tool",
            "args": ["--to=${WHERE:-here}"],
            "env": {"T": "${env:TOKEN}"},
            "cwd": "${SUB}",
        },
    )

    target = resolve(entry, {"BIN": "/opt", "TOKEN": "t", "SUB": "below"})

    assert (target.name, target.transport) == ("demo", "stdio")
    assert (target.command, target.args) == ("/opt/tool", ("--to=here",))
    assert target.env == {"T": "t"}
    assert target.cwd == file.parent / "below"


def test_a_remote_entry_resolves_to_what_is_connected_to(file: Path) -> None:
    entry = entry_of(
        file,
        {
            "url": "https://${HOST}:${PORT:-8443}/mcp",
            "headers": {"Authorization": "Bearer ${TOKEN}"},
            "oauth": {"clientId": "me"},
        },
    )

    target = resolve(entry, {"HOST": "a.example", "TOKEN": "t"})

    assert target.url == "https://a.example:8443/mcp"
    assert target.headers == {"Authorization": "Bearer t"}
    assert target.oauth == OAuthHints(clientId="me")
    assert target.transport == "http"


@pytest.mark.parametrize(
    ("cwd", "expected"), [(None, "."), ("sub", "sub"), ("/srv/data", "/srv/data"), ("~/data", "{home}/data")]
)
def test_a_server_runs_where_its_file_is_unless_it_says_otherwise(
    file: Path, own_home: Path, cwd: str | None, expected: str
) -> None:
    entry = entry_of(file, {"command": "x"} | ({"cwd": cwd} if cwd else {}))

    assert resolve(entry, {}).cwd == file.parent / expected.format(home=own_home)


def test_the_home_directory_may_be_abbreviated_in_a_command(file: Path, own_home: Path) -> None:
    assert resolve(entry_of(file, {"command": "~/bin/x"}), {}).command == f"{own_home}/bin/x"


@pytest.mark.parametrize(
    ("data", "line", "key"),
    [
        ({"command": "${LOST}"}, 4, "command"),
        ({"command": "x", "args": ["a", "b ${LOST}"]}, 7, "args.1"),
        ({"command": "x", "env": {"A": "1", "B": "${env:LOST}"}}, 7, "env.B"),
        ({"command": "x", "cwd": "${LOST}"}, 5, "cwd"),
        ({"url": "http://${LOST}/"}, 4, "url"),
        ({"url": "http://a.example", "headers": {"X": "${LOST}"}}, 6, "headers.X"),
    ],
)
def test_an_unresolved_variable_is_named_with_file_line_and_key(
    file: Path, data: dict[str, Any], line: int, key: str
) -> None:
    entry = entry_of(file, data)

    error = setup_error(entry, OTHER="x")

    assert "variable LOST is not set" in error.message
    assert f"'{key}' in {file}:{line}" in error.message
    assert error.hint is not None
    assert "LOST" in error.hint


def test_an_unresolved_variable_is_the_problem_of_its_entry_alone(file: Path) -> None:
    servers = {"one": {"command": "${LOST}"}, "two": {"command": "x"}}
    file.write_text(json.dumps({"mcpServers": servers}))

    one, two = read_extensions(file)

    setup_error(one)
    assert resolve(two, {}).command == "x"


def test_resolving_writes_nothing_to_disk(file: Path) -> None:
    entry = entry_of(file, {"command": "x", "env": {"TOKEN": "${TOKEN}"}})
    before = file.read_bytes()

    resolve(entry, {"TOKEN": "hunter2hunter2"})

    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


# Secrets


def test_values_that_look_like_secrets_are_named_longest_first(file: Path) -> None:
    entry = entry_of(
        file,
        {
            "command": "x",
            "env": {
                "API_KEY": "key-key-key",
                "GITHUB_TOKEN": "${TOKEN}",
                "DB_PASSWORD": "password-is-long",
                "DATABASE_URL": "postgres://u:p@h/db",
                "LOG_LEVEL": "debug-everything",
                "SHORT_KEY": "1234",
            },
        },
    )

    secrets = resolve(entry, {"TOKEN": "ghp_0123456789"}).secrets

    shown = {secret for secret in secrets if not {*"%\\"} & {*secret}}
    assert shown == {"key-key-key", "ghp_0123456789", "password-is-long", "postgres://u:p@h/db"}
    assert [len(secret) for secret in secrets] == sorted(map(len, secrets), reverse=True)


def test_headers_are_secrets_with_and_without_their_scheme(file: Path) -> None:
    entry = entry_of(file, {"url": "http://a.example", "headers": {"Authorization": "Bearer ${TOKEN}"}})

    assert {"Bearer sesame-open", "sesame-open"} <= {*resolve(entry, {"TOKEN": "sesame-open"}).secrets}


@pytest.mark.parametrize(
    "shown",
    [
        "using token ghp_CANARY",
        r"Illegal header value b'Bearer ghp_CANARY\n'",
        r'{"token": "ghp_CANARY\n"}',
        "?token=ghp_CANARY%0A",
        'second \u00e9 "line"',
        r'{"token": "second \u00e9 \"line\""}',
        "second+%C3%A9+%22line%22",
        "second%20%C3%A9%20%22line%22",
    ],
)
def test_a_secret_with_line_breaks_is_one_in_every_spelling(file: Path, shown: str) -> None:
    entry = entry_of(file, {"command": "x", "env": {"TOKEN": "${TOKEN}"}})
    for value in ("ghp_CANARY\n", ' second \u00e9 "line"\r\n'):
        secrets = resolve(entry, {"TOKEN": f"first-CANARY\n{value}"}).secrets
        assert min(map(len, secrets)) >= 6
        shown = redact(shown, secrets)
    assert "CANARY" not in shown
    assert "line" not in shown


@pytest.mark.parametrize("value", ["sesame-open\n", "sesame\r\nX-Other: 1", "sesame\x00open", "sesame\x7f"])
def test_a_header_with_control_characters_needs_setup_and_is_not_shown(file: Path, value: str) -> None:
    written = {"url": "http://a.example", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    error = setup_error(entry_of(file, written), TOKEN=value)

    assert f"header Authorization has a line break or another control character ({file}:6)" in error.message
    assert "sesame" not in str(error) + str(error.hint)


@pytest.mark.parametrize(
    "shown",
    [
        "no /mcp?key=hunter&session=CANARY%2Fquery",
        "CANARY/query",
        "CANARY-user",
        "CANARY p@ss",
        "CANARY%20p%40ss",
        "Basic Q0FOQVJZLXVzZXI6Q0FOQVJZIHBAc3M=",
        "no bare-CANARY",
    ],
)
def test_what_an_address_carries_is_a_secret(file: Path, shown: str) -> None:
    url = "https://CANARY-user:CANARY%20p%40ss@a.example/mcp?key=hunter&session=CANARY%2Fquery&bare-CANARY"
    redacted = redact(shown, resolve(entry_of(file, {"url": url}), {}).secrets)
    for secret in ("CANARY", "hunter", "p@ss", "Q0FO", "query"):
        assert secret not in redacted


def test_words_in_an_address_that_are_in_every_text_are_no_secrets(file: Path) -> None:
    url = "https://me:x@a.example/default/mcp?a=true&b=1&c=default&d=streamable&key=short&e=2024"
    secrets = resolve(entry_of(file, {"url": url}), {}).secrets
    said = "true default streamable short 1 2024 me x a.example"
    assert redact(said, secrets) == said


def test_an_address_that_is_none_has_secrets_all_the_same(file: Path) -> None:
    written = {"url": "http://[::1?key=CANARY-query", "headers": {"X-Key": "CANARY-header"}}
    assert "CANARY-header" in resolve(entry_of(file, written), {}).secrets


@pytest.mark.parametrize(
    "data",
    [
        {"command": "x", "args": ["--api-key", "${API_KEY}"]},
        {"command": "x", "args": ["--api-key=${API_KEY}"]},
        {"url": "https://a.example/mcp?key=${API_KEY}"},
    ],
)
def test_a_variable_that_is_called_like_a_secret_is_one_wherever_it_stands(
    file: Path, data: dict[str, Any]
) -> None:
    target = resolve(entry_of(file, data), {"API_KEY": "hunter2hunter2"})

    assert any(secret in "hunter2hunter2" for secret in target.secrets)


@pytest.mark.parametrize(
    "data",
    [
        {"command": "x", "env": {"TOKEN": "${TOKEN}"}},
        {"command": "x", "args": ["--token=${TOKEN}"]},
        {"url": "https://a.example/${TOKEN}/mcp"},
        {"url": "https://a.example", "headers": {"Authorization": "Bearer ${TOKEN}"}},
    ],
)
def test_no_secret_is_in_what_a_target_prints_as(file: Path, data: dict[str, Any]) -> None:
    target = resolve(entry_of(file, data), {"TOKEN": "hunter2hunter2"})

    assert "hunter2" not in repr(target)
    assert "demo" in repr(target)


@pytest.mark.parametrize(
    "data",
    [
        {"command": "x", "args": "--token hunter2"},
        {"command": "x", "args": ["--token", {"value": "hunter2"}]},
        {"command": "x", "env": "hunter2"},
        {"command": "x", "env": {"TOKEN": ["hunter2"]}},
        {"command": ["x", "hunter2"]},
        {"url": "http://a.example", "headers": {"Authorization": {"value": "hunter2"}}},
    ],
)
def test_models_are_not_told_what_a_faulty_value_is(file: Path, data: object) -> None:
    error = setup_error(entry_of(file, data))
    assert "hunter2" in error.message  # which people are told
    assert "hunter2" not in error.brief and " must be " in error.brief
