"""Resources and prompts of all servers as those of one: listed where all tools are, found by name or URI."""

from collections.abc import Callable
from functools import cache, cached_property
from typing import TypeVar

from mcp.shared.uri_template import UriTemplate

from satchel.errors import NotFoundError
from satchel.model import Client, Json, Prompt, Resource, Server
from satchel.names import closest
from satchel.toolset import PATIENCE, still_listing
from satchel.verbs.satchel import Satchel

Found = TypeVar("Found")


class Offers:
    """The resources and prompts of one agent."""

    def __init__(self, satchel: Satchel, agent: str) -> None:
        self._permits = satchel.project.permits(agent)
        self._servers = [server for server in satchel.catalog.servers if server.state != "disabled"]

    def resources(self, *, templates: bool) -> list[Json]:
        """As their servers describe them. An address that two servers have is the first one's."""
        found: dict[str, Json] = {}
        for resource in self._resources:
            if resource.template == templates:
                found.setdefault(resource.uri, resource.definition)
        return list(found.values())

    def server_of(self, uri: str, *, suggest: bool = True) -> str:
        """Which server an address belongs to: it lists it, has a template for it, or alone has such ones."""
        if uri in self._listed:
            return self._listed[uri]
        for resource in self._templates:
            if resource.uri == uri or _fits(resource.uri, uri):
                return resource.server
        alike = self._schemes.get(uri.partition(":")[0], set())
        if len(alike) != 1:
            known = [resource.uri for resource in self._resources] if suggest else []
            raise NotFoundError("resource", uri[:200], closest=closest(uri[:200], known))
        return next(iter(alike))

    def prompts(self) -> list[Json]:
        return [{**prompt.definition, "name": name} for name, prompt in self._prompts().items()]

    def prompt(self, name: str) -> Prompt:
        """By its name here, or its own where only one server has it."""
        named = self._prompts()
        if name in named:
            return named[name]
        own = [prompt for prompt in named.values() if prompt.name == name]
        if len(own) != 1:
            raise NotFoundError("prompt", name[:200], closest=closest(name[:200], named))
        return own[0]

    @cached_property
    def _listed(self) -> dict[str, str]:
        """The server of each address; the first one's counts."""
        plain = [resource for resource in self._resources if not resource.template]
        return {resource.uri: resource.server for resource in reversed(plain)}

    @cached_property
    def _templates(self) -> list[Resource]:
        return [resource for resource in self._resources if resource.template]

    @cached_property
    def _schemes(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for resource in self._resources:
            found.setdefault(resource.uri.partition(":")[0], set()).add(resource.server)
        return found

    @cached_property
    def _resources(self) -> list[Resource]:
        return [
            resource for server in self._servers for resource in server.resources if self._permits(resource)
        ]

    def _prompts(self) -> dict[str, Prompt]:
        return {
            _prompt_name(server, prompt): prompt
            for server in self._servers
            for prompt in server.prompts
            if self._permits(prompt)
        }


async def find_offer(
    satchel: Satchel,
    offers: Callable[[], Offers],
    find: Callable[[Offers], Found],
    name: str = "",
    *,
    client: Client | None = None,
) -> Found:
    """What `find` finds, if need be after servers that nothing is known of yet have been listed."""
    try:
        return find(offers())
    except NotFoundError:
        await satchel.servers.list_new(PATIENCE, satchel.catalog.servers_of([name]), client=client)
    try:
        return find(offers())
    except NotFoundError as error:
        hint = still_listing(satchel.servers.being_listed, error.hint) or None
        raise NotFoundError(error.kind, error.name, closest=error.closest, hint=hint) from None


def _prompt_name(server: Server, prompt: Prompt) -> str:
    return f"{server.spelling.wire}__{prompt.name}"


@cache
def _template(text: str) -> UriTemplate | None:
    try:
        return UriTemplate.parse(text)
    except ValueError:
        return None


def _fits(template: str, uri: str) -> bool:
    parsed = _template(template)
    return parsed is not None and parsed.match(uri) is not None
