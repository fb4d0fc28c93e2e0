"""The verbs for skills that agents save: save, test, check and promote, and what programs see of all skills.

What the code of a skill does, it does in the sandbox, with the rights of whoever uses it. Here it is text.
"""

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, to_thread

from satchel.catalog import Catalog
from satchel.config import Paths
from satchel.config.follow import LiveConfiguration
from satchel.config.settings import SkillsSettings
from satchel.errors import ArgumentError, NotAllowedError, NotFoundError, SatchelError
from satchel.library.saved.modules import Modules
from satchel.library.saved.naming import Language
from satchel.library.saved.shelf import Shelf, importable
from satchel.library.skills.walking import COMMUNITY
from satchel.model import Caller, Json, Tool

if TYPE_CHECKING:  # most programs save nothing, and should not wait for what that takes
    from satchel.library.saved.saved import Finding, SavedSkill
    from satchel.library.saved.saving import NewSkill
    from satchel.sandbox.sandbox import Workspace
    from satchel.search.documents import Document

_PATIENCE = 10.0  # seconds
_LANGUAGES: tuple[Language, ...] = ("python", "typescript")


class SavedSkills:
    """Skills as one project has them."""

    def __init__(self, paths: Paths, configuration: LiveConfiguration, catalog: Catalog) -> None:
        self._paths = paths
        self._live = configuration
        self._catalog = catalog
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
        return shelf_of(self._paths, self._live.now.settings.skills, agent)

    def shown_to(self, agent: str, workspace: "Workspace", language: Language) -> "Workspace":
        """A workspace with the skills that its agent's programs see, and those that they import."""
        visible = self.shelf(agent).visible(agent)
        folder = workspace.files.parent / "skills"
        modules = self._modules.update(folder, language, importable(visible, agent))
        return replace(workspace, skills=visible, modules=modules)

    def _update(self, agent: str, language: Language, shelf: Shelf) -> None:
        folder = self._paths.prepare_state() / "agents" / agent / "skills"
        self._modules.update(folder, language, importable(shelf.visible(agent), agent))

    async def save(self, new: "NewSkill") -> Json:
        """Save a program's text as a skill of an agent; its later programs can import it."""
        from satchel.library.saved.saving import save_skill

        self._live.agent(new.agent)
        self._paths.prepare_state()
        shelf, find_tool = self.shelf(), self._finder()

        def work() -> Json:
            with self._alone():
                saved = save_skill(shelf, new, find_tool)
                self._update(new.agent, new.language, shelf)
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

        self._live.agent(agent)
        self._paths.prepare_state()
        shelf = self.shelf()

        def work() -> "SavedSkill":
            with self._alone():
                saved = find_saved(shelf, name, agent)
                promote(shelf, saved, self._paths.extensions_file, force=force)
                for language in _LANGUAGES:
                    self._update(agent, language, shelf)
                return saved

        return await to_thread.run_sync(work, limiter=self._one_at_a_time)

    async def promote_for(self, caller: Caller, name: str) -> Json:
        """The same for a program, where its agent may."""
        self._refuse_readers(caller, "promote_skill")
        if not self._live.agent(caller.agent).promote_skills:
            hint = f"agents.{caller.agent}.promote_skills in satchel.yaml lets it"
            raise NotAllowedError(caller.agent, "promote_skill", hint=hint)
        saved = await self.promote(name, agent=caller.agent)
        return {"name": saved.name, "path": self._place(COMMUNITY, saved.name)}

    def check(self) -> "list[tuple[SavedSkill, dict[str, Finding]]]":
        """All saved skills, each with the tools that it calls and that have changed or gone."""
        from satchel.library.saved.saved import saved_skills, stale_tools

        find_tool, found = self._finder(), saved_skills(self.shelf())
        return [(saved, stale_tools(saved, find_tool, self._is_silent)) for saved in found]

    def find(self, name: str, agent: str) -> "SavedSkill":
        """One saved skill, by its name or `agent:name`."""
        from satchel.library.saved.saved import find_saved

        self._live.agent(agent)
        self._paths.prepare_state()
        return find_saved(self.shelf(), name, agent)

    def known_tool(self, name: str) -> Tool | None:
        """A tool of the catalog as it is now; nothing is started."""
        return self._finder()(name)

    def places(self, agent: str) -> "Mapping[str, Sequence[Document]]":
        """What an agent can search besides tools: its memory, and the skills that it sees."""
        from satchel.search.texts import documents_in

        base = self._live.now.settings.skills.container_path
        home = self._paths.prepare_state() / "agents" / agent
        return {
            "memory": documents_in(home / "memory", "/mnt/memory"),
            "skill": [
                document
                for category, path in self.shelf(agent).visible(agent).items()
                for document in documents_in(path, f"{base}/{category}", "SKILL.md")
            ],
        }

    def _is_silent(self, name: str) -> bool:
        return bool(self._catalog.silent(name))

    def _finder(self) -> Callable[[str], Tool | None]:
        """Finds a tool in the catalog as it is now, in any thread, and starts nothing."""
        known = self._catalog.snapshot.tool

        def find(name: str) -> Tool | None:
            try:
                return known(name)
            except NotFoundError:
                return None

        return find

    def _place(self, category: str, name: str) -> str:
        """Where programs find a skill's text."""
        return f"{self._live.now.settings.skills.container_path}/{category}/{name}/SKILL.md"

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
