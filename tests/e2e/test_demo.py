"""The demo, as `make demo` runs it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RUNS = ("satchel run programs/quarterly_report.py", "satchel run --check programs/quarterly_report.ts")


def test_the_demo_sets_up_only_what_it_uses() -> None:
    root = EXAMPLES.parent
    planned = subprocess.run(
        ["make", "--always-make", "--dry-run", "demo"], cwd=root, capture_output=True, text=True, check=True
    ).stdout
    assert re.findall(r"requirements/\S+", planned) == ["requirements/demo.txt"]
    assert ".servers" not in planned and ".venv" not in planned
    locked = {
        name: set(re.findall(r"^\S+==\S+", (root / "requirements" / name).read_text(), re.MULTILINE))
        for name in ("demo.txt", "dev.txt")
    }
    assert locked["demo.txt"] < locked["dev.txt"]  # what is demonstrated is what was tested
    needed = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split(r"[<>=!~; ]", each)[0].lower() for each in needed}
    assert names <= {each.partition("==")[0].lower() for each in locked["demo.txt"]}


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(300)  # two dozen commands
def test_the_demo_does_the_job_in_both_languages_and_a_program_costs_a_model_a_fifth_at_most(
    tmp_path: Path,
) -> None:
    temporary, home = tmp_path / "tmp", tmp_path / "home"
    temporary.mkdir()
    home.mkdir()
    done = subprocess.run(
        ["bash", str(EXAMPLES / "demo.sh")],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "TMPDIR": str(temporary),
            "HOME": str(home),
        },
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    shown = re.sub(r"\x1b\[\d+m", "", done.stdout)
    assert list(temporary.iterdir()) == list(home.iterdir()) == []
    for line in (
        "$ satchel list",
        "Finding: Revenue grew 18.5% year over year to $48.72M; existing customers brought",
        "$ satchel generate",
    ):
        assert f"\n{line}" in shown, line
    assert "unknown argument 'chanel'" in done.stderr
    notes = [shows_the_job_done(shown, command) for command in RUNS]
    assert len(set(notes)) == 2  # each has made one of its own
    audited = shown.partition("$ satchel audit")[2].partition("$ satchel show-execution")[0]
    assert len(re.findall(r" (google-drive|salesforce|slack)\.\w+ +ok ", audited)) == 15  # five by hand
    timeline = shown.partition("\ncalls:\n")[2].partition("\n\n")[0]
    assert re.findall(r"\+[\d.]+ s +(\S+) +ok ", timeline) == [
        "google-drive.list_documents",
        "google-drive.get_document",
        "salesforce.get_record",
        "salesforce.add_note",
        "slack.post_message",
    ]
    totals = [int(total.replace(",", "")) for total in re.findall(r"([\d,]+)  tokens\n", shown)]
    direct, *programs = totals
    assert len(programs) == 2
    assert direct > 5 * max(programs)
    times = [f"{direct / program:.1f} times {letter}" for letter, program in zip("BC", programs, strict=True)]
    assert f"A is {' and '.join(times)}." in shown
    used = shown.partition("\n$ satchel run programs/use_skill.py\n")[2]
    note = re.search(r"^the skill noted 9 findings as (NOTE-\d+)$", used, re.MULTILINE)
    assert note and note[1] not in notes


def shows_the_job_done(shown: str, command: str) -> str:
    """The note that a program has made, if it printed and returned what it is to."""
    printed = shown.partition(f"\n$ {command}\n")[2].partition("\n\n")[0]
    found = re.fullmatch(
        r"Q3 2026 Quarterly Report: 105,909 characters, 9 findings\n"
        r"noted as (NOTE-\d+) at OPP-001, Meridian Health: framework contract\n"
        r"told #sales\n"
        r'result: \{"document": "doc-006", "note": "(NOTE-\d+)", "findings": 9\}',
        printed,
    )
    assert found, f"{command} printed: {printed}"
    assert found[1] == found[2]
    return found[1]
