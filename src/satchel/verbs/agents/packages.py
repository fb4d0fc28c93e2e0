"""Skill packages resolved against the catalog, and resources found by their addresses alone.

The catalog's definition of a tool counts, never the package's, which could describe `delete_all` as harmless.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from satchel.calls.policy import fits, is_allowed
from satchel.catalog import Snapshot
from satchel.catalog.states import sentence, shows_no_tools
from satchel.config import Configuration
from satchel.config.agents import AgentSettings
from satchel.config.settings import find_agent
from satchel.errors import ArgumentError, NotFoundError
from satchel.library.commands.places import with_places
from satchel.library.commands.reading import places_for
from satchel.library.skills.contents import instructions_of
from satchel.library.skills.packages import is_package, package_of
from satchel.model import Package, PackagePart, Prompt, Resource, Server, Skill, SkillContext, Tool
from satchel.names import closest
from satchel.verbs.skills import ShownSkills

_EXPRESSION = re.compile(r"\{[^{}]*\}")  # of a resource template
_SHOWN = 200  # characters of a name that can't be found


class SkillPackages:
    """The packages among an agent's skills. Everything that they name is looked up anew each time."""

    def __init__(
        self,
        configuration: Callable[[], Configuration],
        skills: ShownSkills,
        known: Callable[[], Snapshot],
    ) -> None:
        self._configuration = configuration
        self._skills = skills
        self._known = known

    def any(self, agent: str) -> bool:
        """Whether a model that works as this agent can be sent into a context of its own."""
        return any(map(is_package, self._skills.told(agent)))

    def has(self, skill: Skill) -> bool:
        return is_package(skill)

    def read(self, skill: Skill) -> Package | None:
        """What the files of a skill ask for; None for a plain skill."""
        return package_of(skill)

    def context(self, skill: Skill, agent: str) -> SkillContext:
        """What a specialist works with. For a plain skill that is its text alone."""
        package, settings = package_of(skill) or Package(), self._agent(agent)
        finding = _Finding(self._known(), settings)
        tools = [tool for part in package.tools if (tool := finding.tool(part)) is not None]
        resources = [found for part in package.resources if (found := finding.resource(part)) is not None]
        prompts = [found for part in package.prompts if (found := finding.prompt(part)) is not None]
        return SkillContext(
            skill=skill,
            persona=with_places(instructions_of(skill), places_for(skill, self._skills.base)),
            tools=tuple({tool.qualified_name: tool for tool in tools}.values()),
            resources=tuple(resources),
            prompts=tuple(prompts),
            missing=(*finding.missing, *package.problems),
            differing=tuple(finding.differing),
        )

    def resource(self, uri: str, agent: str, server: str = "") -> Resource:
        """The resource of an address: of the one server that lists it, or whose template it fits."""
        snapshot, settings = self._known(), self._agent(agent)
        if server:
            return _resource_of(snapshot.server(server), uri)
        found = list(_listing(snapshot.servers, uri)) or list(_fitting(snapshot.servers, uri))
        allowed = [resource for resource in found if _may_use(settings, resource)] or found
        if len(allowed) == 1:
            return allowed[0]
        if not allowed:
            known = [resource.uri for each in snapshot.servers for resource in each.resources]
            raise NotFoundError("resource", uri[:_SHOWN], closest=closest(uri, known))
        names = " or ".join(dict.fromkeys(resource.server for resource in allowed))
        raise ArgumentError(
            f"{len(allowed)} servers have {uri[:_SHOWN]}", argument="server", hint=f"add server: {names}"
        )

    def universal_tools(self, agent: str) -> list[Tool]:
        """The tools of servers that the router is shown, and that every specialist inherits."""
        settings = self._agent(agent)
        return [
            tool
            for server in self._known().servers
            if server.state != "disabled"
            for tool in server.tools
            if _may_use(settings, tool) and _fits_any(settings.universal_tools, tool)
        ]

    def global_resources(self, agent: str) -> list[Resource]:
        """The same for resources: the settings name them by their addresses, or by patterns."""
        settings = self._agent(agent)
        return [
            resource
            for server in self._known().servers
            if server.state != "disabled"
            for resource in server.resources
            if _may_use(settings, resource)
            and (
                any(fits(pattern, resource.uri) for pattern in settings.global_resources)
                or _fits_any(settings.global_resources, resource)
            )
        ]

    def _agent(self, name: str) -> AgentSettings:
        return find_agent(self._configuration().settings, name)


