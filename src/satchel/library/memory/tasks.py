"""An agent's tasks: `current_task.yaml`, and those that are done in `completed_tasks`, newest last by name.

The agent's programs read and write these files too. So they are read by descriptors, never through a link,
and bounded; what can't be read is told and hides nothing else. What Satchel writes keeps keys that it doesn't
know.
"""

import os
import re
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from satchel.errors import SatchelError
from satchel.library.memory.places import COMPLETED_TASKS, CURRENT_TASK
from satchel.library.skills.bounded_yaml import load, plain
from satchel.model import Json, MemoryProblem, is_object
from satchel.support.files import private_directory

LARGEST = 64 * 1024  # bytes of a file that is read
_MOST_NAMES = 10_000  # files of completed tasks that are looked at
_MOST_PROBLEMS = 5
_LONGEST = 2_000  # characters of a text
_KINDS = (".yaml", ".yml", ".json")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ODD = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, kw_only=True)
class Task:
    """Something that an agent was asked to do. A program may have written any of it."""

    file: str  # below the tasks
    id: str = ""
    description: str = ""
    started_at: str = ""
    conversation: str = ""
    ended_at: str = ""
    status: str = ""
    outcome: str = ""


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """What an agent works on, and the last tasks that are done, newest first, of `completed_count`."""

    current: Task | None = None
    completed: tuple[Task, ...] = ()
    completed_count: int = 0
    problems: tuple[MemoryProblem, ...] = ()


def read_tasks(directory: Path, most: int = 5) -> Tasks:
    """The task that is current, and up to `most` of those that are done."""
    problems: list[MemoryProblem] = []
    completed: list[Task] = []
    current: Task | None = None
    names: list[str] = []
    try:
        with _opened(directory) as top:
            current = _task(top, CURRENT_TASK, CURRENT_TASK, problems)
            with suppress(FileNotFoundError), _opened(COMPLETED_TASKS, top) as done:
                names = _names(done)
                for name in names:
                    if len(completed) == most or len(problems) >= _MOST_PROBLEMS:
                        break
                    task = _task(done, name, f"{COMPLETED_TASKS}/{name}", problems)
                    completed += [task] if task is not None else []
    except FileNotFoundError:
        pass
    except OSError as error:
        problems.append(MemoryProblem(file=COMPLETED_TASKS, line=None, message=_reason(error)))
    return Tasks(
        current=current,
        completed=tuple(completed),
        completed_count=len(names),
        problems=tuple(problems),
    )


def begin_task(directory: Path, *, id: str, description: str, at: datetime, conversation: str = "") -> None:
    """Write the task that an agent begins. One that is there ends as interrupted."""
    private_directory(directory)
    with _told(directory), _opened(directory) as top:
        _end(top, {"status": "interrupted"}, at)
        values = {"id": id, "description": description, "started_at": _time(at), "conversation": conversation}
        _write(top, CURRENT_TASK, values)


def complete_task(
    directory: Path, *, status: str, outcome: str, at: datetime, conversation: str = ""
) -> Task | None:
    """Move the current task to those that are done, with its outcome; None where there is none.

    With `conversation`, only a task of that one.
    """
    with _told(directory), suppress(FileNotFoundError), _opened(directory) as top:
        return _end(top, {"status": status, "outcome": outcome}, at, conversation)
    return None


def _end(top: int, ending: Json, at: datetime, conversation: str = "") -> Task | None:
    try:
        values = _values(top, CURRENT_TASK)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):  # whatever a program has put there
        values = {}
    if conversation and values.get("conversation") != conversation:
        return None
    ended = {**values, "ended_at": _time(at), **ending}
    mark = _ODD.sub("-", _text(ended.get("id"))).strip("-")[:40] or secrets.token_hex(4)
    name = f"{at:%Y%m%dT%H%M%S}-{mark}.yaml"
    with suppress(FileExistsError):
        os.mkdir(COMPLETED_TASKS, 0o700, dir_fd=top)
        _give(top, os.open(COMPLETED_TASKS, _DIRECTORY, dir_fd=top), close=True)
    with _opened(COMPLETED_TASKS, top) as done:
        if name in os.listdir(done):
            name = f"{at:%Y%m%dT%H%M%S}-{mark}-{secrets.token_hex(4)}.yaml"
        _write(done, name, ended)
    try:
        os.unlink(CURRENT_TASK, dir_fd=top)
    except (IsADirectoryError, PermissionError):  # a program's folder of that name
        os.rename(CURRENT_TASK, f"{CURRENT_TASK}.{secrets.token_hex(4)}", src_dir_fd=top, dst_dir_fd=top)
    return _made(ended, f"{COMPLETED_TASKS}/{name}")


def _write(directory: int, name: str, values: Json) -> None:
    """Replace a file in one step."""
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
    temporary = f".{secrets.token_hex(8)}"  # no name of a task: those that are read have an ending
    descriptor = os.open(temporary, _WRITE, 0o644, dir_fd=directory)  # programs may run as another user
    try:
        with open(descriptor, "wb") as stream:
            _give(directory, descriptor)
            stream.write(text.encode("utf-8", "replace"))
            stream.flush()
            os.fsync(descriptor)
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise


def _give(directory: int, descriptor: int, *, close: bool = False) -> None:
    """Make what was made that of the directory's owner: programs may run as another user."""
    try:
        owner = os.fstat(directory)
        if owner.st_uid != os.geteuid():
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    finally:
        if close:
            os.close(descriptor)


def _task(directory: int, name: str, file: str, problems: list[MemoryProblem]) -> Task | None:
    try:
        return _made(_values(directory, name), file)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        line = getattr(error, "line", None)
        problems.append(
            MemoryProblem(file=file, line=None if line is None else line + 1, message=_reason(error))
        )
        return None


def _values(directory: int, name: str) -> Json:
    """What a file says, or OSError or ValueError."""
    descriptor = os.open(name, _READ, dir_fd=directory)
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a file")
        if status.st_size > LARGEST:
            raise OSError(f"it has more than {LARGEST // 1024} KiB")
        content = stream.read(LARGEST)
    values = plain(load(content.decode("utf-8-sig", "replace"))[0])
    if not is_object(values):
        raise ValueError("it has no keys and values")
    return values


def _made(values: Json, file: str) -> Task:
    known = {key: _text(values.get(key)) for key in Task.__dataclass_fields__ if key != "file"}
    return Task(file=file, **known)


def _text(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _names(directory: int) -> list[str]:
    """The files of tasks, newest first as their names sort."""
    names: list[str] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if len(names) == _MOST_NAMES:
                break
            if entry.name.endswith(_KINDS) and not entry.name.startswith("."):
                names.append(entry.name)
    return sorted(names, reverse=True)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error))[:200]


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


@contextmanager
def _opened(directory: Path | str, above: int | None = None) -> Generator[int]:
    descriptor = os.open(directory, _DIRECTORY, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _told(directory: Path) -> Generator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SatchelError(
            f"the tasks in {directory} can't be written: {_reason(error)}",
            hint=f"'{COMPLETED_TASKS}' in it must be a folder",
        ) from error
