"""The verbs for skills that agents save: save, test, check and promote, and what programs see of all skills.

What the code of a skill does, it does in the sandbox, with the rights of whoever uses it. Here it is text.
"""

import threading
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from anyio import CapacityLimiter, to_thread

from satchel.config import Configuration, Paths
from satchel.config.settings import AgentSettings, SkillsSettings
from satchel.errors import ArgumentError, NotAllowedError, NotFoundError, SatchelError
from satchel.execute import Caller, Verbs
from satchel.languages import LANGUAGES, Language
from satchel.library.saved.modules import Modules
from satchel.library.saved.shelf import Shelf, importable
from satchel.library.skills.walking import COMMUNITY
from satchel.model import Execution, Json, Tool
from satchel.support.files import private_directory

if TYPE_CHECKING:  # most programs save nothing, and should not wait for what that takes
    from satchel.library.saved.recording import Recording
    from satchel.library.saved.saved import Finding, SavedSkill
    from satchel.library.saved.saving import NewSkill

Execute = Callable[..., Awaitable[Execution]]
Way = Literal["live", "record", "recorded"]
"""Where a test's calls go: to the servers; to the servers, and kept; to what was kept."""
_PATIENCE = 10.0  # seconds


@dataclass(frozen=True, kw_only=True)
class Tested:
    """What came of a test. It has passed if its example ended well, and called nothing that was not kept."""

    skill: "SavedSkill"
    execution: Execution
    missing: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.execution.exit_code == 0 and not self.missing


