"""The composition root: `open_satchel` opens each stage, lists the links of the chain, hands out verbs."""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.agent import turns_of
from satchel.calls.approvals import ask_person, use_approval
from satchel.calls.arguments import check_arguments
from satchel.calls.chain import chain
from satchel.calls.connect import connect_first
from satchel.calls.definitions import hold_definitions
from satchel.calls.flows import check_flows
from satchel.calls.journal import write_journal
from satchel.calls.policy import check_policy
from satchel.calls.privacy import name_values, restore_tokens
from satchel.calls.reads import label_reads
from satchel.calls.time_limit import limit_time
from satchel.calls.under_way import UnderWay
from satchel.catalog import Catalog
from satchel.config import Paths, ServerEntry, paths_for
from satchel.config.database import database_of
from satchel.config.follow import LiveConfiguration
from satchel.library.plugins.listing import PluginListing
from satchel.model import Link
from satchel.store import ConversationStore, Journal, Writer
from satchel.support.charging import Host
from satchel.support.waiting import background
from satchel.upstream.connections import open_connections
from satchel.verbs.agents import Agents, Conversations, SkillPackages
from satchel.verbs.approvals.opening import approvals_on
from satchel.verbs.control import Flows, privacy_on
from satchel.verbs.executions import Executions, Surroundings
from satchel.verbs.journal import JournalReader
from satchel.verbs.memory.memories import Memories
from satchel.verbs.plugins.commands import Commands
from satchel.verbs.project import Project
from satchel.verbs.resources import Resources
from satchel.verbs.satchel import Satchel
from satchel.verbs.saved_skills import SavedSkills
from satchel.verbs.servers import Servers
from satchel.verbs.skill_tests import SkillTests
from satchel.verbs.skills import ShownSkills
from satchel.verbs.tools import Tools
from satchel.verbs.wrappers import Wrappers

if TYPE_CHECKING:
    from satchel.upstream.slot import Authorize


@asynccontextmanager
async def open_satchel(
    paths: Paths | Path | str | None = None,
    *,
    authorize: "Authorize | None" = None,
    environment: Mapping[str, str] | None = None,
    links: Sequence[Link] = (),
    servers: Sequence[ServerEntry] = (),
) -> AsyncGenerator[Satchel]:
    """Open Satchel on a project: the directory with its configuration, or the nearest one above here.

    `environment` has the variables; `links` come before those of the chain; `servers` join those configured.
    """
    environment = os.environ if environment is None else environment
    paths = paths_for(paths, environment)
    async with AsyncExitStack() as opened:  # closed from the last to the first
        configuration = LiveConfiguration(paths, tuple(servers))
        catalog = Catalog(configuration.now, environment)
        writer = Writer(lambda: database_of(configuration.now, environment))
        privacy, journal = privacy_on(writer, configuration), Journal(writer)
        conversations = Conversations(ConversationStore(writer), privacy.forget)
        opened.push_async_callback(journal.aclose)  # last: until then every call has an end
        connections = await opened.enter_async_context(
            open_connections(
                configuration,
                environment,
                entry_of=catalog.entry,
                on_listing=catalog.record_current,
                is_legacy=catalog.is_legacy,
                lists_first=catalog.is_quarantined,
                authorize=authorize,
            )
        )
        configuration.when_changed(connections.follow, catalog.follow)
        under_way, (asking, approvals) = UnderWay(), approvals_on(writer, configuration, catalog)
        call = chain(
            [
                *links,
                name_values(privacy.open),
                check_policy(configuration, journal.denied),
                hold_definitions(catalog.is_held, journal.denied),
                check_arguments(privacy.tokens_of),
                check_flows(configuration, under_way, journal.denied),
                ask_person(asking),  # before anything is recorded as sent
                write_journal(journal),
                label_reads(configuration, under_way),
                connect_first(connections.connect),
                hold_definitions(catalog.is_held),  # again: a new connection was listed
                use_approval(asking),
                restore_tokens(privacy.scope_of),
                limit_time(connections.timeout_of),
            ],
            connections.send,
        )
        tasks = await opened.enter_async_context(background())
        known = Servers(configuration, catalog, connections, tasks)
        opened.callback(known.close)
        plugins, host = PluginListing(), Host()
        skills = ShownSkills(configuration.current, plugins)
        saved_skills = SavedSkills(paths, configuration, catalog, plugins)
        tools = Tools(configuration, environment, known, skills, call)
        opened.callback(tools.close)
        around = Surroundings(
            configuration=configuration,
            environment=environment,
            servers=known,
            tools=tools,
            wrappers=Wrappers(catalog, paths),
            saved_skills=saved_skills,
            journal=journal,
            approvals=approvals,
            host=host,
        )
        executions = Executions(around, call, privacy)
        opened.push_async_callback(executions.aclose)
        satchel: Satchel = Satchel(
            project=Project(paths, configuration, known, environment),
            servers=known,
            tools=tools,
            resources=Resources(known, call),
            executions=executions,
            agents=Agents(configuration, journal, executions, turns_of(lambda: satchel, environment), tasks),
            approvals=approvals,
            skills=skills,
            packages=SkillPackages(configuration.current, skills, known.known),
            conversations=conversations,
            commands=Commands(configuration.current, skills),
            flows=Flows(configuration, known),
            privacy=privacy,
            memory=Memories(configuration.current, journal),
            saved_skills=saved_skills,
            skill_tests=SkillTests(saved_skills, executions, call),
            journal=JournalReader(journal, known.known),
            tasks=tasks,
            host=host,
            call_tool=call,
        )
        yield satchel
