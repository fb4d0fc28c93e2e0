"""The demo, as `make demo` runs it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(300)  # two dozen commands
def test_the_demo_does_the_whole_job_and_a_program_costs_a_model_a_fifth_at_most(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = subprocess.run(
        ["bash", str(EXAMPLES / "demo.sh")],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "TMPDIR": str(temporary),
        },
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    shown = re.sub(r"\x1b\[\d+m", "", done.stdout)
    assert list(temporary.iterdir()) == []
    for line in (
        "$ satchel list",
        "Finding: Revenue grew 18.5% year over year to $48.72M; existing customers brought",
        "$ satchel generate",
        "Q3 2026 Quarterly Report: 105,909 characters, 9 findings",
        "told #sales",
    ):
        assert f"\n{line}" in shown, line
    assert 'result: {"document": "doc-006", "note": "NOTE-' in done.stderr
    assert "unknown argument 'chanel'" in done.stderr
    audited = shown.partition("$ satchel audit")[2].partition("$ satchel show-execution")[0]
    assert len(re.findall(r" (google-drive|salesforce|slack)\.\w+ +ok ", audited)) == 10  # five by hand
    timeline = shown.partition("\ncalls:\n")[2].partition("\n\n")[0]
    assert re.findall(r"\+[\d.]+ s  (\S+) +ok ", timeline) == [
        "google-drive.list_documents",
        "google-drive.get_document",
        "salesforce.get_record",
        "salesforce.add_note",
        "slack.post_message",
    ]
    direct, program = (int(total.replace(",", "")) for total in re.findall(r"([\d,]+)  tokens\n", shown))
    assert direct > 5 * program
    assert f"A is {direct / program:.1f} times B." in shown
