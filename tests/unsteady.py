"""`--retry-alone`: tests that failed beside others run once more, each alone.

A test that passes then is unsteady: the run stays green, and its end names the test and shows how it failed.
A test that fails again stays a failure. Not a way to live with unsteady tests: each is one to repair.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MOST = 20  # more failures have one cause, which isn't that tests ran beside others
RECORD = "SATCHEL_TEST_UNSTEADY"  # names the file in which .ci/run collects the unsteady tests of all parts

_Report = pytest.TestReport | pytest.CollectReport


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--retry-alone", action="store_true", help="run failed tests once more, each alone")


@pytest.hookimpl(trylast=True)  # when the workers have ended, and before the summary is printed
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    is_worker = hasattr(config, "workerinput")
    # An interrupted run ends with a code of its own.
    if is_worker or not config.option.retry_alone or session.exitstatus != pytest.ExitCode.TESTS_FAILED:
        return
    reporter = _reporter(config)
    failures = _failures(reporter)
    if any(isinstance(report, pytest.CollectReport) for report in failures):
        return  # whether a file can be imported does not depend on what runs beside it
    failed = list(dict.fromkeys(report.nodeid for report in failures))
    reporter.ensure_newline()
    if len(failed) > MOST:
        reporter.write_line(f"{len(failed)} tests failed: too many to retry")
        return
    unsteady = [test for test in failed if _passes_alone(config, reporter, test)]
    _move(reporter, unsteady)
    _record(unsteady)
    if unsteady == failed:
        session.exitstatus = pytest.ExitCode.OK


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    unsteady: list[_Report] = terminalreporter.stats.get("unsteady", [])
    if not unsteady:
        return
    terminalreporter.section("unsteady: these failed beside other tests, and passed alone", yellow=True)
    for report in unsteady:
        terminalreporter.section(report.nodeid, sep="_")
        terminalreporter.write_line(report.longreprtext)
        for title, text in report.sections:
            terminalreporter.section(title, sep="-")
            terminalreporter.write_line(text)
    for report in unsteady:
        terminalreporter.write_line(f"UNSTEADY {report.nodeid}")


def _reporter(config: pytest.Config) -> pytest.TerminalReporter:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    assert isinstance(reporter, pytest.TerminalReporter)
    return reporter


def _failures(reporter: pytest.TerminalReporter) -> list[_Report]:
    """Reports of tests and files that failed, and of fixtures that failed before or after a test."""
    return [*reporter.stats.get("failed", []), *reporter.stats.get("error", [])]


def _passes_alone(config: pytest.Config, reporter: pytest.TerminalReporter, test: str) -> bool:
    paths: list[str] = config.option.file_or_dir
    left_out = ("--retry-alone", *paths)
    options = [option for option in config.invocation_params.args if option not in left_out]
    file, colons, name = test.partition("::")
    done = subprocess.run(
        # One worker and not none: it reports a test that ends its own process.
        [sys.executable, "-m", "pytest", *options, "-n", "1", f"{config.rootpath / file}{colons}{name}"],
        cwd=config.invocation_params.dir,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    passed = done.returncode == pytest.ExitCode.OK
    reporter.write_line(f"retried alone: {test} {'passed' if passed else 'failed again'}")
    return passed


def _move(reporter: pytest.TerminalReporter, unsteady: list[str]) -> None:
    """Count these tests as unsteady, each once, and no longer as failed."""
    reports = _failures(reporter)
    for outcome in ("failed", "error"):
        remaining = [report for report in reporter.stats.pop(outcome, []) if report.nodeid not in unsteady]
        if remaining:  # an empty list would colour the summary red
            reporter.stats[outcome] = remaining
    if unsteady:
        first = [next(report for report in reports if report.nodeid == test) for test in unsteady]
        reporter.stats["unsteady"] = first


def _record(unsteady: list[str]) -> None:
    if path := os.environ.get(RECORD):
        with Path(path).open("a") as file:
            file.writelines(f"{test}\n" for test in unsteady)
