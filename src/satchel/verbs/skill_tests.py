"""Saved skills put to the test: their examples run as programs, live or from a recording."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from satchel.errors import ArgumentError
from satchel.model import (
    UNTRUSTED,
    Caller,
    CallTool,
    Execution,
    ExecutionRequest,
    Reads,
    Source,
    Tell,
    Tool,
    silent,
)
from satchel.verbs.executions import Executions
from satchel.verbs.requests import Reach
from satchel.verbs.saved_skills import SavedSkills

if TYPE_CHECKING:
    from satchel.library.saved.recording import Recorder, Recording
    from satchel.library.saved.saved import SavedSkill

Way = Literal["live", "record", "recorded"]
"""Where a test's calls go: to the servers; to the servers, and kept; to what was kept."""


@dataclass(frozen=True, kw_only=True)
class Tested:
    """What came of a test. It has passed if its example ended well, and called nothing that was not kept."""

    skill: "SavedSkill"
    execution: Execution
    missing: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.execution.exit_code == 0 and not self.missing


class SkillTests:
    """The tests of one open Satchel."""

    def __init__(self, saved_skills: SavedSkills, executions: Executions, call: CallTool) -> None:
        self._saved_skills = saved_skills
        self._executions = executions
        self._call = call

    async def run(
        self,
        name: str,
        *,
        agent: str = "default",
        way: Way = "live",
        timeout: float | None = None,
        tell: Tell = silent,
    ) -> Tested:
        """Run a skill's example as a program of the agent, and record how that ended."""
        # Few who open Satchel test a skill, and the others should not wait for this.
        from satchel.library.saved.recording import Recorder, read_recording
        from satchel.library.saved.saved import keep_outcome, write_test_file

        saved = self._saved_skills.find(name, agent)
        request = ExecutionRequest(
            code=_example(saved),
            language=saved.language,
            timeout=timeout,
            description=f"test of the skill {saved.identity}",
        )
        recording = read_recording(saved.recording) if way == "recorded" else None
        recorder = Recorder(self._call) if way == "record" else None
        caller = Caller(agent=agent, reads=_reads_of(saved))
        execution = await self._executions.run(
            request, caller, tell=tell, reach=self._reach(recording, recorder)
        )
        missing = tuple(recording.missing) if recording is not None else ()
        tested = Tested(skill=saved, execution=execution, missing=missing)
        if recorder is not None:
            write_test_file(saved, saved.recording.name, recorder.encoded())
        if self._saved_skills.find(name, agent).digest == saved.digest:  # else another has come meanwhile
            keep_outcome(saved, {"passed": tested.passed, "execution": execution.id, "way": way})
        return tested

    def _reach(self, recording: "Recording | None", recorder: "Recorder | None") -> Reach | None:
        if recorder is not None:
            return self._executions.reach(recorder.call)
        if recording is None:
            return None

        async def find_tool(name: str) -> Tool:
            return recording.tool(name, self._saved_skills.known_tool(name))

        return Reach(find_tool=find_tool, call=recording.call)


def _reads_of(saved: "SavedSkill") -> Reads:
    """A program saved it, and what is recorded came from servers: nobody knows what those had read."""
    reads = Reads()
    reads.add(Source(what=f"skill {saved.name}", labels=frozenset({UNTRUSTED})))
    return reads


def _example(saved: "SavedSkill") -> str:
    from satchel.library.saved.saved import read_example  # as above

    try:
        return read_example(saved)
    except (OSError, UnicodeDecodeError):
        raise ArgumentError(
            f"{saved.name} has no example that can be run: its function wants values",
            hint=f"write {saved.example}, a program that uses it",
        ) from None
