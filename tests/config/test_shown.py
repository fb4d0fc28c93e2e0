"""Command lines and addresses without their secrets."""

import pytest

from satchel.config.shown import hidden_in, without_secrets


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("--password hunter --verbose x --api-key=abc", "--password *** --verbose x --api-key=***"),
        ("-e GITHUB_TOKEN=abc -e MODE=fast image:latest", "-e GITHUB_TOKEN=*** -e MODE=fast image:latest"),
        ("postgresql://bob:hunter@db.example/app", "postgresql://***@db.example/app"),
        ("https://u:p/w@host/x", "***"),
        ("https://x.example/mcp?api_key=abc&v=1", "https://x.example/mcp?api_key=***&v=1"),
        ("https://x.example/9f8e7d6c5b4a3f2e1d/mcp", "https://x.example/***/mcp"),
        ("git+https://github.com/me/repo@v1", "git+https://github.com/me/repo@v1"),
        ("--token ${TOKEN} --author me key/files", "--token ${TOKEN} --author me key/files"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(words: str, shown: str) -> None:
    assert without_secrets(words.split()) == shown.split()


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("Authorization: Bearer abc", "Authorization:***"),
        ("Authorization: Bearer ${TOKEN}", "Authorization: Bearer ${TOKEN}"),
        ("TOKEN=abc server --secret xyz --port 3", "TOKEN=*** server --secret *** --port 3"),
        ('{"apiKey": "abc", "mode": "x"}', '{"apiKey": "***", "mode": "x"}'),
    ],
)
def test_secrets_within_a_word_are_hidden(word: str, shown: str) -> None:
    assert without_secrets([word]) == [shown]


@pytest.mark.parametrize(
    ("words", "hidden"),
    [
        (["x", "--token=canary-word", "plain"], ["canary-word"]),
        (["--password", "hunter22"], ["hunter22"]),
        (["TOKEN=abc server --secret xyz --port 3"], ["abc", "xyz"]),
        (["postgresql://bob:hunter@db.example/app", "--token", "${TOKEN}"], ["bob:hunter"]),
        (["***", "a***b"], []),
    ],
)
def test_what_is_hidden_of_a_command_line_is_known(words: list[str], hidden: list[str]) -> None:
    assert list(hidden_in(words)) == hidden