class _Finding:
    """Looks up parts of one package, and notes why some can't be had."""

    def __init__(self, snapshot: Snapshot, agent: AgentSettings) -> None:
        self._snapshot = snapshot
        self._agent = agent
        self.missing: list[str] = []
        self.differing: list[str] = []

    def tool(self, part: PackagePart) -> Tool | None:
        try:
            found = self._tool(part)
        except NotFoundError as error:
            self._lack(part, error.hint or "no server has it")
            return None
        if not _may_use(self._agent, found):
            self._lack(part, "the agent may not call it")
            return None
        if part.description and part.description.strip() != found.description.strip():
            self.differing.append(found.qualified_name)
        return found

    def _tool(self, part: PackagePart) -> Tool:
        if part.server:
            server = self._snapshot.server(part.server)
            return _named(server.tools, part, server)
        if self._snapshot.has_tool(part.name):
            return self._snapshot.tool(part.name)
        named = [tool for tool in self._snapshot.tools if tool.name == part.name]
        if len(named) == 1:
            return named[0]
        servers = " and ".join(tool.server for tool in named)
        hint = f"{servers} have a tool of this name; add 'server'" if named else "no server has it"
        raise NotFoundError("tool", part.name, hint=hint)

    def resource(self, part: PackagePart) -> Resource | None:
        servers: Iterable[Server] = self._snapshot.servers
        if part.server:
            try:
                servers = (self._snapshot.server(part.server),)
            except NotFoundError:
                self._lack(part, f"there is no server '{part.server}'")
                return None
        found = list(_listing(servers, part.name)) or list(_fitting(servers, part.name))
        allowed = [resource for resource in found if _may_use(self._agent, resource)]
        if len(allowed) == 1:
            return allowed[0]
        if allowed:
            names = " and ".join(resource.server for resource in allowed)
            self._lack(part, f"{names} have this resource; add 'server'")
        else:
            self._lack(part, "the agent may not read it" if found else "no server lists it")
        return None

    def prompt(self, part: PackagePart) -> Prompt | None:
        found = [
            prompt
            for server in self._snapshot.servers
            if not part.server or part.server in server.spellings
            for prompt in server.prompts
            if prompt.name == part.name
        ]
        if len(found) == 1 and _may_use(self._agent, found[0]):
            return found[0]
        if len(found) > 1:
            names = " and ".join(prompt.server for prompt in found)
            self._lack(part, f"{names} have a prompt of this name; add 'server'")
        else:
            self._lack(part, "the agent may not use it" if found else "no server has it")
        return None

    def _lack(self, part: PackagePart, reason: str) -> None:
        self.missing.append(f"{part.label[:_SHOWN]}: {reason}")


def _named(tools: Iterable[Tool], part: PackagePart, server: Server) -> Tool:
    found = next((tool for tool in tools if part.name in (tool.name, *tool.wire_names)), None)
    if found is None:
        hint = sentence(server) if shows_no_tools(server) else f"{server.name} has no such tool"
        raise NotFoundError("tool", part.label, hint=hint)
    return found


def _listing(servers: Iterable[Server], uri: str) -> Iterator[Resource]:
    for server in servers:
        yield from (found for found in server.resources if found.uri == uri)


def _fitting(servers: Iterable[Server], uri: str) -> Iterator[Resource]:
    """The address itself as a resource of each server that has a template for it."""
    for server in servers:
        templates = (found.uri for found in server.resources if found.template)
        if any(fits(_EXPRESSION.sub("*", template), uri) for template in templates):
            yield _resource_of(server, uri)


def _resource_of(server: Server, uri: str) -> Resource:
    """As the server lists it, or as one that it does not list: not all are."""
    listed = (resource for resource in server.resources if resource.uri == uri)
    return next(listed, Resource(server=server.name, uri=uri, name=uri, aliases=tuple(server.aliases)))


def _may_use(agent: AgentSettings, what: Tool | Resource | Prompt) -> bool:
    return is_allowed(agent, what.server, what.label, what.aliases)


def _fits_any(patterns: Iterable[str], what: Tool | Resource) -> bool:
    names = [f"{server}.{what.label}" for server in (what.server, *what.aliases)]
    if isinstance(what, Tool):
        names += what.wire_names
    return any(fits(pattern, name) for pattern in patterns for name in (*names, what.server))
