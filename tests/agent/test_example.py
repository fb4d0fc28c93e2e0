"""The running example and its sisters, done by an agent over a model: in each mode, with real services."""

from pathlib import Path

import anyio
import pytest
from bench.agent.playing import SCRIPTED, Played, before, open_place, play_scripts
from bench.agent.scripts import MODES, is_done
from bench.context.tasks import EXAMPLE, TASKS, Task
from bench.surroundings import Home, temporary_home

from satchel.config.agents import Mode
from tests.agent.wires import scripted_model

pytestmark = pytest.mark.slow

DIRECT = [
    "google_drive__list_documents",
    "google_drive__get_document",
    "salesforce__get_record",
    "salesforce__add_note",
    "slack__post_message",
]
CALLS: dict[Mode, list[str]] = {
    "code": ["search_tools"] * 3 + ["execute_code"] * 2,
    "search": ["search_tools"] * 3 + ["call_tool"] * 5,
    "direct": DIRECT,
}


@pytest.fixture(scope="module")
def played() -> dict[tuple[str, Mode], Played]:
    """Every task in every mode, by a model that makes no mistakes."""
    with temporary_home() as home:
        return anyio.run(_play_all, home)


async def _play_all(home: Home) -> dict[tuple[str, Mode], Played]:
    async with scripted_model([]) as model, open_place(home, {SCRIPTED: model.settings()}) as satchel:
        return {
            (task.name, mode): await play_scripts(satchel, home, model, task, mode)
            for task in TASKS
            for mode in MODES
        }


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_task_is_done_in_every_mode(played: dict[tuple[str, Mode], Played], task: Task, mode: Mode) -> None:
    one = played[task.name, mode]
    assert one.ended == "answered" and one.done, one.answer
    assert one.answer == played[task.name, "direct"].answer, "the user is told the same"


@pytest.mark.parametrize("mode", MODES)
def test_turns_and_calls_of_the_running_example(played: dict[tuple[str, Mode], Played], mode: Mode) -> None:
    one = played[EXAMPLE.name, mode]
    assert list(one.calls) == CALLS[mode]
    assert one.turns == len(one.sent) == {"code": 4, "search": 7, "direct": 6}[mode]


def test_programs_keep_the_report_out_of_what_the_model_reads(
    played: dict[tuple[str, Mode], Played],
) -> None:
    code, search, direct = (played[EXAMPLE.name, mode] for mode in MODES)
    assert code.read < 0.15 * direct.read and code.read < 0.15 * search.read
    assert before(code.sent[0]) < 0.5 * before(direct.sent[0])


def test_no_task_counts_as_done_before_it_is(tmp_path: Path) -> None:
    for task in TASKS:
        assert not is_done(task, tmp_path, "Done.")
