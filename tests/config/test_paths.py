"""Where the two files of configuration are looked for, and where state goes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from satchel.config import EXTENSIONS_FILE, SETTINGS_FILE, Paths, find_paths, read_configuration
from satchel.config.settings import Settings
from satchel.errors import ConfigError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(home: Path) -> Path:
    directory = home / "work" / "shop"
    directory.mkdir(parents=True)
    return directory


def find(directory: Path, home: Path, config: Path | None = None, **variables: str) -> Paths:
    return find_paths(config=config, directory=directory, environment={"HOME": str(home), **variables})


def put(directory: Path, *names: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / name).write_text("{}")


def test_without_files_the_project_is_the_working_directory_and_everything_has_its_default(
    home: Path, project: Path
) -> None:
    paths = find(project, home)

    assert paths.project == project
    assert paths.settings_file is None
    assert paths.extensions_file == project / EXTENSIONS_FILE
    configuration = read_configuration(paths)
    assert configuration.settings == Settings()
    assert configuration.servers == ()
    assert os.listdir(project) == []


def test_the_working_directory_of_the_process_is_where_the_search_starts(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project, SETTINGS_FILE)
    monkeypatch.chdir(project)

    assert find_paths(environment={"HOME": str(home)}).settings_file == project / SETTINGS_FILE


def test_both_files_are_found_in_the_working_directory(home: Path, project: Path) -> None:
    put(project, SETTINGS_FILE, EXTENSIONS_FILE)

    paths = find(project, home)

    assert (paths.settings_file, paths.extensions_file) == (
        project / SETTINGS_FILE,
        project / EXTENSIONS_FILE,
    )
    assert paths.project == project


def test_files_are_found_in_a_directory_above_and_that_is_the_project(home: Path, project: Path) -> None:
    put(project, SETTINGS_FILE, EXTENSIONS_FILE)
    below = project / "src" / "deep"
    below.mkdir(parents=True)

    paths = find(below, home)

    assert (paths.settings_file, paths.extensions_file) == (
        project / SETTINGS_FILE,
        project / EXTENSIONS_FILE,
    )
    assert paths.project == project


def test_each_file_is_looked_up_on_its_own_and_the_nearest_is_in_the_project(
    home: Path, project: Path
) -> None:
    put(project, EXTENSIONS_FILE)
    put(project.parent, SETTINGS_FILE, EXTENSIONS_FILE)

    paths = find(project, home)

    assert paths.extensions_file == project / EXTENSIONS_FILE
    assert paths.settings_file == project.parent / SETTINGS_FILE
    assert paths.project == project


def test_a_missing_extensions_file_would_be_made_next_to_the_settings(home: Path, project: Path) -> None:
    put(project, SETTINGS_FILE)
    below = project / "src"
    below.mkdir()

    assert find(below, home).extensions_file == project / EXTENSIONS_FILE


def test_the_users_own_files_are_used_where_the_project_has_none(home: Path, project: Path) -> None:
    user = home / ".config" / "satchel"
    put(user, SETTINGS_FILE, EXTENSIONS_FILE)

    paths = find(project, home)

    assert (paths.settings_file, paths.extensions_file) == (user / SETTINGS_FILE, user / EXTENSIONS_FILE)
    assert paths.project == user


def test_the_users_own_settings_complete_a_project_that_has_only_servers(home: Path, project: Path) -> None:
    put(home / ".config" / "satchel", SETTINGS_FILE, EXTENSIONS_FILE)
    put(project, EXTENSIONS_FILE)

    paths = find(project, home)

    assert paths.settings_file == home / ".config" / "satchel" / SETTINGS_FILE
    assert paths.extensions_file == project / EXTENSIONS_FILE
    assert paths.project == project


def test_a_directory_that_is_called_like_a_file_is_passed_over(home: Path, project: Path) -> None:
    (project / SETTINGS_FILE).mkdir()

    assert find(project, home).settings_file is None


def test_a_config_directory_ends_the_search(home: Path, project: Path, tmp_path: Path) -> None:
    put(project, SETTINGS_FILE, EXTENSIONS_FILE)
    put(home / ".config" / "satchel", SETTINGS_FILE)
    other = tmp_path / "other"
    put(other, EXTENSIONS_FILE)

    paths = find(project, home, config=other)

    assert paths.project == other
    assert paths.extensions_file == other / EXTENSIONS_FILE
    assert paths.settings_file is None


@pytest.mark.parametrize("name", ["satchel.yaml", "other.yml", "plain"])
def test_a_config_file_is_the_settings_and_its_directory_the_project(
    home: Path, project: Path, tmp_path: Path, name: str
) -> None:
    put(tmp_path / "other", name, EXTENSIONS_FILE)

    paths = find(project, home, config=tmp_path / "other" / name)

    assert paths.settings_file == tmp_path / "other" / name
    assert paths.extensions_file == tmp_path / "other" / EXTENSIONS_FILE
    assert paths.project == tmp_path / "other"


def test_a_config_file_of_json_is_the_servers(home: Path, project: Path, tmp_path: Path) -> None:
    put(tmp_path / "other", SETTINGS_FILE, "mine.json", EXTENSIONS_FILE)

    paths = find(project, home, config=tmp_path / "other" / "mine.json")

    assert paths.extensions_file == tmp_path / "other" / "mine.json"
    assert paths.settings_file == tmp_path / "other" / SETTINGS_FILE


def test_a_relative_config_is_taken_from_the_working_directory(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project, SETTINGS_FILE)
    monkeypatch.chdir(project.parent)

    assert find(home, home, config=Path("shop")).settings_file == project / SETTINGS_FILE


def test_a_config_that_does_not_exist_is_an_error_that_names_it(home: Path, project: Path) -> None:
    with pytest.raises(ConfigError, match="no such file") as caught:
        find(project, home, config=project / "nowhere.yaml")

    assert caught.value.file == project / "nowhere.yaml"
    assert str(project / "nowhere.yaml") in caught.value.message
    assert caught.value.hint is not None
    assert "--config" in caught.value.hint


def test_the_variable_stands_in_for_the_option_and_the_option_beats_it(
    home: Path, project: Path, tmp_path: Path
) -> None:
    put(tmp_path / "one", SETTINGS_FILE)
    put(tmp_path / "two", SETTINGS_FILE)

    by_variable = find(project, home, SATCHEL_CONFIG=str(tmp_path / "one"))
    by_option = find(project, home, config=tmp_path / "two", SATCHEL_CONFIG=str(tmp_path / "one"))

    assert by_variable.project == tmp_path / "one"
    assert by_option.project == tmp_path / "two"


def test_an_empty_variable_is_no_variable(home: Path, project: Path) -> None:
    assert find(project, home, SATCHEL_CONFIG="").project == project


def test_a_variable_that_leads_nowhere_is_named_in_the_hint(home: Path, project: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        find(project, home, SATCHEL_CONFIG=str(project / "nowhere"))

    assert caught.value.hint is not None
    assert "SATCHEL_CONFIG" in caught.value.hint


def test_state_of_the_user_goes_below_home(home: Path, project: Path) -> None:
    paths = find(project, home)

    assert paths.user_config == home / ".config" / "satchel"
    assert paths.user_cache == home / ".cache" / "satchel"
    assert paths.user_data == home / ".local" / "share" / "satchel"
    assert paths.catalog == home / ".cache" / "satchel" / "catalog"
    assert paths.credentials == home / ".local" / "share" / "satchel" / "credentials"


def test_state_of_the_user_follows_the_xdg_variables(home: Path, project: Path, tmp_path: Path) -> None:
    put(tmp_path / "c" / "satchel", SETTINGS_FILE)

    paths = find(
        project,
        home,
        XDG_CONFIG_HOME=str(tmp_path / "c"),
        XDG_CACHE_HOME=str(tmp_path / "k"),
        XDG_DATA_HOME=str(tmp_path / "d"),
    )

    assert paths.user_config == tmp_path / "c" / "satchel"
    assert paths.user_cache == tmp_path / "k" / "satchel"
    assert paths.user_data == tmp_path / "d" / "satchel"
    assert paths.settings_file == tmp_path / "c" / "satchel" / SETTINGS_FILE


@pytest.mark.parametrize("value", ["", "relative/directory"])
def test_xdg_variables_that_are_empty_or_relative_do_not_count(home: Path, project: Path, value: str) -> None:
    paths = find(project, home, XDG_CONFIG_HOME=value, XDG_CACHE_HOME=value, XDG_DATA_HOME=value)

    assert paths.user_config == home / ".config" / "satchel"
    assert paths.user_cache == home / ".cache" / "satchel"
    assert paths.user_data == home / ".local" / "share" / "satchel"


@pytest.fixture
def foreign(home: Path) -> Path:
    """A directory with a file that somebody else put there."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    put(home / "work", EXTENSIONS_FILE)
    os.chown(home / "work" / EXTENSIONS_FILE, 54321, -1)
    return home / "work"


