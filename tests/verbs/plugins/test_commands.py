"""What plugins bring, as agents and people see it: skills, files and commands; a change counts at once."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.commands import CommandRegistry, load_commands
from satchel.config import Configuration, find_paths, read_configuration
from satchel.config.plugins.settings import PluginsSettings
from satchel.context.budget import tokens_at_most
from satchel.errors import ArgumentError, NotFoundError
from satchel.library.plugins.listing import PluginListing
from satchel.library.state import forget_plugin
from satchel.plugins import PluginRegistry, load_plugins
from satchel.verbs.plugins.commands import Commands
from satchel.verbs.skill_library import load_skills, open_skill_library
from satchel.verbs.skills import ShownSkills
from tests.library.skill_files import NO_PLUGINS, PLUGINS, make_skill
from tests.plugin_folders import PLUGINS_ROOT, add_sales, switch, write_files

ROOT = "/mnt/plugins/sales"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_home: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "satchel.yaml").write_text("{}\n")
    monkeypatch.chdir(directory)
    add_sales(directory)
    return directory


@pytest.fixture
def read(project: Path) -> Callable[[], Configuration]:
    return lambda: read_configuration(find_paths(config=project))


@pytest.fixture
def skills(read: Callable[[], Configuration]) -> ShownSkills:
    return ShownSkills(read)


@pytest.fixture
def commands(read: Callable[[], Configuration], skills: ShownSkills) -> Commands:
    return Commands(read, skills)


def names(commands: Commands) -> list[str]:
    return [command.identity for command in commands.of()]


# Skills


def test_skills_of_a_plugin_are_a_category_and_nested_ones_are_files(
    skills: ShownSkills,
) -> None:
    found = {skill.identity: skill.get_container_path() for skill in skills.of("default")}
    assert found == {
        f"plugin:sales:{name}": f"{ROOT}/skills/{name}" for name in ("call-prep", "quiet", "told")
    }


def test_load_skills_has_them_and_the_category_can_be_asked_for(project: Path) -> None:
    assert load_skills(enabled_only=True)[0].identity == "plugin:sales:call-prep"
    assert len(open_skill_library().skills(category="plugin:sales")) == 3


def test_a_skill_of_a_plugin_is_viewed_with_paths_that_programs_know(
    project: Path, skills: ShownSkills
) -> None:
    for name in ("call-prep", "sales:call-prep", "plugin:sales:call-prep", f"{ROOT}/skills/call-prep"):
        viewed = skills.view(name, "default")
        assert viewed["location"] == f"{ROOT}/skills/call-prep"
    assert f"{ROOT}/skills/call-prep/notes.md. It costs $5,000." in viewed["body"]
    assert viewed["files"] == ["notes.md", "deeper/SKILL.md"]
    assert str(project) not in json.dumps(viewed)
    assert f"{ROOT}/skills/call-prep/notes.md" in skills.read_text(
        f"{ROOT}/skills/call-prep/SKILL.md", "default"
    )


def test_links_out_of_a_skill_are_read_within_its_plugin_only(project: Path, skills: ShownSkills) -> None:
    for path in ("CONNECTORS.md", "skills/call-prep/../../CONNECTORS.md"):
        assert skills.read_text(f"{ROOT}/{path}", "default") == "What is connected to sales.\n"
    secret = project / "secret"
    secret.write_text("secret")
    (project / PLUGINS_ROOT / "sales" / "link.md").symlink_to(secret)
    for path in ("link.md", "../other/x", "../../../etc/passwd", "", "none.md", "skills"):
        with pytest.raises(NotFoundError):
            skills.read_file(f"{ROOT}/{path}", "default")


def test_a_model_hears_of_no_skill_that_only_people_invoke(skills: ShownSkills) -> None:
    assert [skill.name for skill in skills.told("default")] == ["call-prep", "told"]
    assert "quiet" not in skills.prompt("default")
    assert skills.search("for people", "default")["skills"] == []
    assert skills.view("quiet", "default")["body"] == "Quietly."


def test_a_skill_of_a_plugin_is_switched_by_its_identity(project: Path, skills: ShownSkills) -> None:
    library = open_skill_library()
    library.set_enabled(["sales:call-prep"], enabled=False)

    assert "plugin:sales:call-prep" in json.loads((project / "extensions_config.json").read_text())["skills"]
    assert [skill.name for skill in skills.of("default")] == ["quiet", "told"]
    with pytest.raises(NotFoundError):
        skills.read_file(f"{ROOT}/skills/call-prep/notes.md", "default")
    assert skills.read_file(f"{ROOT}/CONNECTORS.md", "default")
    forget_plugin(project / "extensions_config.json", "sales")
    assert len(skills.of("default")) == 3


def test_in_a_disabled_plugin_no_skill_can_be_enabled(project: Path, skills: ShownSkills) -> None:
    switch(project, "skills", plugin__sales__call_prep=True)
    switch(project, "plugins", sales=False)

    assert skills.of("default") == []
    assert {skill.enabled for skill in load_skills()} == {False}
    with pytest.raises(ArgumentError, match="plugin sales, which is disabled"):
        open_skill_library().set_enabled(["sales:call-prep"], enabled=True)


def test_a_plugin_may_be_one_skill_in_its_root(project: Path, skills: ShownSkills) -> None:
    text = "---\nname: alone\ndescription: By itself\n---\nRead ${CLAUDE_PLUGIN_ROOT}/more.md"
    write_files(project / PLUGINS_ROOT / "alone", {"SKILL.md": text, "more.md": "More."})

    viewed = skills.view("alone:alone", "default")

    assert (viewed["location"], viewed["files"]) == ("/mnt/plugins/alone", ["more.md"])
    assert viewed["body"] == "Read /mnt/plugins/alone/more.md"
    assert skills.read_file("/mnt/plugins/alone/more.md", "default") == b"More."


def test_skills_may_lie_elsewhere_in_a_plugin_or_be_linked_there(project: Path, skills: ShownSkills) -> None:
    folder = project / PLUGINS_ROOT / "more"
    write_files(folder, {".claude-plugin/plugin.json": '{"name": "more", "skills": ["./extra/one"]}'})
    make_skill(folder / "extra" / "one")
    make_skill(folder / "store" / "two")
    (folder / "skills").mkdir()
    (folder / "skills" / "two").symlink_to("../store/two")

    found = {
        skill.name: skill.get_container_path() for skill in skills.of("default") if skill.plugin == "more"
    }

    assert found == {"one": "/mnt/plugins/more/extra/one", "two": "/mnt/plugins/more/store/two"}
    assert skills.view("more:two", "default")["body"] == "Do it."


# Commands


def test_commands_are_files_and_skills_that_people_may_invoke(project: Path, commands: Commands) -> None:
    make_skill(project / "skills" / "public" / "pdf")
    assert names(commands) == ["pdf", "sales:call-prep", "sales:forecast", "sales:quiet"]


def test_a_command_becomes_a_prompt_with_paths_that_programs_know(project: Path, commands: Commands) -> None:
    assert commands.expand("/sales forecast", "Q3 $1") == (
        f"[COMMAND: /sales:forecast]\nForecast Q3 $1, read {ROOT}/CONNECTORS.md and {ROOT}/a."
    )
    text = commands.expand("/Call-Prep", "Acme")
    assert "costs $5,000" in text and text.endswith(
        f"[its links lead from {ROOT}/skills/call-prep]\n\nUser arguments: Acme"
    )
    assert str(project) not in text


def test_a_model_is_told_of_the_commands_that_are_for_it(commands: Commands) -> None:
    told = commands.prompt()
    assert "/sales: call-prep, forecast\n" in told
    assert "/sales:forecast [period]: Forecasts &lt;sales&gt;" in told
    assert "quiet" not in told and "sales:told" not in told


def test_every_change_counts_at_once(project: Path, commands: Commands, skills: ShownSkills) -> None:
    folder = project / PLUGINS_ROOT / "sales"
    for _ in range(2):  # the first listing is not watched
        assert len(names(commands)) == 3

    switch(project, "plugins", sales=False)
    assert names(commands) == [] and skills.of("default") == [] and skills.plugins().mounts == {}
    assert commands.prompt() == ""
    switch(project, "plugins", sales=True)
    assert len(names(commands)) == 3

    (folder / "commands" / "forecast.md").write_text("---\ndescription: Other\n---\nOther")
    assert commands.lookup("sales", "forecast").content == "Other"
    write_files(folder, {"commands/new/one.md": "One", "skills/more/SKILL.md": "---\ndescription: m\n---\nm"})
    assert {"sales:new:one", "sales:more"} < set(names(commands))
    (folder / "skills" / "quiet" / "SKILL.md").unlink()
    assert "sales:quiet" not in names(commands)

    shutil.rmtree(folder)
    assert names(commands) == [] and skills.plugins().mounts == {}


def test_while_nothing_changes_nothing_is_read_again(commands: Commands, skills: ShownSkills) -> None:
    for _ in range(3):
        names(commands)
    assert skills.plugins() is skills.plugins()
    assert commands.registry() is commands.registry()


def test_while_a_file_is_edited_what_it_said_counts(project: Path) -> None:
    paths, listing = find_paths(config=project), PluginListing()
    before = listing.now(paths, PluginsSettings())
    (project / "extensions_config.json").write_text("{ not yet")
    assert listing.now(paths, PluginsSettings()) is before
    assert PluginListing().now(paths, PluginsSettings()).all == ()


# From Python


def test_python_has_plugins_and_commands_with_their_texts(project: Path) -> None:
    (sales,) = load_plugins()
    assert (sales.name, sales.version, len(sales.skills)) == ("sales", "1.0", 3)
    assert [command.content[:8] for command in sales.commands] == ["See [con", "Forecast", "Quietly."]
    assert PluginRegistry().get("sales") == sales
    with pytest.raises(NotFoundError, match="sale"):
        PluginRegistry().get("sale")
    registry = CommandRegistry(load_commands())
    assert registry.lookup("sales", "forecast").argument_hint == "[period]"
    switch(project, "plugins", sales=False)
    assert load_commands() == [] and load_plugins(enabled_only=True) == []
    assert [manifest.commands for manifest in load_plugins()] == [()]


# The collection


@pytest.mark.slow
@pytest.mark.skipif(not PLUGINS.is_dir(), reason=NO_PLUGINS)
def test_the_collection_has_185_skills_and_172_commands(
    project: Path, commands: Commands, skills: ShownSkills
) -> None:
    shutil.rmtree(project / PLUGINS_ROOT)
    shutil.copytree(PLUGINS, project / PLUGINS_ROOT)

    assert len(list(skills.plugins().enabled())) == 22
    assert len(skills.of("default")) == 185 and len(names(commands)) == 172
    assert names(commands).count("brand-voice:discover-brand") == 1
    assert commands.lookup("/zoom-plugin:start").skill is not None
    assert all(not remarks for remarks in skills.plugins().remarks.values())
    with pytest.raises(ArgumentError, match="2 commands are called /call-prep"):
        commands.lookup("call-prep")

    told = commands.prompt()
    assert tokens_at_most(told) <= 1500 and "more are not named" not in told
    for skill in skills.of("default"):
        viewed = skills.view(skill.get_container_path(), "default")
        assert str(project) not in json.dumps(viewed)
    assert skills.read_file("/mnt/plugins/sales/CONNECTORS.md", "default")
