"""The settings of flows, in each form in which they can be written, and what is refused."""

from pathlib import Path

import pytest

from satchel.config.control.flows import FlowRule
from satchel.config.schemas import schema_of
from satchel.config.settings import read_settings
from satchel.errors import ConfigError

RULES = """
- { from: untrusted, to: egress, then: ask }
- from: [crm, hr.get_*]
  to: slack
  then: deny
  same_server: true
"""
READ = (
    FlowRule(sources=("untrusted",), sinks=("egress",), then="ask"),
    FlowRule(sources=("crm", "hr.get_*"), sinks=("slack",), then="deny", same_server=True),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "satchel.yaml"


@pytest.mark.parametrize("text", ["flows:\n  files: ignore\n  rules:{}", "flows:{}"], ids=["section", "list"])
def test_rules_are_a_list_of_their_own_or_in_a_section(file: Path, text: str) -> None:
    step = "\n    " if "rules" in text else "\n  "
    file.write_text(text.format(RULES.replace("\n", step).rstrip()))
    flows = read_settings(file).flows
    assert flows.rules == READ
    assert flows.files == ("ignore" if "files" in text else "track")


@pytest.mark.parametrize(
    ("rule", "reason", "hint"),
    [
        (
            "{ from: untrustd, to: egress, then: ask }",
            "unknown label 'untrustd'",
            "did you mean 'untrusted'?",
        ),
        ("{ from: Sensitive, to: slack, then: ask }", "unknown label 'Sensitive'", "'Sensitive.*'"),
        ("{ from: crm, to: write, then: ask }", "unknown effect or label 'write'", "did you mean 'writes'?"),
        ("{ from: egress, to: slack, then: ask }", "stands in 'to'", "untrusted, sensitive, private"),
        ("{ from: [], to: slack, then: ask }", "'from' names nothing", "a pattern server.tool"),
        ("{ from: 'crm|hr', to: slack, then: ask }", "'|' has no meaning in one", "'*' is any text"),
        ("{ from: crm, to: slack, then: block }", "it can be allow, ask, deny", None),
        ("{ from: crm, to: slack }", "has no 'then'", None),
        ("{ from: crm, too: slack, then: ask }", "unknown key 'flows.rules.1.too'", "did you mean 'to'?"),
    ],
)
@pytest.mark.parametrize("form", ["flows:\n  rules:\n    - {}\n    - {}\n", "\nflows:\n  - {}\n  - {}\n"])
def test_a_rule_that_means_nothing_is_refused_with_its_line_and_a_hint(
    file: Path, form: str, rule: str, reason: str, hint: str | None
) -> None:
    file.write_text(form.format("{ from: crm, to: slack, then: allow }", rule))
    with pytest.raises(ConfigError) as caught:
        read_settings(file)
    assert caught.value.line == 4
    assert reason in caught.value.message
    assert hint is None or hint in str(caught.value.hint)


@pytest.mark.parametrize("name", ["slack", "mail", "github", "jira", "notion", "crm", "drive", "web", "hr"])
def test_the_names_of_servers_are_not_taken_for_labels(file: Path, name: str) -> None:
    file.write_text(f"flows: [{{ from: {name}, to: {name}, then: ask }}]")
    assert read_settings(file).flows.rules[0].sources == (name,)


def test_a_server_that_is_called_like_a_label_can_be_named_by_a_pattern(file: Path) -> None:
    file.write_text("flows: [{ from: untrustd.*, to: Egress.*, then: ask }]")
    assert read_settings(file).flows.rules[0].sinks == ("Egress.*",)


def test_the_schema_for_editors_knows_the_keys_as_they_are_written() -> None:
    flows = schema_of("satchel")["properties"]["flows"]["anyOf"][0]
    rule = flows["properties"]["rules"]["items"]["anyOf"][0]
    assert rule["required"] == ["from", "to", "then"]
    assert rule["properties"]["from"]["anyOf"][0] == {"type": "string"}
