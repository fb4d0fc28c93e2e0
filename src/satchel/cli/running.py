"""Code that several commands share: find the project, and run something with its servers."""

import argparse
import re
import shlex
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from satchel.cli.output import ProgressLine, note
from satchel.config import Paths, ServerEntry, find_paths
from satchel.errors import NotFoundError
from satchel.model import Server, Tool
from satchel.names import in_shell
from satchel.verbs.offline import Catalog, Snapshot, read_catalog, sentence

if TYPE_CHECKING:
    from satchel.model import Event, PersonAsked, Tell
    from satchel.verbs.satchel import Satchel

T = TypeVar("T")


def paths_of(options: argparse.Namespace) -> Paths:
    return find_paths(config=getattr(options, "config", None))


def run_with_servers(
    options: argparse.Namespace, use: "Callable[[Satchel], Awaitable[T]]", more: Sequence[ServerEntry] = ()
) -> T:
    """Open Satchel, let `use` work with it, and stop every server again.

    `more` are servers besides those of the configuration.
    """
    from satchel.app import open_satchel  # commands that only look must start quickly

    async def opened() -> T:
        async with open_satchel(paths_of(options), servers=more) as satchel:
            return await use(satchel)

    return run_async(opened)


def run_async(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` on an event loop."""
    # Commands that only look must start quickly.
    import logging

    import anyio

    from satchel.support.event_loop import new_event_loop

    # Without a handler, warnings of libraries would be printed; what people should know, errors say.
    logging.getLogger().addHandler(logging.NullHandler())
    return anyio.run(work, backend_options={"loop_factory": new_event_loop})


def catalog_with_new_servers(options: argparse.Namespace, *only: str) -> Catalog:
    """The cached catalog. Servers that nothing is known of, all or `only` some, are listed first."""
    catalog = read_catalog(paths_of(options))
    wanted = {catalog.snapshot.server(name).name for name in only}
    waiting = [entry.name for entry in catalog.unlisted() if not wanted or entry.name in wanted]
    if not waiting:
        return catalog
    run_with_servers(options, lambda satchel: refresh_with_progress(satchel, waiting))
    return read_catalog(paths_of(options))


def waits(event: "PersonAsked") -> str:
    """What to do about a call that waits."""
    return (
        f"{event.tool} waits for a person: approval {event.approval}\n"
        f"hint: in another terminal: satchel approvals allow {event.approval}\n"
    )


def note_no_servers() -> None:
    """For a project that has none."""
    note("no servers configured yet")
    note("hint: satchel init imports those of other clients; satchel add NAME -- COMMAND adds one")


def find_tool(options: argparse.Namespace) -> Tool:
    """The tool that was named; its server is started only if nothing is known of it."""
    catalog = read_catalog(paths_of(options))
    try:
        return catalog.snapshot.tool(options.tool)
    except NotFoundError as error:
        if not catalog.silent(options.tool) and (
            not catalog.unlisted() or _is_listed(catalog.snapshot, options.tool)
        ):
            raise _for_people(error, catalog.snapshot) from None
    return run_with_servers(options, lambda satchel: find_with_progress(satchel, options.tool))


async def find_with_progress(satchel: "Satchel", name: str) -> Tool:
    """Find a tool, and on a terminal show which servers are awaited for that."""
    with listing_progress() as tell:
        try:
            return await satchel.servers.find_tool(name, tell=tell)
        except NotFoundError as error:
            raise _for_people(error, satchel.catalog) from None


def _is_listed(snapshot: Snapshot, name: str) -> bool:
    """Whether it is a server's name, where a tool's should be, and the server has tools."""
    try:
        return snapshot.server(name).tool_count > 0
    except NotFoundError:
        return False


def _for_people(error: NotFoundError, snapshot: Snapshot) -> NotFoundError:
    """An unknown tool as the shell tells it: by its server where that is unknown, with commands for hints."""
    with suppress(NotFoundError):
        named = snapshot.server(error.name)
        step = f"that is a server; satchel list {shlex.quote(named.name)} shows its tools"
        return error.copy(hint=step if named.tool_count else sentence(named))
    server = snapshot.begun_with(error.name)
    if server is None:
        place, *rest = re.split(r"\.|/|__", error.name, maxsplit=1)
        try:
            snapshot.server(place)
        except NotFoundError as unknown:
            if rest:
                return NotFoundError("server", place, closest=error.closest) if error.closest else unknown
        return (
            error
            if error.closest
            else error.copy(hint="satchel search finds tools, satchel list has servers")
        )
    if error.closest or error.hint == sentence(server):
        return error
    return error.copy(hint=f"satchel list {in_shell(server.name)} shows its tools")


async def refresh_with_progress(satchel: "Satchel", names: Sequence[str]) -> list[Server]:
    """Refresh, and on a terminal show which servers are still awaited."""
    with listing_progress() as tell:
        return await satchel.servers.refresh(names, tell=tell)


@contextmanager
def listing_progress() -> "Generator[Tell]":
    """A line that says which servers are being listed, by the events that it is told."""
    from satchel.model import ServerFailed, ServerListed, ServerListing  # commands that only look need none

    line = ProgressLine()
    began = time.monotonic()
    awaited: dict[str, None] = {}
    total = 0

    def text() -> str:
        seconds = time.monotonic() - began
        return f"listing servers {total - len(awaited)}/{total}  {seconds:.0f} s  {', '.join(awaited)}"

    def hear(event: "Event") -> None:
        nonlocal total
        if isinstance(event, ServerListing):
            awaited[event.server] = None
            total += 1
        elif isinstance(event, ServerListed):
            awaited.pop(event.server.name, None)
        elif isinstance(event, ServerFailed):
            awaited.pop(event.server, None)
        line.update(text())

    line.keep_updating(text)
    try:
        yield hear
    finally:
        line.clear()
