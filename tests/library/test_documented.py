"""docs/skills.md against the program: rules, severities, keys and limits."""

import re
from pathlib import Path

from satchel.library import sources
from satchel.library.install import members, scan
from satchel.library.install.scan_rules import BY_FILE, FETCH_RULES, FILE_RULES, SCAN_RULES
from satchel.library.skills import bounded_yaml
from satchel.library.skills.lint import KEYS, RULES

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "skills.md").read_text()


def section(heading: str) -> str:
    return TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def test_exactly_the_strict_rules_and_the_keys_of_each_profile_are_documented() -> None:
    listed = [cells[0].strip("`") for cells in rows(section("The strict rules"))]
    assert listed == ["Rule", *(rule.name for rule in RULES), "Profile", *KEYS]
    profiles = section("The strict rules").split("| Profile |")[1]
    said = {cells[0].strip("`"): set(re.findall(r"`([\w-]+)`", cells[1])) for cells in rows(profiles)}
    assert said["spec"] == KEYS["spec"]
    assert said["claude"] == KEYS["claude"] - KEYS["spec"]
    assert said["deerflow"] - {"spec"} == KEYS["deerflow"] - KEYS["spec"]


def test_exactly_the_rules_of_the_scan_are_documented_with_their_severities() -> None:
    expected = {name: (code, text) for name, (code, text, _) in FETCH_RULES.items()}
    expected |= {rule.name: (rule.severity, rule.in_texts or rule.severity) for rule in SCAN_RULES}
    expected |= {name: (severity, severity) for name, (severity, _) in FILE_RULES.items()}
    listed = {cells[0].strip("`"): (cells[1], cells[2]) for cells in rows(section("The scan"))[1:]}
    assert listed == expected
    assert f"the first {scan.LARGEST_TEXT // scan.MIB} MiB of text" in section("The scan")
    assert f"and {scan.LARGEST_REST // scan.MIB} MiB of all else" in section("The scan")


def test_exactly_what_is_accepted_file_by_file_is_documented_as_that() -> None:
    lines = section("The scan").splitlines()
    assert {line.split("`")[1] for line in lines if "accepted by file" in line} == BY_FILE


def test_the_limits_of_what_is_read_are_documented() -> None:
    assert f"up to {bounded_yaml.DEEPEST} levels deep" in section("What is read")
    assert f"no more than {bounded_yaml.LARGEST:,}\ncharacters" in section("What is read")
    assert f"Programs see up to {sources.MOST_ALONE} folders" in section("Where they are")


def test_the_limits_of_what_is_installed_are_documented() -> None:
    text = section("Installing")
    assert f"| Archive | {members.SKILL.archive // members.MIB} MiB |" in text
    assert f"| Files | {members.SKILL.files:,} |" in text
    assert f"| One file | {members.SKILL.file // members.MIB} MiB |" in text
    assert f"| All files | {members.SKILL.total // members.MIB} MiB" in text
    assert f"| {members.LARGEST_RATIO} times as large" in text
    long = members.LONGEST_NAME
    assert f"| {long} and {2 * long} bytes, {members.DEEPEST} folders deep |" in text
