"""An agent's tasks: written by Satchel and by programs, and read whatever programs have put there."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from satchel.errors import SatchelError
from satchel.library.memory.tasks import begin_task, complete_task, read_tasks

NOON = datetime(2026, 11, 19, 12, 0, tzinfo=UTC)


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return tmp_path / "tasks"


def test_a_task_is_begun_and_completed_and_its_file_has_time_and_id(tasks: Path) -> None:
    begin_task(tasks, id="t1", description="Write the report: ä", at=NOON, conversation="c1")
    current = read_tasks(tasks).current
    assert current is not None
    assert (current.id, current.description, current.conversation) == ("t1", "Write the report: ä", "c1")
    assert current.started_at == "2026-11-19T12:00:00+00:00"

    done = complete_task(tasks, status="done", outcome="It is sent.", at=NOON + timedelta(minutes=1))

    assert done is not None
    assert done.file == "completed_tasks/20261119T120100-t1.yaml"
    read = read_tasks(tasks)
    assert (read.current, read.completed, read.completed_count) == (None, (done,), 1)
    assert yaml.safe_load((tasks / done.file).read_text()) == {
        "id": "t1",
        "description": "Write the report: ä",
        "started_at": "2026-11-19T12:00:00+00:00",
        "conversation": "c1",
        "ended_at": "2026-11-19T12:01:00+00:00",
        "status": "done",
        "outcome": "It is sent.",
    }
    assert complete_task(tasks, status="done", outcome="", at=NOON) is None


def test_an_agent_without_tasks_has_none(tasks: Path) -> None:
    assert read_tasks(tasks).current is None
    assert complete_task(tasks, status="done", outcome="", at=NOON) is None
    assert not tasks.exists()


def test_a_task_that_begins_over_another_ends_that_as_interrupted(tasks: Path) -> None:
    begin_task(tasks, id="a", description="first", at=NOON)
    begin_task(tasks, id="b", description="second", at=NOON)
    begin_task(tasks, id="b", description="third", at=NOON)
    begin_task(tasks, id="b", description="fourth", at=NOON)

    read = read_tasks(tasks)
    assert read.current is not None
    assert read.current.description == "fourth"
    assert {(task.description, task.status) for task in read.completed} == {
        (text, "interrupted") for text in ("first", "second", "third")
    }


def test_keys_that_a_program_added_are_kept(tasks: Path) -> None:
    begin_task(tasks, id="a", description="first", at=NOON)
    with (tasks / "current_task.yaml").open("a") as file:
        file.write("steps: [one, {two: 2026-01-01}]\n")

    done = complete_task(tasks, status="done", outcome="", at=NOON)

    assert done is not None
    assert yaml.safe_load((tasks / done.file).read_text())["steps"] == ["one", {"two": "2026-01-01"}]


def test_an_id_can_not_lead_out_of_the_folder(tasks: Path) -> None:
    begin_task(tasks, id="../../x/ y", description="", at=NOON)
    done = complete_task(tasks, status="done", outcome="", at=NOON)

    assert done is not None
    assert done.file == "completed_tasks/20261119T120000-x-y.yaml"


def test_the_newest_of_many_are_read_and_all_are_counted(tasks: Path) -> None:
    (tasks / "completed_tasks").mkdir(parents=True)
    for number in range(12):
        (tasks / f"completed_tasks/2026-{number:02}.yaml").write_text(f"id: {number}\nstatus: done\n")
    (tasks / "completed_tasks/notes.txt").write_text("no task")

    read = read_tasks(tasks, most=3)
    assert [task.id for task in read.completed] == ["11", "10", "9"]
    assert read.completed_count == 12


@pytest.mark.parametrize(
    ("content", "line", "told"),
    [
        ("id: [", 2, ""),
        ("- a\n", None, "it has no keys and values"),
        ("id: " + "x" * 70_000, None, "more than 64 KiB"),
        ("[" * 1000, None, "nested"),
        (
            "b0: &b0 [x]\n" + "".join(f"b{n}: &b{n} [*b{n - 1}, *b{n - 1}]\n" for n in range(1, 30)),
            None,
            "aliases",
        ),
        ("id: !!python/object/apply:os.system [ls]", 1, ""),
    ],
)
def test_a_file_that_can_not_be_read_is_told_with_its_line_and_hides_no_other(
    tasks: Path, content: str, line: int | None, told: str
) -> None:
    (tasks / "completed_tasks").mkdir(parents=True)
    (tasks / "completed_tasks/a.yaml").write_text("id: fine\n")
    (tasks / "current_task.yaml").write_text(content)

    read = read_tasks(tasks)

    assert [task.id for task in read.completed] == ["fine"]
    (problem,) = read.problems
    assert (problem.file, problem.line) == ("current_task.yaml", line)
    assert told in problem.message


@pytest.mark.parametrize("name", ["current_task.yaml", "completed_tasks/a.yaml"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "device"])
def test_what_is_not_a_file_is_neither_read_nor_waited_for(tasks: Path, name: str, kind: str) -> None:
    (tasks / "completed_tasks").mkdir(parents=True)
    (tasks.parent / "secret.yaml").write_text("id: secret\n")
    place = tasks / name
    if kind == "link":
        place.symlink_to(tasks.parent / "secret.yaml")
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("/dev/zero")

    read = read_tasks(tasks)

    assert (read.current, read.completed) == (None, ())
    assert [problem.file for problem in read.problems] == [name]
    # Satchel's own task takes its place; nothing is written through it.
    begin_task(tasks, id="mine", description="", at=NOON)
    current = read_tasks(tasks).current
    assert current is not None
    assert current.id == "mine"
    assert (tasks.parent / "secret.yaml").read_text() == "id: secret\n"


def test_a_folder_that_is_a_link_is_not_followed(tasks: Path) -> None:
    elsewhere = tasks.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.yaml").write_text("id: secret\n")
    begin_task(tasks, id="a", description="", at=NOON)
    (tasks / "completed_tasks").symlink_to(elsewhere)

    assert read_tasks(tasks).completed == ()
    with pytest.raises(SatchelError, match="can't be written"):
        complete_task(tasks, status="done", outcome="", at=NOON)
    assert [path.name for path in elsewhere.iterdir()] == ["a.yaml"]


def test_texts_of_a_task_are_short(tasks: Path) -> None:
    tasks.mkdir()
    (tasks / "current_task.yaml").write_text(f"id: 7\ndescription: {'x' * 5000}\nstarted_at: 2026-11-19\n")

    current = read_tasks(tasks).current

    assert current is not None
    assert (current.id, current.started_at, len(current.description)) == ("7", "2026-11-19", 2001)
