"""Which process a row belongs to, and when it counts as gone."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from satchel.store.owners import Owner, _read_machine, current_owner, is_gone, is_gone_by_text

PRINT_OWNER = "from satchel.store.owners import current_owner; print(current_owner().text, flush=True)"
WAIT = 60  # seconds; only a hang reaches it

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")


def start_other() -> tuple["subprocess.Popen[str]", Owner]:
    """A process that waits until its input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", PRINT_OWNER + "; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Owner.from_text(process.stdout.readline())


def test_this_process_is_not_gone() -> None:
    owner = current_owner()

    assert owner.process == os.getpid()
    assert not is_gone(owner)
    assert Owner.from_text(owner.text) == owner


def test_another_process_is_gone_once_it_has_ended_and_even_before_its_parent_noticed() -> None:
    process, owner = start_other()
    with process:
        assert owner.process == process.pid
        assert not is_gone(owner)

        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it is dead, and stays a zombie
        zombie = is_gone(owner)
        process.wait(WAIT)

    assert zombie or not Path("/proc/self/stat").exists()
    assert is_gone(owner)


@needs_proc
def test_a_number_that_another_process_has_now_is_of_one_that_is_gone() -> None:
    owner = current_owner()
    assert owner.started is not None

    assert is_gone(replace(owner, started=owner.started - 1))


def test_what_ran_before_the_last_boot_is_gone() -> None:
    assert is_gone(replace(current_owner(), boot="another"))


def test_of_another_host_nothing_is_gone() -> None:
    elsewhere = replace(current_owner(), host="elsewhere")

    assert not is_gone(elsewhere)
    assert not is_gone(replace(elsewhere, boot="another", process=2**22 + 1, started=1))


@needs_proc
def test_a_container_of_the_same_name_is_another_host() -> None:
    assert os.readlink("/proc/self/ns/pid") in current_owner().host


def test_a_machine_of_the_same_name_is_another_host(tmp_path: Path) -> None:
    (tmp_path / "id").write_text("5c1f\n")

    assert _read_machine([str(tmp_path / "missing"), str(tmp_path / "id")]) == " 5c1f"
    assert _read_machine([str(tmp_path / "missing")]) == ""
    assert _read_machine() in current_owner().host


def test_an_owner_as_a_row_has_it_is_gone_or_not() -> None:
    assert not is_gone_by_text(current_owner().text)
    assert is_gone_by_text(replace(current_owner(), boot="before").text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nobody",
        "5",
        "[]",
        "[" * 100_000,
        "\ufffd",
        json.dumps([current_owner().host, "1/../1", 1, current_owner().boot]),
        json.dumps([current_owner().host, 2**70, None, current_owner().boot]),
    ],
    ids=range(8),
)
def test_an_owner_that_can_not_be_read_is_not_gone(text: str) -> None:
    assert not is_gone_by_text(text)


def test_what_can_not_be_read_about_is_asked_for_by_a_signal() -> None:
    """As where there is no /proc: the number alone decides."""
    never = replace(current_owner(), process=2**22 + 1, started=None)  # no kernel has that many

    assert is_gone(never)


def test_after_a_fork_the_owner_is_the_child() -> None:
    script = f"""
import os
{PRINT_OWNER}
if os.fork() == 0:
    {PRINT_OWNER}
    os._exit(0)
os.wait()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=WAIT, check=True
    )
    parent, child = (Owner.from_text(line) for line in done.stdout.splitlines())

    assert parent.process != child.process
    assert is_gone(child)
