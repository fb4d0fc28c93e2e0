"""The settings of privacy: mistakes are named with their line."""

from pathlib import Path

import pytest

from satchel.config.settings import read_settings
from satchel.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("detect: [emial]", 2, "unknown kind 'emial'"),
        ("servers: {crm: [all, nothing]}", 2, "unknown kind 'nothing'"),
        ("kinds: {EMAIL: x}", 2, "'EMAIL' can't be the name of a kind"),
        ("kinds: {staff: x}", 2, "'staff' can't be the name of a kind"),
        ("kinds: {STAFF: '['}", 2, "not a regular expression"),
        ("kinds: {STAFF: 'x*'}", 2, "fits nothing at all"),
        ("programs: maybe", 2, "programs"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, line: int, said: str) -> None:
    file = tmp_path / "satchel.yaml"
    file.write_text(f"privacy:\n  {text}\n")
    with pytest.raises(ConfigError) as caught:
        read_settings(file)
    assert caught.value.line == line
    assert said in caught.value.message


def test_all_kinds_and_own_ones_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "satchel.yaml"
    file.write_text("privacy:\n  detect: [email, IBAN, STAFF_NUMBER]\n  kinds: {STAFF_NUMBER: 'E-\\\\d+'}\n")
    assert read_settings(file).privacy.is_on