def test_a_file_of_another_user_is_refused_and_the_hint_says_how_to_use_it(
    home: Path, project: Path, foreign: Path
) -> None:
    with pytest.raises(ConfigError, match=r"another user \(uid 54321\)") as caught:
        find(project, home)

    assert caught.value.file == foreign / EXTENSIONS_FILE
    assert caught.value.hint is not None
    assert f"--config {foreign}" in caught.value.hint


def test_a_file_of_another_user_is_used_when_it_is_asked_for_by_name(
    home: Path, project: Path, foreign: Path
) -> None:
    assert find(project, home, config=foreign).extensions_file == foreign / EXTENSIONS_FILE


def test_a_file_of_another_user_that_a_nearer_one_hides_is_not_looked_at(
    home: Path, project: Path, foreign: Path
) -> None:
    put(project, SETTINGS_FILE, EXTENSIONS_FILE)

    assert find(project, home).extensions_file == project / EXTENSIONS_FILE


# The state of a project


def test_state_is_made_once_with_a_record_that_only_its_user_has(home: Path, project: Path) -> None:
    paths = find(project, home)
    assert paths.prepare_state() == paths.state == project / ".satchel"
    identity = (paths.state / "id").read_text()
    assert [path.name for path in (paths.user_data / "states").iterdir()] == [identity]
    assert sorted(os.listdir(paths.state)) == [".gitignore", "id"]
    paths.prepare_state()
    assert (paths.state / "id").read_text() == identity


