"""The suite's own promises: skips have reasons, failures are retried alone, fixed sleeps are explained."""

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import FAST, SHARED
from tests.scale import FULL, scaled
from tests.unsteady import MOST, RECORD

ROOT = Path(__file__).resolve().parents[1]
WAIT = 120  # seconds; only a hang reaches it
# Without that of a package which takes seconds to load.
PLUGINS = ("-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin")
LONGEST_SLEEP = 0.3  # seconds that a test may sleep without a reason


def own_environment(**more: str) -> dict[str, str]:
    """Without the file in which the run that these tests are part of collects its own unsteady tests."""
    return {name: value for name, value in os.environ.items() if name != RECORD} | more


def run_pytest(directory: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of a directory under this suite's plugins, and nothing else of its settings."""
    command = [sys.executable, "-m", "pytest", *PLUGINS, "-ra"]
    temporary = (
        directory.parent / "temporary"
    )  # where several runs begin at once, one may not find a free name
    temporary.mkdir(exist_ok=True)
    return subprocess.run(
        [*command, f"--rootdir={directory}", "-c", "/dev/null", *options, str(directory)],
        cwd=ROOT,
        env=own_environment(PYTEST_DEBUG_TEMPROOT=str(temporary), **environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT,
    )


def run_skipped(directory: Path, reason: str) -> str:
    (directory / "test_one.py").write_text(f"import pytest\ndef test_one():\n    pytest.skip({reason!r})\n")
    return run_pytest(directory).stdout


@pytest.mark.slow
def test_skips_are_counted_and_their_reasons_printed(tmp_path: Path) -> None:
    output = run_skipped(tmp_path, "npm is not here")
    assert "1 skipped" in output
    assert "npm is not here" in output


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not here")
def test_a_test_of_the_shared_data_that_skips_although_it_is_here_fails(tmp_path: Path) -> None:
    assert "1 failed" in run_skipped(tmp_path, "../shared/data/realtools is not here")


# Tests that failed run once more, alone

FIRST_TIME = """
import os
import sys
from pathlib import Path

import pytest


def is_first(name):
    mark = Path(__file__).with_name(name)
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
"""
FAILING_ONCE = {
    "its assertion": "def test_it():\n    assert not is_first('mark'), 'beside others'\n",
    "its fixture": """
@pytest.fixture
def fixture():
    assert not is_first('mark'), 'beside others'


def test_it(fixture):
    pass
""",
    "the end of its fixture": """
@pytest.fixture
def fixture():
    yield
    assert not is_first('mark'), 'beside others'


def test_it(fixture):
    pass
""",
    "both": """
@pytest.fixture
def fixture():
    yield
    assert not is_first('ended'), 'at the end'


def test_it(fixture):
    assert not is_first('mark'), 'beside others'
""",
    "a crash": "def test_it():\n    if is_first('mark'):\n        os._exit(0)\n",
}
ALWAYS_FAILING = {
    "its assertion": "def test_it():\n    assert 'never' == 'always'\n",
    "its fixture": "@pytest.fixture\ndef fixture():\n    assert 0\n\n\ndef test_it(fixture):\n    pass\n",
    "a crash": "def test_it():\n    os._exit(0)\n",
}
GOOD = "def test_good():\n    pass\n"


def suite(directory: Path, **files: str) -> Path:
    """Test files, each of which can ask whether something happens for the first time."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, code in files.items():
        (directory / f"test_{name}.py").write_text(FIRST_TIME + code)
    return directory


def retry(directory: Path, **environment: str) -> tuple[int, str]:
    done = run_pytest(directory, "-n", "2", "--dist", "loadscope", "--retry-alone", **environment)
    return done.returncode, done.stdout


def last_line(output: str) -> str:
    return output.strip().splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "is_crash", [False, True]
)  # alone: xdist may hang if a worker ends before other files
def test_tests_that_pass_alone_are_told_as_unsteady_and_the_run_is_green(
    tmp_path: Path, is_crash: bool
) -> None:
    record = tmp_path / "record"
    codes = [code for name, code in FAILING_ONCE.items() if (name == "a crash") == is_crash]
    files = {f"unsteady{number}": code for number, code in enumerate(codes)}
    for name, code in files.items():  # each in a folder of its own, for its marks
        suite(tmp_path / "suite" / name, **{name: code})
    status, output = retry(suite(tmp_path / "suite", good=GOOD), **{RECORD: str(record)})
    assert status == 0, output
    tests = [f"{name}/test_{name}.py::test_it" for name in files]
    for test in tests:
        assert f"retried alone: {test} passed" in output
        assert output.count(f"\nUNSTEADY {test}\n") == 1
    assert "crashed" in output if is_crash else output.count("beside others") >= len(files)
    assert f"{len(files)} unsteady" in last_line(output)
    assert " passed" in last_line(output)
    assert "failed" not in last_line(output)
    assert "error" not in last_line(output)
    assert sorted(record.read_text().splitlines()) == tests


@pytest.mark.slow
@pytest.mark.parametrize("code", ALWAYS_FAILING.values(), ids=ALWAYS_FAILING)
def test_a_test_that_fails_again_keeps_the_run_red(tmp_path: Path, code: str) -> None:
    status, output = retry(suite(tmp_path, failing=code, good=GOOD))
    assert status == 1
    assert "retried alone: test_failing.py::test_it failed again" in output
    assert "1 passed" in last_line(output)
    # xdist gives a test that ends its worker to the next one.
    assert re.search(r"\d+ (failed|error)", last_line(output))
    assert "UNSTEADY" not in output
    assert "unsteady" not in last_line(output)


@pytest.mark.slow
def test_of_two_failures_the_one_that_passes_alone_is_unsteady_and_the_run_is_red(tmp_path: Path) -> None:
    suite(tmp_path, unsteady=FAILING_ONCE["its assertion"], failing=ALWAYS_FAILING["its assertion"])
    status, output = retry(tmp_path)
    assert status == 1
    assert "UNSTEADY test_unsteady.py::test_it" in output
    assert {"1 failed", "1 unsteady"} <= set(re.findall(r"\d+ \w+", last_line(output)))


@pytest.mark.slow
def test_tests_are_retried_one_at_a_time_by_their_whole_names(tmp_path: Path) -> None:
    names = ["a b::y", "[1]/q", "näme\nbreak"]
    code = f"""
@pytest.mark.parametrize("name", {names!r})
def test_it(name):
    assert not is_first(name.encode().hex())
    alone = Path(__file__).with_name("alone")
    alone.touch(exist_ok=False)
    alone.unlink()
"""
    status, output = retry(suite(tmp_path, names=code))
    assert status == 0, output
    assert f"{len(names)} unsteady" in last_line(output)


@pytest.mark.slow
def test_too_many_failures_are_not_retried(tmp_path: Path) -> None:
    code = f"""
@pytest.mark.parametrize("number", range({MOST + 1}))
def test_it(number):
    assert not is_first(str(number))
"""
    status, output = retry(suite(tmp_path, many=code))
    assert status == 1
    assert f"{MOST + 1} tests failed: too many to retry" in output
    assert f"{MOST + 1} failed" in last_line(output)


@pytest.mark.slow
def test_a_file_that_cannot_be_imported_is_not_retried(tmp_path: Path) -> None:
    status, output = retry(suite(tmp_path, broken="assert not is_first('mark')\n" + GOOD))
    assert status not in (0, 5)
    assert "retried" not in output
    assert "error" in last_line(output)


@pytest.mark.slow
def test_an_interrupted_run_ends_at_once(tmp_path: Path) -> None:
    code = "def test_it():\n    assert 0\ndef test_stop():\n    raise KeyboardInterrupt\n"
    done = run_pytest(suite(tmp_path, stopped=code), "--retry-alone")
    assert done.returncode == pytest.ExitCode.INTERRUPTED
    assert "retried" not in done.stdout


@pytest.mark.slow
def test_an_interrupted_retry_ends_at_once(tmp_path: Path) -> None:
    code = f"""
def test_it():
    if not is_first("mark"):
        os.kill(int(os.environ["SATCHEL_TEST_INTERRUPTED"]), {int(signal.SIGINT)})
        import time
        time.sleep({WAIT})
    assert 0
"""
    directory = suite(tmp_path, stopped=code)
    main = (
        "import os, pytest, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "os.environ['SATCHEL_TEST_INTERRUPTED'] = str(os.getpid())\n"
        "sys.exit(pytest.main(sys.argv[1:]))\n"
    )
    options = [*PLUGINS, "-c", "/dev/null", f"--rootdir={directory}"]
    done = subprocess.run(
        [sys.executable, "-c", main, *options, "--retry-alone", str(directory)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT / 2,
    )
    assert done.returncode != 0
    assert "passed" not in done.stdout


@pytest.mark.slow
def test_without_the_option_nothing_is_retried(tmp_path: Path) -> None:
    done = run_pytest(suite(tmp_path, unsteady=FAILING_ONCE["its assertion"]))
    assert done.returncode == 1
    assert "retried" not in done.stdout


# Tiers

PARTS = ("setup", "lint", "types", "layers", "fast", "test", "hostile", "sample")


def run_parts(directory: Path, **commands: str) -> tuple[int, str]:
    """The script of continuous integration, with other commands in the place of what it runs."""
    (directory / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", directory / ".ci" / "run")
    rules = [f"{part}:\n\t@{commands.get(part, f'echo ran {part}')}\n" for part in PARTS]
    (directory / "Makefile").write_text(f".PHONY: {' '.join(PARTS)}\n" + "".join(rules))
    done = subprocess.run(
        [directory / ".ci" / "run"], capture_output=True, text=True, check=False, timeout=WAIT
    )
    return done.returncode, done.stdout


def table(output: str) -> list[list[str]]:
    return [line.split() for line in output[output.index("\npart ") :].strip().splitlines()]


def test_each_part_is_timed_and_the_unsteady_tests_of_all_parts_come_last(tmp_path: Path) -> None:
    note = f"echo tests/test_%s.py::test_it >> $${RECORD}"
    status, output = run_parts(tmp_path, fast=note % "fast", hostile=note % "hostile")
    assert status == 0
    heading, *rows = table(output)
    assert heading == ["part", "seconds"]
    assert [row[0] for row in rows[: len(PARTS)]] == list(PARTS)
    assert all(len(row) == 2 and row[1].isdecimal() for row in rows[: len(PARTS)])
    assert rows[len(PARTS) :] == [
        ["unsteady:", "tests/test_fast.py::test_it"],
        ["unsteady:", "tests/test_hostile.py::test_it"],
    ]


def test_a_part_that_fails_ends_the_run_with_the_table(tmp_path: Path) -> None:
    status, output = run_parts(tmp_path, layers="exit 3")
    assert status != 0
    assert [row[0] for row in table(output)] == ["part", "setup", "lint", "types", "layers"]
    assert table(output)[-1][2:] == ["failed"]
    assert "ran fast" not in output


def test_the_parts_of_continuous_integration_are_targets() -> None:
    makefile = (ROOT / "Makefile").read_text()
    script = (ROOT / ".ci" / "run").read_text()
    assert f"for part in {' '.join(PARTS)}; do" in script
    for part in PARTS:
        assert re.search(rf"^{part}:", makefile, re.MULTILINE), part
    assert f"-m '{FAST}'" in makefile


def test_long_tests_do_a_sample_unless_all_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FULL, raising=False)
    assert scaled(8, 100) == 8
    monkeypatch.setenv(FULL, "1")
    assert scaled(8, 100) == 100


# Sleeps


def fixed_sleeps(source: str) -> Iterator[int]:
    """Lines of calls that sleep for a fixed time above the longest one."""
    if not re.search(r"\.sleep\(\s*[\d.]", source):
        return  # reading the text of all files is quick, parsing them is not
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="time" | "anyio" | "asyncio"), attr="sleep"),
                args=[ast.Constant(value=int() | float() as seconds)],
            ) if seconds > LONGEST_SLEEP:
                yield node.lineno
            case _:
                pass


def has_comment(lines: list[str], number: int) -> bool:
    """On that line, or on a line of its own above it."""
    return "#" in lines[number - 1] or (number > 1 and lines[number - 2].lstrip().startswith("#"))


def unexplained_sleeps(source: str) -> list[int]:
    lines = source.splitlines()
    return [number for number in fixed_sleeps(source) if not has_comment(lines, number)]


def test_a_fixed_sleep_has_a_reason_beside_it() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for number in unexplained_sleeps(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("time.sleep(1)", [1]),
        ("async def wait():\n    await anyio.sleep(0.5)", [2]),
        ("x = 1  # of something else\ntime.sleep(1)", [2]),
        ("time.sleep(1)  # until the lease ends", []),
        ("# Until the lease ends.\ntime.sleep(1)", []),
        ("time.sleep(0.3)", []),
        ("time.sleep(seconds)", []),
    ],
)
def test_a_fixed_sleep_without_a_reason_is_found(source: str, found: list[int]) -> None:
    assert unexplained_sleeps(source) == found
