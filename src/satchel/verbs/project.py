"""The project as a whole: what a person should know of it, and what its agents may do."""

from collections.abc import Callable, Mapping

from satchel.calls.patterns import unused_patterns
from satchel.calls.policy import is_allowed
from satchel.config import Configuration, Paths
from satchel.config.agents import AgentSettings
from satchel.config.follow import LiveConfiguration
from satchel.config.paths import PROJECTS
from satchel.errors import ConfigError
from satchel.model import Prompt, Resource, Tool
from satchel.upstream.listing import NESTED
from satchel.verbs.servers import Servers


class Project:
    """The configuration of one open Satchel, and remarks about it."""

    def __init__(
        self,
        paths: Paths,
        configuration: LiveConfiguration,
        servers: Servers,
        environment: Mapping[str, str],
    ) -> None:
        self._paths = paths
        self._configuration = configuration
        self._servers = servers
        self._environment = environment

    @property
    def configuration(self) -> Configuration:
        """Paths, settings and server entries as last followed."""
        return self._configuration.now

    @property
    def configuration_error(self) -> ConfigError | None:
        """Why a newer configuration is not used, while that is so."""
        return self._configuration.error

    def follow(self) -> Configuration:
        """Take up what the configuration files say now."""
        return self._configuration.follow()

    def agent(self, name: str) -> AgentSettings:
        """The settings of an agent. The agent `default` always exists."""
        self._configuration.follow()
        return self._configuration.agent(name)

    def permits(self, agent: str) -> Callable[[Tool | Resource | Prompt], bool]:
        """Whether the present settings allow an agent something; the chain decides about each call."""
        settings = self.agent(agent)
        return lambda what: is_allowed(settings, what.server, what.label, what.aliases)

    def remarks(self) -> list[str]:
        """Remarks for a person about the present configuration and servers."""
        servers = self._servers.known().servers
        now, error = self._configuration.now, self._configuration.error
        remarks = [*now.notes, *now.warnings]
        warning = sandbox_warning(now)
        if warning is not None:
            remarks.append(warning)
        if error is not None:
            hint = f"; {error.hint}" if error.hint else ""
            remarks.append(f"{error.message}; the previous configuration still applies{hint}")
        for server in servers:
            problems = [problem for problem in server.problems if problem.startswith(NESTED)]
            remarks += [f"{server.name}: {problem}" for problem in problems]
        return [*remarks, *self.unused_patterns()]

    def unused_patterns(self) -> list[str]:
        """Patterns of the settings that fit no tool, once all servers are known."""
        servers = self._servers.known().servers
        if any(server.state == "not listed" for server in servers):
            return []
        return unused_patterns(self._configuration.now.settings, servers)

    def refuse_to_serve_itself(self) -> None:
        """Refuse where this Satchel is a server of its own project: each would start another, without end."""
        if self._paths.mark in self._environment.get(PROJECTS, "").split(":"):
            raise ConfigError(
                "one of its servers is Satchel itself, for this same project: remove that entry",
                file=self._paths.extensions_file,
                hint="a project of another directory (--config) can be a server",
            )


def sandbox_warning(configuration: Configuration) -> str | None:
    """What a person should know of where programs run, if anything."""
    from satchel.sandbox.choose import warning_of  # a call would wait for the sandbox to load

    return warning_of(configuration.settings.code_execution.sandbox)
