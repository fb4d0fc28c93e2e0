"""The lists that clients have seen, and notifications when they change."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)

from satchel.errors import NotFoundError
from satchel.server.commands import CommandOffers
from satchel.server.offers import Offers
from satchel.server.skills import SkillOffers
from satchel.toolset import Toolset
from satchel.verbs.satchel import Satchel

_MOST = 1_000

Key = tuple[str, str]
"""An agent, and the name of a client."""


@dataclass(kw_only=True)
class View:
    toolset: Toolset
    tools: object
    resources: object
    prompts: object
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)


class Views:
    """One for each kind of client there is."""

    def __init__(self, satchel: Satchel, make: Callable[[Key], Toolset]) -> None:
        self._satchel = satchel
        self._make = make
        self._views: dict[Key, View] = {}
        self._seen: tuple[object, object, object] = (None, None, None)

    def view(self, key: Key) -> View:
        if key not in self._views:
            if len(self._views) >= _MOST:  # clients can call themselves anything
                self._views = {name: view for name, view in self._views.items() if view.bus._listeners}
            toolset = self._make(key)
            resources, prompts = self._offers(toolset)
            view = self._views[key] = View(
                toolset=toolset, tools=toolset.fingerprint(), resources=resources, prompts=prompts
            )
            toolset.active.tell = partial(self._publish, view, ToolsListChanged())
        return self._views[key]

    def _publish(self, view: View, event: ServerEvent) -> None:
        self._satchel.tasks.start_soon(view.bus.publish, event)

    async def look(self) -> bool:
        """Notify clients that see something else than before. Whether anything has changed at all."""
        self._satchel.project.follow()
        seen = (self._satchel.catalog, self._satchel.configuration, self._satchel.skills.stamp())
        if seen[0] is self._seen[0] and seen[1] is self._seen[1] and seen[2] == self._seen[2]:
            return False
        self._seen = seen
        for key, view in list(self._views.items()):
            try:
                events = self._changes(view)
            except NotFoundError:  # there is no such agent any more
                del self._views[key]
                continue
            for event in events:
                await view.bus.publish(event)
        return True

    def _changes(self, view: View) -> list[ServerEvent]:
        before = view.tools, view.resources, view.prompts
        view.tools = view.toolset.fingerprint()
        view.resources, view.prompts = self._offers(view.toolset)
        events: tuple[ServerEvent, ...] = (ToolsListChanged(), ResourcesListChanged(), PromptsListChanged())
        after = view.tools, view.resources, view.prompts
        return [event for event, old, new in zip(events, before, after, strict=True) if old != new]

    def _offers(self, toolset: Toolset) -> tuple[object, object]:
        """The resources and prompts that are shown."""
        skills = SkillOffers(self._satchel, toolset.agent).resources()
        commands = CommandOffers(self._satchel, toolset.agent).prompts()
        if toolset.mode != "direct":
            return skills, commands
        offers = Offers(self._satchel, toolset.agent)
        resources = offers.resources(templates=False), offers.resources(templates=True)
        return (*resources, skills), [*offers.prompts(), *commands]