def test_state_moves_along_with_its_project(home: Path, project: Path) -> None:
    find(project, home).prepare_state()
    moved = project.rename(home / "elsewhere")
    assert find(moved, home).prepare_state() == moved / ".satchel"


def test_an_empty_directory_is_taken_also_where_a_process_died_while_it_wrote_the_id(
    home: Path, project: Path
) -> None:
    paths = find(project, home)
    paths.state.mkdir()
    (paths.state / ".id.abc123").touch()
    paths.prepare_state()
    assert (paths.user_data / "states" / (paths.state / "id").read_text()).is_file()


@pytest.mark.parametrize("identity", [None, "", "0" * 32, "../states/x", "../" * 9 + "etc/passwd", "0" * 999])
def test_state_that_came_with_the_repository_is_refused_and_left_as_it_is(
    home: Path, project: Path, identity: str | None
) -> None:
    paths = find(project, home)
    (paths.state / "code-api").mkdir(parents=True)
    (paths.state / "satchel.db").write_text("planted")
    (paths.user_data / "states").mkdir(parents=True)
    (paths.user_data / "states" / "x").touch()
    if identity is not None:
        (paths.state / "id").write_text(identity)
    before = sorted(os.listdir(paths.state))

    with pytest.raises(ConfigError, match="was not made by Satchel for you: it may have come with") as caught:
        paths.prepare_state()

    assert caught.value.file == paths.state
    assert caught.value.hint == "look at it, then move it away: mv .satchel .satchel-old"
    assert sorted(os.listdir(paths.state)) == before


def test_the_state_of_another_user_is_refused(home: Path, project: Path, tmp_path: Path) -> None:
    find(project, home).prepare_state()
    with pytest.raises(ConfigError, match="was not made by Satchel for you"):
        find(project, tmp_path / "other-home").prepare_state()


def test_an_id_that_is_a_link_to_that_of_another_project_is_refused(home: Path, project: Path) -> None:
    other = find(home, home)
    other.prepare_state()
    (project / ".satchel").mkdir()
    (project / ".satchel/id").symlink_to(other.state / "id")
    with pytest.raises(ConfigError, match="is a symbolic link"):
        find(project, home).prepare_state()


@pytest.mark.parametrize("name", ["", "id", "code-api", "agents"])
def test_links_in_the_place_of_state_are_refused(
    home: Path, project: Path, tmp_path: Path, name: str
) -> None:
    paths = find(project, home)
    place = paths.prepare_state() / name
    (tmp_path / "elsewhere").mkdir()
    if name == "":
        shutil.rmtree(place)
    elif place.exists():
        place.unlink()
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="is a symbolic link") as caught:
        paths.prepare_state()
    assert caught.value.file == place


@pytest.mark.slow
def test_processes_that_start_at_once_agree_on_the_state(home: Path, project: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from satchel.config import find_paths\n"
        f"paths = find_paths(directory=Path({str(project)!r}), environment={{'HOME': {str(home)!r}}})\n"
        "sys.stdin.read()\n"
        "print((paths.prepare_state() / 'id').read_text())"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(6)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    said = {process.communicate(timeout=60)[0] for process in processes}
    assert [process.returncode for process in processes] == [0] * 6
    assert len(said) == 1
    assert len(os.listdir(find(project, home).user_data / "states")) == 1


def test_the_configuration_is_no_programs_to_read(home: Path, project: Path) -> None:
    put(project, SETTINGS_FILE, EXTENSIONS_FILE)
    assert {project / SETTINGS_FILE, project / EXTENSIONS_FILE} <= set(find(project, home).private)
    (project / SETTINGS_FILE).unlink()
    assert project / EXTENSIONS_FILE in find(project, home).private
