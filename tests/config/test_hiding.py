"""What is taken out of results: secrets, and nothing that a result is about."""

from pathlib import Path
from typing import Any

import pytest

from satchel.config.entries import read_entry, resolve
from satchel.config.hiding import returned_secrets
from satchel.upstream.redacting import redact

WRITTEN = Path("extensions_config.json")


def told(value: str, **written: Any) -> str:
    """What is left of a value when the server returns it."""
    target = resolve(read_entry("demo", {"command": "x", **written}, WRITTEN), {"NAMED": value})
    return redact(f"before {value} after", target.result_secrets)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("API_KEY", "key-key-key"),
        ("PGPASSWORD", "correct horse"),
        ("AUTHORIZATION", "sesame-open"),
        ("GITHUB_TOKEN", "ghp_0123456789abcdefghij"),
        ("ANYTHING", "canary-3f9a1b2c4d5e"),
        ("ANYTHING", "3b241101-e2bb-4255-8caf-4136c566a962"),
        ("DATABASE_URL", "postgres://user:s3same@localhost/orders"),
        ("WEBHOOK", "https://example.com/hook?key=sesame-open"),
        ("WEBHOOK", "https://hooks.example.com/services/T01ABC2DE/B02FGH3IJ/4kL5mN6oP7qR8sT9uV0w"),
        ("DATABASE", "postgres://user:S3cr#t9@host/orders"),
        ("DATABASE", "jdbc:sqlserver://host:1433;user=sa;password=S3same-open"),
        ("REPOSITORY", "https://ghp_a1b2c3d4e5f6@example.com/a.git"),
        ("SERVICE_ACCOUNT_KEY", '{"token_uri": "https://example.com/token", "private_key": "sesame"}'),
        ("CERT_AUTHORITY_PASSWORD", "sesame-open"),
    ],
)
def test_a_secret_of_the_environment_is_not_returned(name: str, value: str) -> None:
    assert told(value, env={name: value}) == "before *** after"
    assert told(value, env={name: "${NAMED}"}) == "before *** after"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LOG_LEVEL", "debug-everything"),
        ("GIT_AUTHOR_NAME", "Ada Lovelace"),
        ("MAX_TOKENS", "100000"),
        ("AUTH_MODE", "interactive"),
        ("KEY_FILE", "/home/ada/.config/key.pem"),
        ("API_URL", "https://example.com/api/v2"),
        ("NOTION_DATABASE_ID", "3b241101-e2bb-4255-8caf-4136c566a962"),
        ("GOOGLE_CLOUD_PROJECT", "a1b2c3-orders-2024"),
        ("MODEL", "claude-sonnet-4-20250514"),
        ("REGION", "eu-west-1-long-name"),
        ("CONTACT", "a1b2c3d4e5@example.com"),
        ("DATABASE", "db-01.internal.example.com"),
        ("SHORT_KEY", "a1b2"),
        ("DATABASE_URL", "postgresql://postgres:postgres@localhost:5432/postgres"),
        ("REDIS_URL", "redis://default:password@localhost:6379/0"),
        ("SEARCH", "https://example.com/mcp?tools=web_search_exa&api-version=2024-06-01&region=us-east-1"),
        ("ES_URL", "localhost:9200"),
        ("PGHOST", "db1a2b3c4.internal"),
        ("KEYCLOAK_CLIENT_ID", "orders-service"),
        ("AUTH_TYPE", "api_key"),
        ("CREDENTIALS_FILE", "credentials.json"),
    ],
)
def test_what_a_result_may_be_about_is_returned(name: str, value: str) -> None:
    assert told(value, env={name: value}) == f"before {value} after"


@pytest.mark.parametrize("value", ["postgresql://postgres:postgres@h/x", "redis://default:password@h"])
def test_no_part_of_a_common_address_is_blotted_out(value: str) -> None:
    target = resolve(read_entry("demo", {"command": "x", "env": {"DATABASE_URL": value}}, WRITTEN), {})
    said = "the default password of postgres"
    assert redact(said, target.result_secrets) == said


@pytest.mark.parametrize(
    "shown",
    [
        r"a\u0026b\u003cc/d(e)!",  # as Go writes JSON
        r"a&b<c\/d(e)!",  # as PHP does
        "a%26b%3Cc%2Fd(e)!",  # as JavaScript writes addresses
        "a%26b%3cc%2fd%28e%29%21",
    ],
)
def test_a_secret_is_one_however_programs_spell_it(shown: str) -> None:
    target = resolve(read_entry("demo", {"command": "x", "env": {"TOKEN": "a&b<c/d(e)!"}}, WRITTEN), {})
    assert redact(f"it is {shown}", target.result_secrets) == "it is ***"


def test_headers_and_addresses_have_secrets_too() -> None:
    written = {
        "url": "https://ada:s3same-word@a.example/mcp?key=open-sesame",
        "headers": {"Authorization": "Bearer canary-header", "X-Team": "blue-team", "Accept": "text/plain"},
    }
    secrets = resolve(read_entry("demo", written, WRITTEN), {}).result_secrets
    said = "canary-header s3same-word open-sesame blue-team text/plain https://a.example/mcp"
    assert redact(said, secrets) == "*** *** *** blue-team text/plain https://a.example/mcp"


def test_an_entry_can_have_its_results_as_they_are() -> None:
    value = "ghp_0123456789abcdefghij"
    assert told(value, env={"TOKEN": value}, redact_results=False) == f"before {value} after"
    target = resolve(
        read_entry("demo", {"command": "x", "env": {"TOKEN": value}, "redact_results": False}, WRITTEN), {}
    )
    assert redact(value, target.secrets) == "***"  # in an error all the same


def test_a_long_value_takes_no_time() -> None:
    """Looked at anew from each of its letters, this one would take minutes."""
    assert list(returned_secrets({"TEXT": "x" * 300_000})) == []
