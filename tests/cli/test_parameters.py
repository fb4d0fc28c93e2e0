"""Parameters as `satchel show` tells them."""

from typing import Any

import pytest

from satchel.cli.parameters import rows, show_parameters

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["filter"],
    "properties": {
        "filter": {
            "type": "object",
            "description": "What to look for",
            "required": ["state"],
            "properties": {"state": {"enum": [f"state-{number:02}" for number in range(20)]}},
        },
        "edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}},
        "parent": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
    },
    "$defs": {
        "Edit": {"type": "object", "properties": {"old": {"type": "string"}, "new": {"type": "string"}}},
        "Node": {"type": "object", "properties": {"parent": {"$ref": "#/$defs/Node"}}},
    },
}


def test_the_fields_of_nested_objects_stand_below_them() -> None:
    found = list(rows(SCHEMA, SCHEMA, "", 0))
    assert [(name, kind) for name, kind, _ in found if "state" not in name][:4] == [
        ("filter", "an object"),
        ("[edits]", "a list of objects"),
        ("  [old]", "a string"),
        ("  [new]", "a string"),
    ]
    assert found[0][2] == "What to look for"
    assert found[1][0] == "  state"
    assert len([name for name, _, _ in found if name.strip() == "[parent]"]) == 5  # and not without end


def test_a_pipe_gets_every_value(capsys: pytest.CaptureFixture[str]) -> None:
    show_parameters(SCHEMA, "  ")
    shown = capsys.readouterr().out
    assert "state-00, state-01" in shown
    assert "state-19" in shown
    assert "…" not in shown


def test_a_terminal_gets_as_much_as_fits_and_an_ellipsis(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    show_parameters(SCHEMA, "  ")
    row = next(line for line in capsys.readouterr().out.splitlines() if "state-00" in line)
    assert row.endswith("…")
    assert len(row) <= 120


def test_a_tool_without_parameters_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    show_parameters({"type": "object", "properties": {}}, "  ")
    show_parameters({"type": "string"}, "  ")
    assert capsys.readouterr().out == "  none\n  a string\n"


def test_a_schema_that_contains_itself_many_times_is_shown_in_part(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fields = {f"field-{number}": {"$ref": "#/$defs/Self"} for number in range(30)}
    loop = {"anyOf": [{"$ref": "#/properties/loop"}, {"$ref": "#/properties/loop"}]}
    record = {"type": "object", "properties": {"loop": loop, **fields}}
    show_parameters({**record, "$defs": {"Self": record}}, "")
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 201
    assert shown[-1] == "… and more; --json has the whole schema"
