"""The logs of servers: what is in them, what is not, and how large they get."""

import multiprocessing
import time
from pathlib import Path

import anyio
import pytest

from satchel.config.entries import read_entry, resolve
from satchel.config.settings import ServersSettings
from satchel.upstream.logs import MAX_BYTES, ServerLogs, log_file, older, shown_command
from satchel.upstream.pool import open_pool
from tests.servers import raw
from tests.upstream.helpers import call, entry

SECRET = "canary-of-the-entry"
WRITTEN = {"command": "x", "args": ["--api-key", "canary-argument"], "env": {"TOKEN": SECRET}}
TARGET = resolve(read_entry("demo", WRITTEN, Path("file.json")), {})


def written(directory: Path, *chunks: bytes) -> str:
    logs = ServerLogs(directory)
    log = logs.open(TARGET, 7)
    for chunk in chunks:
        log.stderr(chunk)
    logs.close()
    return log_file(directory, "demo").read_text()


@pytest.mark.anyio
async def test_a_log_has_how_a_server_was_started_and_what_it_wrote(tmp_path: Path) -> None:
    server = entry("good", raw("good") | {"env": {"TOKEN": SECRET}}, tmp_path)
    async with open_pool(ServersSettings(), logs=tmp_path / "logs") as pool:
        with anyio.fail_after(60):
            await pool.send(server, call("good", "stderr", {"text": f"it is {SECRET}"}))
    text = log_file(tmp_path / "logs", "good").read_text()
    assert " - started: " in text
    assert "protocol 20" in text
    assert " | it is ***\n" in text
    assert " - ended: exit code 0\n" in text
    assert SECRET not in text


def test_no_secret_is_in_a_log_however_it_arrives(tmp_path: Path) -> None:
    half = len(SECRET) // 2
    text = written(
        tmp_path,
        f"whole {SECRET}\n".encode(),
        f"cut {SECRET[:half]}".encode(),
        f"{SECRET[half:]} here\nand canary-argument\n".encode(),
        b"y" * 16 * 1024 + SECRET[:half].encode(),
        f"{SECRET[half:]} at the end of a long line\nthe next line\n".encode(),
    )
    assert "whole ***" in text
    assert "cut *** here" in text
    assert "and ***" in text
    assert "the next line" in text
    assert "canary" not in text
    assert SECRET[half:] not in text


def test_the_command_line_is_shown_without_its_secrets() -> None:
    assert shown_command(TARGET) == "x --api-key '***'"


def test_a_log_makes_room_and_what_is_too_much_at_once_is_counted(tmp_path: Path) -> None:
    logs = ServerLogs(tmp_path)
    log = logs.open(TARGET, 7)
    for _ in range(100):
        log.stderr(b"x\n" * 32_000)  # short lines take most room: each has its time
    until = time.monotonic() + 60
    while logs._waiting and time.monotonic() < until:
        time.sleep(0.01)
    log.stderr(b"\nthe last\n")
    logs.close()
    file = log_file(tmp_path, "demo")
    files = [each for each in (file, older(file)) if each.exists()]
    assert max(each.stat().st_size for each in files) < 1.5 * MAX_BYTES
    assert {each.stat().st_mode & 0o777 for each in files} == {0o600}
    assert any("the last" in each.read_text() for each in files)
    assert any("lines came too fast and are left out" in each.read_text() for each in files)


def _write_many(directory: str, number: int) -> None:
    logs = ServerLogs(Path(directory))
    log = logs.open(TARGET, number)
    for index in range(300):
        log.stderr(f"process {number} line {index} {'z' * 200}\n".encode())
    logs.close()


@pytest.mark.slow
def test_processes_that_write_at_once_leave_whole_lines(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(str(tmp_path), number)) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    lines = log_file(tmp_path, "demo").read_text().splitlines()
    assert len(lines) == 900
    assert {line.split(" | ", 1)[1].split()[1] for line in lines} == {"0", "1", "2"}
    assert all(line.endswith("z" * 200) for line in lines)


def test_any_name_of_a_server_makes_a_file_in_the_directory(tmp_path: Path) -> None:
    for name in ("plain", "../../etc/passwd", "a/b", ".", "ü" * 300):
        assert log_file(tmp_path, name).parent == tmp_path
        assert len(log_file(tmp_path, name).name) < 100


def test_a_directory_that_can_not_be_written_to_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    logs = ServerLogs(tmp_path / "file" / "logs")
    logs.open(TARGET, 7).stderr(b"lost\n")
    logs.close()
