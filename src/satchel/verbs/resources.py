"""Resources and prompts: read, followed, filled in, completed. All of it goes through the chain."""

from collections.abc import Mapping
from typing import Any

from satchel.calls.arguments import check_count
from satchel.errors import NotFoundError
from satchel.model import DEFAULT_CALLER, Call, Caller, CallTool, Json, Prompt, Resource, Tell, is_object
from satchel.names import closest
from satchel.verbs.servers import Servers


class Resources:
    """The resources and prompts of one open Satchel."""

    def __init__(self, servers: Servers, call: CallTool) -> None:
        self._servers = servers
        self._call = call

    async def read(self, server: str, uri: str, *, caller: Caller = DEFAULT_CALLER) -> Json:
        """The contents of one resource, as the server sends them."""
        return await self._ask(Call(what=self._resource(server, uri), caller=caller))

    async def follow(self, server: str, uri: str, *, tell: Tell, caller: Caller = DEFAULT_CALLER) -> None:
        """Tell when the server has agreed and whenever the resource has changed.

        Lasts until the server goes away or this is cancelled.
        """
        await self._call(Call(what=self._resource(server, uri), action="follow", caller=caller, tell=tell))

    async def prompt(
        self,
        server: str,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        caller: Caller = DEFAULT_CALLER,
    ) -> Json:
        """One prompt, filled in."""
        check_count(arguments or {})
        return await self._ask(
            Call(what=self._prompt(server, name), arguments=arguments or {}, caller=caller)
        )

    async def complete(self, server: str, parameters: Json, *, caller: Caller = DEFAULT_CALLER) -> Json:
        """Proposals for an argument of a prompt or a resource template, asked for as the protocol has it."""
        context = parameters.get("context")
        given = context.get("arguments") if is_object(context) else None
        check_count(given if is_object(given) else {})
        about = parameters.get("ref")
        reference: Mapping[str, Any] = about if is_object(about) else {}
        if reference.get("type") == "ref/prompt":
            found = self._servers.known().server(server)
            name, aliases = str(reference.get("name", "")), tuple(found.aliases)
            what = Prompt(server=found.name, name=name, aliases=aliases)
            named = {"type": "ref/prompt", "name": what.name}
        else:
            what = self._resource(server, str(reference.get("uri", "")))
            named = {"type": "ref/resource", "uri": what.uri}
        # A reference may name a prompt and a resource at once: only what permissions are checked for is sent.
        asked = {**parameters, "ref": named}
        return await self._ask(Call(what=what, action="complete", arguments=asked, caller=caller))

    async def _ask(self, call: Call) -> Json:
        return (await self._call(call)).structured

    def _resource(self, server: str, uri: str) -> Resource:
        """As the server lists it, or as one that it does not list: not all are."""
        found = self._servers.known().server(server)
        listed = (resource for resource in found.resources if resource.uri == uri)
        return next(listed, Resource(server=found.name, uri=uri, name=uri, aliases=tuple(found.aliases)))

    def _prompt(self, server: str, name: str) -> Prompt:
        found = self._servers.known().server(server)
        listed = {prompt.name: prompt for prompt in found.prompts}
        if listed and name not in listed:
            raise NotFoundError("prompt", f"{server}.{name}", closest=closest(name, list(listed)))
        return listed.get(name, Prompt(server=found.name, name=name, aliases=tuple(found.aliases)))
