"""Entries of servers: added, removed, enabled, logged in to and out of. Works on files; nothing is opened.

Satchel writes to extensions_config.json only. Entries in satchel.yaml are a person's, and named as such.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.catalog import Catalog
from satchel.config import (
    EXTENSIONS_FILE,
    Paths,
    ServerEntry,
    find_paths,
    read_configuration,
    resolve,
    set_enabled,
    update_extensions,
    update_servers,
)
from satchel.config.custom import custom_entries
from satchel.errors import ArgumentError, ConfigError, NotFoundError
from satchel.names import closest, in_shell
from satchel.verbs.offline import read_catalog

if TYPE_CHECKING:
    from satchel.upstream.credentials import Credentials


@dataclass(frozen=True, kw_only=True)
class Removed:
    """A server that was removed. `remaining` is the one of the same name in satchel.yaml that counts now."""

    file: Path
    remaining: ServerEntry | None


def written_by_people(paths: Paths) -> dict[str, ServerEntry]:
    """The servers and groups of custom tools in satchel.yaml, which Satchel does not write to."""
    file = paths.settings_file
    if file is None:
        return {}
    from satchel.config.settings import read_settings_file  # not needed where there is no such file

    read = read_settings_file(file)
    return {entry.name: entry for entry in (*read.servers, *custom_entries(read.settings.custom_tools, file))}


def add_server(
    paths: Paths, name: str, entry: Mapping[str, Any], *, file: Path, replace_old: bool = False
) -> None:
    """Write a new entry to `file`; one that is there is replaced only on request."""
    there = written_by_people(paths).get(name)
    if there is not None and there.custom:
        raise _in_other_file(there, "choose another name, or take the group out of that file")

    def add(servers: dict[str, Any]) -> None:
        if there is not None and name not in servers and not replace_old:
            raise _in_other_file(there, f"--replace adds one to {file.name}, which counts instead")
        if name in servers and not replace_old:
            raise ArgumentError(f"server '{name}' exists already", hint="--replace replaces it")
        servers[name] = dict(entry)

    update_servers(file, add)


def add_servers(file: Path, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Write many entries; those that are there already stay as they are. A new file names its schema."""
    if not file.exists():
        # Few commands write a whole file.
        from satchel.config.schemas import place_of, write_schemas

        with suppress(ConfigError):  # a state that can't be written to must not keep the import from working
            write_schemas(find_paths(config=file.parent))
            update_extensions(file, lambda document: document.update({"$schema": place_of("extensions")}))

    def add(servers: dict[str, Any]) -> None:
        for name, entry in entries.items():
            servers.setdefault(name, dict(entry))

    update_servers(file, add)


def remove_server(paths: Paths, name: str) -> Removed:
    """Take an entry out, and forget what its server listed."""
    there = written_by_people(paths).get(name)

    named = _named(paths, name)

    def remove(servers: dict[str, Any]) -> None:
        if name not in servers:
            if named is not None and named.plugin is not None:
                raise _of_plugin(named, name)
            if there is not None:
                raise _in_other_file(there, f"edit that file: Satchel writes to {EXTENSIONS_FILE} only")
            raise NotFoundError("server", name, closest=closest(name, servers))
        del servers[name]

    catalog = read_catalog(paths)
    update_servers(paths.extensions_file, remove)
    catalog.forget(name)
    return Removed(file=paths.extensions_file, remaining=there)


def enable_server(paths: Paths, name: str, *, enabled: bool) -> None:
    """Switch a server on or off."""
    named = _named(paths, name)
    if named is not None and named.plugin is not None:
        # Only few projects have plugins.
        from satchel.config.plugins.state import set_server_enabled

        origin = named.plugin
        file, endpoint = paths.extensions_file, origin.endpoint
        set_server_enabled(file, origin.plugin, origin.server, endpoint, enabled=enabled)
        return
    name = name if named is None else named.name
    try:
        set_enabled(paths.extensions_file, name, enabled=enabled)
    except NotFoundError:
        there = written_by_people(paths).get(name)
        if there is None:
            raise
        how = "custom tools are switched off by taking them out" if there.custom else "'enabled' in its entry"
        raise _in_other_file(there, f"edit that file: {how}") from None


def _of_plugin(entry: ServerEntry, name: str) -> ArgumentError:
    plugin = name.partition(":")[0]
    return ArgumentError(
        f"'{name}' is a server of the plugin '{plugin}', in {entry.file}",
        hint=f"satchel disable {in_shell(name)} switches it off; "
        f"satchel plugins remove {in_shell(plugin)} removes the plugin",
    )


def _named(paths: Paths, name: str) -> ServerEntry | None:
    """The entry that counts for a name as it is written, which may be one that a plugin gave it."""
    try:
        servers = read_configuration(paths).servers
    except ConfigError:
        return None  # the code that writes reports the problem
    own = next((entry for entry in servers if entry.name == name), None)
    return own or next((entry for entry in servers if name in entry.aliases), None)


def _in_other_file(entry: ServerEntry, hint: str) -> ArgumentError:
    file, line = entry.locate(())
    kind = "a group of custom tools" if entry.custom else "a server of mcp.servers"
    return ArgumentError(f"'{entry.name}' is {kind}, in {file}:{line}", hint=hint)


_KEY = "a key that it needs goes into 'env' of its entry"


def remote_entry(paths: Paths, name: str) -> ServerEntry:
    """The entry of a server that can have a login, by any spelling of its name."""
    catalog = read_catalog(paths)
    entry = catalog.entry(catalog.snapshot.server(name).name)
    if entry.transport == "stdio":
        raise ArgumentError(f"'{entry.name}' runs as a command; only remote servers have a login", hint=_KEY)
    return entry


async def log_in(paths: Paths, entry: ServerEntry, show: Callable[[str], None], *, browser: bool) -> bool:
    """Log in to a remote server with the browser, then list it; false if it wants no login."""
    # The SDK takes long to load, and only a login needs it.
    from satchel.upstream.auth import LOGIN_TIMEOUT, Authorization, open_login
    from satchel.upstream.pool import open_pool

    configuration = read_configuration(paths)
    catalog = Catalog(configuration)
    target = resolve(entry)
    credentials = _credentials(paths, target.url)
    login = await open_login(target, credentials, show, browser=browser)
    patient = replace(configuration.settings.servers, startup_timeout=LOGIN_TIMEOUT, timeout=LOGIN_TIMEOUT)
    entry = replace(entry, startup_timeout=None, timeout=None)
    async with (
        login,
        open_pool(
            patient, authorize=lambda target: Authorization(target, credentials, login), logs=paths.logs
        ) as pool,
    ):
        catalog.record(entry, await pool.list_server(entry))
    return "tokens" in credentials.load()


def log_out(paths: Paths, server: str) -> bool:
    """Forget the tokens of a remote server, by its name or its address; tell whether there were any."""
    url = server if "://" in server else resolve(remote_entry(paths, server)).url
    return _credentials(paths, url).forget()


def logged_in(paths: Paths, addresses: Iterable[str]) -> list[str]:
    """The addresses of remote servers for which tokens are stored."""
    return [url for url in addresses if _credentials(paths, url).load()]


def _credentials(paths: Paths, url: str) -> "Credentials":
    from satchel.upstream.credentials import Credentials  # only a login needs it

    return Credentials(paths.credentials, url, read_configuration(paths).settings.credentials)