class SavedSkills:
    """Skills as one project has them."""

    def __init__(
        self,
        paths: Paths,
        *,
        configuration: Callable[[], Configuration],
        known_tools: Callable[[], Callable[[str], Tool]],
        is_silent: Callable[[str], bool],
        agent_settings: Callable[[str], AgentSettings],
        execute: Execute,
    ) -> None:
        self._paths = paths
        self._configuration = configuration
        self._known_tools = known_tools
        self._is_silent = is_silent
        self._agent_settings = agent_settings
        self._execute = execute
        self._modules = Modules(paths.extensions_file)
        self._working = threading.Lock()
        self._one_at_a_time = CapacityLimiter(1)  # or a program that saves without end takes every thread

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Hold the one place in the thread itself: who asked may be cancelled, and the thread goes on."""
        if not self._working.acquire(timeout=_PATIENCE):
            raise SatchelError("another skill is being saved", hint="try again in a moment")
        try:
            yield
        finally:
            self._working.release()

    def shelf(self, agent: str | None = None) -> Shelf:
        return shelf_of(self._paths, self._configuration().settings.skills, agent)

    def shown_to(self, agent: str, language: Language) -> tuple[Mapping[str, Path], Path]:
        """The skills that an agent's programs see, by category, and the folder of those that they import."""
        visible = self.shelf(agent).visible(agent)
        return visible, self._update(agent, language, visible)

    def _update(self, agent: str, language: Language, visible: Mapping[str, Path]) -> Path:
        own = self._paths.prepare_state() / "agents" / agent
        for directory in (own.parent, own):  # which other users must not enter either
            private_directory(directory)
        return self._modules.update(own / "skills", language, importable(visible, agent))

    async def save(self, new: "NewSkill") -> Json:
        """Save a program's text as a skill of an agent; its later programs can import it."""
        from satchel.library.saved.saving import save_skill

        self._agent_settings(new.agent)
        self._paths.prepare_state()
        shelf, find_tool = self.shelf(), self._finder()

        def work() -> Json:
            with self._alone():
                saved = save_skill(shelf, new, find_tool)
                self._update(new.agent, new.language, shelf.visible(new.agent))
                return saved

        saved = await to_thread.run_sync(work, limiter=self._one_at_a_time)
        return {**saved, "path": self._place(new.agent, saved["name"])}

    async def save_for(self, caller: Caller, params: Json) -> Json:
        """The same for a program, which has written everything in `params`."""
        from satchel.library.saved.saving import NewSkill

        self._refuse_readers(caller, "save_skill")
        texts = {key: params.get(key, "") for key in ("name", "code", "description")}
        texts |= {key: params[key] for key in ("language", "example") if params.get(key) is not None}
        for key, text in texts.items():
            if not isinstance(text, str):
                raise ArgumentError(f"'{key}' must be a text", argument=key)
        given: dict[str, Any] = texts
        return await self.save(NewSkill(**given, agent=caller.agent, execution=caller.execution))

    async def promote(self, name: str, *, agent: str = "default", force: bool = False) -> "SavedSkill":
        """Copy a tested skill to the community, whose skills all agents can import."""
        from satchel.library.saved.saved import find_saved, promote

        self._agent_settings(agent)
        self._paths.prepare_state()
        shelf = self.shelf()

        def work() -> "SavedSkill":
            with self._alone():
                saved = find_saved(shelf, name, agent)
                promote(shelf, saved, self._paths.extensions_file, force=force)
                for language in LANGUAGES:
                    self._update(agent, language, shelf.visible(agent))
                return saved

        return await to_thread.run_sync(work, limiter=self._one_at_a_time)

    async def promote_for(self, caller: Caller, name: str) -> Json:
        """The same for a program, where its agent may."""
        self._refuse_readers(caller, "promote_skill")
        if not self._agent_settings(caller.agent).promote_skills:
            hint = f"agents.{caller.agent}.promote_skills in satchel.yaml lets it"
            raise NotAllowedError(caller.agent, "promote_skill", hint=hint)
        saved = await self.promote(name, agent=caller.agent)
        return {"name": saved.name, "path": self._place(COMMUNITY, saved.name)}

    async def test(self, name: str, *, agent: str = "default", way: Way = "live", **options: Any) -> Tested:
        """Run a skill's example as a program of the agent, and record how that ended."""
        from satchel.library.saved.recording import Recorder, read_recording
        from satchel.library.saved.saved import find_saved, keep_outcome, write_test_file

        self._agent_settings(agent)
        self._paths.prepare_state()
        saved = find_saved(self.shelf(), name, agent)
        example = _example(saved)
        recording = read_recording(saved.recording) if way == "recorded" else None
        recorders: list[Recorder] = []

        def answering(verbs: Verbs) -> Verbs:
            if recording is not None:
                return self._answered_by(recording, verbs)
            if way == "live":
                return verbs
            recorders.append(Recorder(verbs.call_tool))
            return replace(verbs, call_tool=recorders[0].call)

        execution = await self._execute(
            example,
            language=saved.language,
            agent=agent,
            description=f"test of the skill {saved.identity}",
            answering=answering,
            **options,
        )
        tested = Tested(
            skill=saved,
            execution=execution,
            missing=tuple(recording.missing) if recording is not None else (),
        )
        for recorder in recorders:
            write_test_file(saved, saved.recording.name, recorder.encoded())
        if (
            find_saved(self.shelf(), name, agent).digest == saved.digest
        ):  # else another one has come meanwhile
            keep_outcome(saved, {"passed": tested.passed, "execution": execution.id, "way": way})
        return tested

    def check(self) -> "list[tuple[SavedSkill, dict[str, Finding]]]":
        """All saved skills, each with the tools that it calls and that have changed or gone."""
        from satchel.library.saved.saved import saved_skills, stale_tools

        find_tool, found = self._finder(), saved_skills(self.shelf())
        return [(saved, stale_tools(saved, find_tool, self._is_silent)) for saved in found]

    def _answered_by(self, recording: "Recording", verbs: Verbs) -> Verbs:
        async def find_tool(name: str) -> Tool:
            return recording.tool(name, self._finder()(name))

        async def refuse(*_: object) -> Json:
            recording.missing.append("a resource or a prompt")
            raise ArgumentError("a recording has calls of tools only", hint="test it live")

        return replace(
            verbs, find_tool=find_tool, call_tool=recording.call, read_resource=refuse, get_prompt=refuse
        )

    def _finder(self) -> Callable[[str], Tool | None]:
        """Finds a tool in the catalog as it is now, in any thread, and starts nothing."""
        known = self._known_tools()

        def find(name: str) -> Tool | None:
            try:
                return known(name)
            except NotFoundError:
                return None

        return find

    def _place(self, category: str, name: str) -> str:
        """Where programs find a skill's text."""
        return f"{self._configuration().settings.skills.container_path}/{category}/{name}/SKILL.md"

    def _refuse_readers(self, caller: Caller, verb: str) -> None:
        if caller.read_only:
            raise NotAllowedError(caller.agent, verb, why="this program may only read")


def shelf_of(paths: Paths, settings: SkillsSettings, agent: str | None = None) -> Shelf:
    """Where a project has its skills, and those that the settings name besides."""
    root, user = paths.project / Path(settings.path).expanduser(), paths.user_config / "skills"
    private = paths.private
    if root.is_relative_to(user) or user.is_relative_to(root):
        root = paths.user_config / "saved"  # else everybody would see one agent's among the person's own
        private = ()
    others: dict[str, Path] = {}
    if settings.include:
        from satchel.library.skills.finding import skill_sources

        sources = skill_sources(paths, settings, agent)
        others = {
            source.category: source.root for source in sources if source.category and source.problem is None
        }
    return Shelf(root=root, user=user, state=paths.state / "skills", others=others, private=private)


def _example(saved: "SavedSkill") -> str:
    from satchel.library.saved.saved import read_example

    try:
        return read_example(saved)
    except (OSError, UnicodeDecodeError):
        raise ArgumentError(
            f"{saved.name} has no example that can be run: its function wants values",
            hint=f"write {saved.example}, a program that uses it",
        ) from None
