"""Skills that agents save: saved, found, checked and promoted; and what programs see of all skills.

What the code of a skill does, it does in the sandbox, with the rights of whoever uses it. Here it is text.
"""

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.catalog import Catalog
from satchel.config import Paths
from satchel.config.follow import LiveConfiguration
from satchel.config.plugins.finding import plugins_root
from satchel.errors import ArgumentError, NotAllowedError, NotFoundError, SatchelError
from satchel.languages import LANGUAGES, Language, with_wrappers
from satchel.library.plugins.listing import PluginListing, Plugins
from satchel.library.saved.modules import Modules
from satchel.library.saved.places import make_places
from satchel.library.skills.finding import skills_of
from satchel.library.sources import COMMUNITY, Source, importable, mounts, project_root, sources
from satchel.model import Caller, ExecutionRecord, Json, Tool
from satchel.support.charging import apart
from satchel.support.files import private_directory
from satchel.verbs.programs.tracing import trace_skill

if TYPE_CHECKING:  # most programs save nothing, and should not wait for what that takes
    from satchel.library.saved.community import By
    from satchel.library.saved.saved import Finding, SavedSkill
    from satchel.library.saved.saving import NewSkill

_PATIENCE = 10.0  # seconds


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A saved skill, and the tools that it calls and that have changed or gone."""

    skill: "SavedSkill"
    findings: "dict[str, Finding]"


class SavedSkills:
    """Skills as one project has them."""

    def __init__(
        self,
        paths: Paths,
        configuration: LiveConfiguration,
        catalog: Catalog,
        plugins: PluginListing | None = None,
    ) -> None:
        self._plugins = plugins or PluginListing()
        self._paths = paths
        self._configuration = configuration
        self._catalog = catalog
        self._modules = Modules(paths.extensions_file)
        self._working = threading.Lock()

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Hold the one place in the thread itself: who asked may be cancelled, and the thread goes on."""
        if not self._working.acquire(timeout=_PATIENCE):
            raise SatchelError("another skill is being saved", hint="try again in a moment")
        try:
            yield
        finally:
            self._working.release()

    @property
    def root(self) -> Path:
        """Where people keep the project's skills. No program may be given it as a whole."""
        return project_root(self._paths, self._configuration.now.settings.skills)

    @property
    def roots(self) -> tuple[Path, ...]:
        """The same with where plugins are installed, whose texts models obey."""
        return self.root, plugins_root(self._paths, self._configuration.now.settings.plugins)

    def plugins(self) -> Plugins:
        """The plugins as they are now."""
        return self._plugins.now(self._paths, self._configuration.now.settings.plugins)

    def sources(self, agent: str | None = None) -> tuple[Source, ...]:
        """The folders of skills that an agent has; without one, all that there are."""
        plugins = self.plugins().sources
        return sources(self._paths, self._configuration.now.settings.skills, agent, plugins)

    def shown_to(self, agent: str, language: Language) -> tuple[Mapping[str, Path], Path]:
        """The skills that an agent's programs see, by category, and the folder of those that they import."""
        make_places(self._paths, agent)
        found = self.sources(agent)
        return mounts(found), self._update(agent, language, found)

    def _update(self, agent: str, language: Language, found: Sequence[Source]) -> Path:
        own = self._paths.prepare_state() / "agents" / agent
        for directory in (own.parent, own):  # which other users must not enter either
            private_directory(directory)
        return self._modules.update(own / "skills", language, importable(found))

    async def save(self, new: "NewSkill") -> Json:
        """Save a program's text as a skill of an agent; its later programs can import it."""
        # Imported late: most programs save nothing, and should not wait for it.
        from satchel.library.saved.saving import save_skill

        self._configuration.agent(new.agent)
        self._paths.prepare_state()
        find_tool = self._finder()

        def work() -> Json:
            with self._alone():
                saved = save_skill(self._paths, new, find_tool)
                self._update(new.agent, new.language, self.sources(new.agent))
                return saved

        saved = await apart(work)
        return {**saved, "path": self._place(new.agent, saved["name"])}

    async def save_program(
        self,
        record: ExecutionRecord,
        name: str,
        *,
        description: str = "",
        example: str = "",
        agent: str | None = None,
    ) -> Json:
        """Save a program of the journal; one that defines no function of the name becomes its body."""
        # Imported late: most programs save nothing, and should not wait for it.
        from satchel.library.saved.code import CODE
        from satchel.library.saved.naming import names_of
        from satchel.library.saved.saving import NewSkill

        language = with_wrappers(record.language)
        if language is None:
            raise ArgumentError(
                f"execution {record.id} is of the shell", hint="save a program in Python or TypeScript"
            )
        names = names_of(name, language)
        text = description or record.description
        if not text:
            raise ArgumentError(
                "a skill needs a description, by which it is found",
                hint='--description "what it does, and when"',
            )
        new = NewSkill(
            name=names.skill,
            code=CODE[language].wrap(record.program, names.function),
            description=text,
            agent=agent or record.agent,
            language=language,
            example=example,
            execution=record.id,
        )
        return await self.save(new)

    async def save_for(self, caller: Caller, params: Json) -> Json:
        """The same for a program, which has written everything in `params`."""
        # Imported late: most programs save nothing, and should not wait for it.
        from satchel.library.saved.saving import NewSkill

        self._refuse_readers(caller, "save_skill")
        texts = {key: params.get(key, "") for key in ("name", "code", "description")}
        texts |= {key: params[key] for key in ("language", "example") if params.get(key) is not None}
        for key, text in texts.items():
            if not isinstance(text, str):
                raise ArgumentError(f"'{key}' must be a text", argument=key)
        trace_skill(self._configuration.now, caller)
        given: dict[str, Any] = texts
        reads = caller.reads.sources if caller.reads is not None else ()
        new = NewSkill(**given, agent=caller.agent, execution=caller.execution, reads=reads)
        return await self.save(new)

    async def promote(
        self, name: str, *, agent: str = "default", force: bool = False, by: "By" = "person"
    ) -> "SavedSkill":
        """Copy a tested skill to the community, whose skills all agents can import."""
        # Imported late: most programs save nothing, and should not wait for it.
        from satchel.library.saved.community import Community, promote
        from satchel.library.saved.saved import find_saved

        self._configuration.agent(agent)
        self._paths.prepare_state()
        community = Community(paths=self._paths, settings=self._configuration.now.settings.skills)

        def work() -> "SavedSkill":
            with self._alone():
                if by == "person":
                    saved = self.find(name, agent)
                else:
                    saved = find_saved(self.sources(agent), name, agent)
                promote(community, saved, by=by, force=force)
                for language in LANGUAGES:
                    self._update(agent, language, self.sources(agent))
                return saved

        return await apart(work)

    async def promote_for(self, caller: Caller, name: str) -> Json:
        """The same for a program, where its agent may."""
        self._refuse_readers(caller, "promote_skill")
        if not self._configuration.agent(caller.agent).promote_skills:
            hint = f"agents.{caller.agent}.promote_skills in satchel.yaml lets it"
            raise NotAllowedError(caller.agent, "promote_skill", hint=hint)
        trace_skill(self._configuration.now, caller, for_all=True)
        saved = await self.promote(name, agent=caller.agent, by="agent")
        return {"name": saved.name, "path": self._place(COMMUNITY, saved.name)}

    def find(self, name: str, agent: str) -> "SavedSkill":
        """A skill that an agent saved, or one of the community, for a person: says what else there is."""
        # Imported late: most programs save nothing, and should not wait for it.
        from satchel.library.saved.saved import find_saved, saved_skills

        self._configuration.agent(agent)
        try:
            return find_saved(self.sources(agent), name, agent)
        except NotFoundError as error:
            for saved in saved_skills(self.sources()):
                if name == saved.name:
                    raise error.copy(hint=f"--agent {saved.category}, which has saved one") from None
            for skill in skills_of(self._paths, self._configuration.now.settings.skills):
                if name in (skill.name, skill.identity):
                    raise ArgumentError(
                        f"{skill.identity} was not saved by an agent: it has instructions, and no code to"
                        " import",
                        hint="satchel skills save makes a skill of a program that was run",
                    ) from None
            hint = f"satchel skills list --category {agent} has what that agent saved"
            raise error.copy(hint=error.hint or hint) from None

    def check(self) -> list[Checked]:
        """All saved skills, each with the tools that it calls and that have changed or gone."""
        # Imported late: most programs save nothing, and should not wait for it.
        from satchel.library.saved.saved import saved_skills, stale_tools

        find_tool, found = self._finder(), saved_skills(self.sources())
        return [
            Checked(skill=saved, findings=stale_tools(saved, find_tool, self._is_silent)) for saved in found
        ]

    def known_tool(self, name: str) -> Tool | None:
        """A tool of the catalog as it is now; nothing is started."""
        return self._finder()(name)

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
        return f"{self._configuration.now.settings.skills.container_path}/{category}/{name}/SKILL.md"

    def _refuse_readers(self, caller: Caller, verb: str) -> None:
        if caller.read_only:
            raise NotAllowedError(caller.agent, verb, why="this program may only read")
