"""Trees on disk: the same bytes for the same catalog, only what changed, nothing foreign, nothing half."""

import ast
import importlib.util
import json
import os
import py_compile
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from satchel.codegen.generate import generate
from satchel.codegen.layout import server_files
from satchel.codegen.places import file_names
from satchel.codegen.signature import read_signature
from satchel.codegen.tree import Files
from satchel.errors import SatchelError
from satchel.languages import LANGUAGES, Language
from satchel.model import Prompt, Resource, Server
from tests.codegen.helpers import generate_tree, make_server, make_servers, read_real_servers, run_deno
from tests.codegen.trees import Place, changed, contents, damage, fresh, marks, servers_of, support, tool
from tests.conftest import SHARED

ROOT = Path(__file__).resolve().parents[2]
WAIT = 60


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A directory of somebody else, with a file that must stay as it is."""
    directory = tmp_path / "elsewhere"
    directory.mkdir()
    (directory / "notes.txt").write_text("mine")
    return directory


def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.codegen.trees", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], seconds: float = WAIT) -> str:
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == 0, err
    return out


def with_custom(version: str, *groups: str) -> list[Server]:
    return [*servers_of(version), *(make_server(group, [tool("do")], custom=True) for group in groups)]


def interrupted(server: Server) -> Server:
    """The same server, but whoever reads the definition of a tool is interrupted."""

    def interrupt() -> Any:
        raise KeyboardInterrupt

    tools = tuple(replace(each, read_definition=interrupt) for each in server.tools)
    return replace(server, read_tools=lambda: tools)


# The same catalog


def server_called(name: str) -> Server:
    """A server of the first catalog."""
    return next(server for server in servers_of("first") if server.name == name)


def test_the_same_catalog_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    running = [
        start(
            "write", tmp_path / seed / "code-api", tmp_path / seed / "records", "first", PYTHONHASHSEED=seed
        )
        for seed in ("1", "2")
    ]
    for process in running:
        finish(process)
    here = fresh(tmp_path / "here", "first")
    assert len(here) > 30
    assert contents(tmp_path / "1" / "code-api") == here
    assert contents(tmp_path / "2" / "code-api") == here


def test_the_order_of_runs_leaves_no_trace(tmp_path: Path) -> None:
    right = fresh(tmp_path / "right", "second")
    wandering = Place(tmp_path / "wandering")
    first, second = servers_of("first"), servers_of("second")
    wandering.generate(second, languages=["typescript"], only=["late"])
    wandering.generate(first, languages=LANGUAGES, only=["beta", "gone"])
    wandering.generate(second, languages=LANGUAGES, only=["alpha"], clean=True)
    wandering.generate(first, languages=["python"])
    wandering.generate([], languages=["typescript"])
    wandering.generate(second, languages=["typescript"])
    wandering.generate(second, languages=["python"])
    assert contents(wandering.output) == right


def test_a_second_run_touches_nothing_and_asks_for_no_tool(place: Place) -> None:
    first = place.generate(servers_of("first"))
    before = marks(place.output)

    def unwanted() -> Any:
        raise AssertionError("nothing has changed, and the tools were read")

    outcome = place.generate([replace(server, read_tools=unwanted) for server in servers_of("first")])
    assert marks(place.output) == before
    assert (outcome.written, outcome.unchanged, outcome.removed) == (0, first.written, 0)


def test_the_record_is_not_written_anew_when_nothing_changed(place: Place) -> None:
    place.generate(servers_of("first"))
    before = marks(place.records)
    place.generate(servers_of("first"))
    assert marks(place.records) == before


# Only what changed


def test_a_changed_tool_rewrites_its_file_the_index_and_the_version(place: Place) -> None:
    place.generate(make_servers({"alpha": [tool("get"), tool("put")], "beta": [tool("one")]}))
    before = marks(place.python)
    outcome = place.generate(
        make_servers({"alpha": [tool("get", "Otherwise."), tool("put")], "beta": [tool("one")]})
    )
    alpha = Path("servers/alpha")
    expected = {str(alpha / name) for name in ("get.py", "index.json", "__version__.py")}
    assert changed(before, marks(place.python)) == expected
    assert outcome.written == 3
    assert outcome.unchanged == len(before) - 3


def test_a_changed_description_of_a_server_rewrites_what_shows_it(place: Place) -> None:
    place.generate(servers_of("first"))
    before = marks(place.python)
    first, *others = servers_of("first")
    place.generate([replace(first, description="All about alpha."), *others])
    assert changed(before, marks(place.python)) == {"servers/index.json", "servers/alpha/index.json"}
    assert "All about alpha." in (place.python / "servers/index.json").read_text()


def test_what_a_server_says_about_its_use_is_in_its_folder(place: Place) -> None:
    server = make_server("crm", [tool("find")], instructions='# Use\n\nFind first, */ then """ change.')
    python, typescript = read_entrances(server)
    for text in (python, typescript):
        assert "The server says:" in text
        assert "# Use" in text
    said = ast.get_docstring(ast.parse(python)) or ""
    assert said.endswith('Find first, */ then """ change.')
    assert "Find first, *\\/ then" in typescript
    place.generate([server])
    place.generate([replace(server, instructions="Another text.")])
    assert "Another text." in (place.python / "servers" / "crm" / "__init__.py").read_text()


def test_what_a_server_says_is_cut_where_it_is_very_long() -> None:
    python, _ = read_entrances(make_server("crm", [tool("find")], instructions="word " * 10_000))
    assert len(python) < 5_000
    assert "word…" in python
    assert "says" not in read_entrances(make_server("crm", [tool("find")]))[0]


@pytest.mark.parametrize(("count", "said"), [(0, "0 tools"), (1, "1 tool"), (2, "2 tools")])
def test_an_entrance_says_how_many_tools_there_are(count: int, said: str) -> None:
    tools = [tool(f"find_{number}") for number in range(count)]
    for text in read_entrances(make_server("crm", tools)):
        assert f"crm: {said}. index.json" in text


def read_entrances(server: Server) -> tuple[str, str]:
    signatures = [read_signature(tool, server) for tool in server.tools]
    files = server_files(server, signatures, "python") | server_files(server, signatures, "typescript")
    return files["__init__.py"], files["index.ts"]


def test_files_that_every_tree_has_are_rewritten_when_they_change(place: Place) -> None:
    def newer(language: Language) -> Mapping[str, Files]:
        return {**support(language), "helpers": {"call": b"call otherwise\n"}}

    place.generate(servers_of("first"))
    place.generate(servers_of("first"), support=newer)
    assert (place.python / "helpers/call").read_bytes() == b"call otherwise\n"


def test_files_that_trees_no_longer_have_go(place: Place) -> None:
    place.generate(servers_of("first"))
    (place.python / "helpers/mine").write_text("mine")

    def newer(language: Language) -> Mapping[str, Files]:
        return {"": {"README.md": b"short\n"}}

    first, *others = servers_of("first")
    outcome = place.generate([replace(first, description="Other."), *others], support=newer)
    assert contents(place.python / "helpers") == {"mine": b"mine"}
    assert outcome.foreign == ["helpers"]


def test_files_of_removed_tools_and_servers_go_with_their_folders(place: Place) -> None:
    place.generate(servers_of("first"))
    outcome = place.generate(servers_of("second"))
    names = {path.name for path in (place.python / "servers").iterdir()}
    assert names == {"alpha", "beta", "late", "__init__.py", "index.json"}
    assert not (place.python / "servers/alpha/drop.py").exists()
    assert outcome.removed == 1 + 6  # drop.py and the folder `gone`
    assert outcome.foreign == []


def test_bytecode_of_a_removed_server_goes_with_it(place: Place) -> None:
    place.generate(servers_of("first"))
    for folder in ("servers/gone", "servers", "helpers"):
        (place.python / folder / "__pycache__").mkdir()
        (place.python / folder / "__pycache__/x.pyc").write_bytes(b"")
    outcome = place.generate(servers_of("second"))
    assert outcome.foreign == []
    assert not (place.python / "servers/gone").exists()


def test_custom_tools_lie_apart_and_their_folder_goes_with_the_last_of_them(place: Place) -> None:
    place.generate(with_custom("first", "web"))
    assert (place.python / "tools/web/do.py").exists()
    place.generate(with_custom("first", "web", "added"))
    outcome = place.generate(servers_of("first"))
    assert {path.name for path in (place.python / "tools").iterdir()} == {"index.json", "__init__.py"}
    assert outcome.foreign == []


def test_no_servers_at_all_leaves_a_tree_that_says_so(place: Place) -> None:
    place.generate(servers_of("first"))
    place.generate([])
    assert json.loads((place.python / "servers/index.json").read_text())["servers"] == []
    assert {path.name for path in (place.python / "servers").iterdir()} == {"index.json", "__init__.py"}


def test_the_two_languages_are_kept_apart(place: Place) -> None:
    place.generate(servers_of("first"), languages=["python"])
    assert not place.typescript.exists()
    place.generate(servers_of("first"), languages=["typescript"])
    before = marks(place.python)
    outcome = place.generate(servers_of("second"), languages=["typescript"])
    assert outcome.directory == place.typescript
    assert marks(place.python) == before
    assert (place.typescript / "servers/late/first.ts").exists()
    assert set(json.loads((place.typescript / "deno.json").read_text())["imports"]) >= {"./servers/late"}


# Only some servers


def test_a_named_server_is_written_and_the_others_stay_as_they_are(place: Place) -> None:
    place.generate(servers_of("first"))
    before = contents(place.python)
    place.generate(servers_of("second"), only=["beta"], kept=[server_called("gone")])
    after = contents(place.python)
    assert after["servers/alpha/get.py"] == before["servers/alpha/get.py"]
    assert after["servers/alpha/drop.py"] == before["servers/alpha/drop.py"]
    assert "servers/late/first.py" not in after


def test_the_list_of_servers_has_those_that_are_there(place: Place) -> None:
    def listed() -> list[str]:
        rows = json.loads((place.python / "servers/index.json").read_text())["servers"]
        return [row["name"] for row in rows]

    servers = servers_of("first")
    place.generate(servers, only=["beta"])
    assert listed() == ["beta"]
    place.generate(servers, only=["alpha", "gone"])
    assert listed() == ["alpha", "beta", "gone"]
    shutil.rmtree(place.python / "servers/gone")
    place.generate(servers, only=["beta"])
    assert listed() == ["alpha", "beta"]


def test_an_interrupted_run_does_not_put_servers_into_the_list_that_are_not_there(place: Place) -> None:
    first, *others = servers_of("first")
    with pytest.raises(KeyboardInterrupt):
        place.generate([first, *map(interrupted, others)])
    place.generate(servers_of("first"), only=["alpha"])
    rows = json.loads((place.python / "servers/index.json").read_text())["servers"]
    assert [row["name"] for row in rows] == ["alpha"]


def test_a_server_of_which_nothing_is_known_now_keeps_its_files(place: Place) -> None:
    place.generate(servers_of("first"))
    before = contents(place.python / "servers/gone")
    index = (place.python / "servers/index.json").read_text()
    unknown = replace(server_called("gone"), tool_count=0, read_tools=tuple)
    outcome = place.generate([s for s in servers_of("first") if s.name != "gone"], kept=[unknown])
    assert contents(place.python / "servers/gone") == before
    rows = sorted(index.splitlines()[2:-1])
    listed = sorted((place.python / "servers/index.json").read_text().splitlines()[2:-1])
    assert [row.rstrip(",") for row in listed] == [row.rstrip(",") for row in rows]
    assert (outcome.removed, outcome.foreign) == (0, [])


def test_clean_writes_every_file_anew_and_leaves_foreign_ones(place: Place) -> None:
    place.generate(servers_of("first"))
    before = marks(place.python)
    (place.python / "servers/alpha/mine.py").write_text("mine")
    outcome = place.generate(servers_of("first"), clean=True)
    after = marks(place.python)
    assert changed(before, after) == set(after)
    assert outcome.written == outcome.removed == len(before)
    assert outcome.foreign == ["servers/alpha/mine.py"]


def test_clean_of_one_server_leaves_the_others(place: Place) -> None:
    place.generate(servers_of("first"))
    before = marks(place.python)
    outcome = place.generate(servers_of("first"), only=["beta"], clean=True)
    there = set(changed(before, marks(place.python)))
    assert there == {path for path in before if path.startswith("servers/beta/")}
    assert outcome.written == outcome.removed == len(there)


def test_clean_keeps_the_files_of_a_server_of_which_nothing_is_known_now(place: Place) -> None:
    place.generate(servers_of("first"))
    before = contents(place.python / "servers/gone")
    place.generate(
        [s for s in servers_of("first") if s.name != "gone"], kept=[server_called("gone")], clean=True
    )
    assert contents(place.python / "servers/gone") == before


# What is not ours


def test_foreign_files_are_left_alone_and_named(place: Place, elsewhere: Path) -> None:
    place.generate(servers_of("first"))
    foreign = ["mine.txt", "servers/mine.py", "servers/gone/mine.py", "helpers/mine", "servers/alpha/.hidden"]
    for path in foreign:
        (place.python / path).write_text("mine")
    for folder in ("own", "servers/own", "servers/alpha/own"):
        (place.python / folder).mkdir()
        (place.python / folder / "mine.txt").write_text("mine")
        foreign.append(folder)
    (place.python / "servers/link").symlink_to(elsewhere)
    (place.python / "servers/alpha/broken.py").symlink_to(elsewhere / "nowhere")
    (place.python / "__pycache__").mkdir()
    foreign += ["servers/link", "servers/alpha/broken.py"]
    before = {path: content for path, content in contents(place.python).items() if "mine" in path}
    outcome = place.generate(servers_of("second"))
    gone = set(foreign) - {"servers/gone/mine.py"} | {"servers/gone"}  # whose other files were ours
    assert outcome.foreign == sorted(gone)
    after = contents(place.python)
    assert {path: content for path, content in after.items() if "mine" in path} == before
    assert contents(place.python / "servers/gone") == {"mine.py": b"mine"}
    assert contents(elsewhere) == {"notes.txt": b"mine"}
    again = place.generate(servers_of("second"), clean=True)
    assert again.foreign == outcome.foreign


def test_a_removed_server_that_comes_back_finds_foreign_files_in_its_folder(place: Place) -> None:
    place.generate(servers_of("first"))
    (place.python / "servers/gone/mine.py").write_text("mine")
    place.generate(servers_of("second"))
    outcome = place.generate(servers_of("first"))
    assert outcome.foreign == ["servers/gone/mine.py"]
    assert (place.python / "servers/gone/last.py").exists()


SPOILING: dict[str, Callable[[Path], object]] = {
    "edited": lambda file: file.write_text("import os\n"),
    "edited to the same size": lambda file: file.write_bytes(b"#" * file.stat().st_size),
    "emptied": lambda file: file.write_text(""),
    "deleted": lambda file: file.unlink(),
    "deleted with its folder": lambda file: shutil.rmtree(file.parent),
    "replaced by a pipe": lambda file: (file.unlink(), os.mkfifo(file)),
}


@pytest.mark.parametrize("spoil", SPOILING.values(), ids=SPOILING)
def test_a_spoiled_file_is_restored(place: Place, spoil: Callable[[Path], object]) -> None:
    place.generate(servers_of("first"))
    before, times = contents(place.python), marks(place.python)
    file = place.python / "servers/alpha/get.py"
    spoil(file)
    if file.exists():
        os.utime(file, ns=(1, 1))  # an edit within one tick of the clock of the file system has no new time
    outcome = place.generate(servers_of("first"))
    assert contents(place.python) == before
    assert changed(times, marks(place.python)) <= {path for path in before if "alpha" in path}
    assert outcome.written in (1, 8)


def test_a_touched_file_is_not_written(place: Place) -> None:
    place.generate(servers_of("first"))
    file = place.python / "servers/alpha/get.py"
    os.utime(file, ns=(1, 1))
    before = marks(place.python)
    assert place.generate(servers_of("first")).written == 0
    assert marks(place.python) == before


def test_a_tree_that_came_from_elsewhere_is_corrected_on_the_first_run(tmp_path: Path) -> None:
    right = fresh(tmp_path / "right", "first")
    theirs = Place(tmp_path / "theirs")
    theirs.generate(servers_of("first"), languages=LANGUAGES)
    shutil.rmtree(theirs.records)
    poison = theirs.python / "servers/alpha/get.py"
    poison.write_bytes(b"#" * poison.stat().st_size)
    (theirs.python / "servers/alpha/put.py").unlink()
    (theirs.python / "servers/alpha/extra.py").write_text("evil")
    (theirs.python / "servers/index.json").write_text("[]")
    (theirs.typescript / "helpers/call").write_text("evil")
    before = marks(theirs.output)
    python, typescript = generate(
        theirs.output, servers_of("first"), records=theirs.records, support=support, languages=LANGUAGES
    )
    after = contents(theirs.output)
    assert after.pop("python/servers/alpha/extra.py") == b"evil"
    assert after == right
    assert (python.written, typescript.written) == (3, 1)
    assert (python.foreign, typescript.foreign) == (["servers/alpha/extra.py"], [])
    assert len(changed(before, marks(theirs.output))) == 4


def test_bytecode_that_came_with_a_tree_is_not_run(place: Place, tmp_path: Path) -> None:
    """Python takes byte code of this kind as it is, whatever the file says that it stands for."""
    place.generate(servers_of("first"))
    shutil.rmtree(place.records)
    source = tmp_path / "evil.py"
    source.write_text("print('poison')")
    file = place.python / "servers/alpha/get.py"
    planted = Path(importlib.util.cache_from_source(str(file)))
    planted.parent.mkdir()
    py_compile.compile(
        str(source), str(planted), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    place.generate(servers_of("first"))
    assert not planted.exists()


def test_trees_in_two_places_know_nothing_of_each_other(tmp_path: Path) -> None:
    one, other = Place(tmp_path / "one"), Place(tmp_path / "other")
    other.records = one.records
    one.generate(servers_of("first"))
    other.generate(servers_of("second"))
    assert (one.python / "servers/gone/last.py").exists()
    assert one.generate(servers_of("first")).written == 0
    assert other.generate(servers_of("second")).written == 0


# Links


def test_a_file_replaced_by_a_link_is_replaced_and_its_target_not_written(
    place: Place, elsewhere: Path
) -> None:
    place.generate(servers_of("first"))
    before = contents(place.python)
    for path in ("README.md", "servers/index.json", "servers/alpha/get.py"):
        (place.python / path).unlink()
        (place.python / path).symlink_to(elsewhere / "notes.txt")
    place.generate(servers_of("first"))
    assert contents(place.python) == before
    assert contents(elsewhere) == {"notes.txt": b"mine"}


def test_a_link_to_a_file_with_the_right_content_is_replaced_too(place: Place, elsewhere: Path) -> None:
    place.generate(servers_of("first"))
    before = contents(place.python)
    shutil.move(place.python / "servers/alpha/get.py", elsewhere / "get.py")
    (place.python / "servers/alpha/get.py").symlink_to(elsewhere / "get.py")
    place.generate(servers_of("first"))
    assert contents(place.python) == before


@pytest.mark.parametrize("linked", ["", "servers", "servers/alpha", "helpers", "servers/gone"])
@pytest.mark.parametrize("known", [True, False], ids=["known tree", "unknown tree"])
def test_a_folder_that_is_a_link_is_refused_and_nothing_written_where_it_leads(
    place: Place, elsewhere: Path, linked: str, known: bool
) -> None:
    """It leads to a copy of the right folder, so that nothing else could give it away."""
    place.generate(servers_of("first"))
    target = elsewhere / "tree"
    shutil.move(place.python / linked, target)
    (place.python / linked).symlink_to(target)
    if not known:
        shutil.rmtree(place.records)
    before = contents(elsewhere), marks(elsewhere)
    with pytest.raises(SatchelError, match="is in the way"):
        place.generate([replace(server, description="New.") for server in servers_of("first")])
    assert (contents(elsewhere), marks(elsewhere)) == before
    with pytest.raises(SatchelError, match="is in the way"):
        place.generate(servers_of("first"), clean=True)
    assert (contents(elsewhere), marks(elsewhere)) == before


def test_a_linked_folder_is_not_taken_for_current(place: Place, elsewhere: Path) -> None:
    place.generate(servers_of("first"))
    shutil.move(place.python / "servers", elsewhere / "servers")
    (place.python / "servers").symlink_to(elsewhere / "servers")
    with pytest.raises(SatchelError, match="is in the way"):
        place.generate(servers_of("first"))


@pytest.mark.parametrize("linked", ["servers", "servers/gone"])
def test_removing_a_server_deletes_nothing_behind_a_link(place: Place, elsewhere: Path, linked: str) -> None:
    place.generate(servers_of("first"))
    shutil.move(place.python / linked, elsewhere / "moved")
    (place.python / linked).symlink_to(elsewhere / "moved")
    before = contents(elsewhere)
    try:
        outcome = place.generate(servers_of("second"))
    except SatchelError:
        assert linked == "servers"
    else:
        assert outcome.foreign == ["servers/gone"]
    assert contents(elsewhere) == before


def test_a_link_where_files_are_written_aside_is_removed_and_not_followed(
    place: Place, elsewhere: Path
) -> None:
    place.generate(servers_of("first"))
    (place.python / ".satchel-new").symlink_to(elsewhere)
    place.generate(servers_of("second"))
    assert contents(elsewhere) == {"notes.txt": b"mine"}
    assert not os.path.lexists(place.python / ".satchel-new")


def test_something_in_the_way_is_named(place: Place) -> None:
    place.generate(servers_of("first"))
    shutil.rmtree(place.python / "servers/alpha")
    (place.python / "servers/alpha").write_text("a file")
    with pytest.raises(SatchelError, match="servers/alpha is in the way"):
        place.generate(servers_of("first"))
    assert (place.python / "servers/alpha").read_text() == "a file"


def test_a_folder_in_the_place_of_a_file_is_named_and_not_deleted(place: Place) -> None:
    place.generate(servers_of("first"))
    (place.python / "servers/alpha/get.py").unlink()
    (place.python / "servers/alpha/get.py").mkdir()
    (place.python / "servers/alpha/get.py/mine").write_text("mine")
    with pytest.raises((SatchelError, OSError)) as raised:
        place.generate(servers_of("first"))
    assert "servers/alpha/get.py" in str(raised.value)
    assert (place.python / "servers/alpha/get.py/mine").read_text() == "mine"


# The record


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"folders": 3}',
        '{"folders": {"servers/alpha": null}}',
        "[" * 100_000,
        "\0\xff",
    ],
    ids=["empty", "broken", "list", "null", "number", "no entry", "deep", "bytes"],
)
def test_a_damaged_record_is_as_good_as_none(place: Place, text: str) -> None:
    place.generate(servers_of("first"))
    before = contents(place.python)
    place.record.write_text(text, encoding="latin-1")
    outcome = place.generate(servers_of("first"))
    assert (outcome.written, outcome.unchanged, outcome.foreign) == (0, len(before), [])
    assert contents(place.python) == before


ENTRY = {"key": "", "server": None, "files": {"notes.txt": None}}


HOSTILE: dict[str, dict[str, Any]] = {
    "folder above": {"..": ENTRY},
    "folder two above": {"../..": ENTRY},
    "folder beside": {"../../elsewhere": ENTRY},
    "folder beside in disguise": {"servers/../../../elsewhere": ENTRY},
    "absolute folder": {"ELSEWHERE": ENTRY},
    "folder that is a link": {"servers/link": ENTRY},
    "file beside": {"servers": {**ENTRY, "files": {"../../../elsewhere/notes.txt": None}}},
    "absolute file": {"servers": {**ENTRY, "files": {"ELSEWHERE/notes.txt": None}}},
    "file from a folder that is not there": {
        "servers/none": {**ENTRY, "files": {"../../../../elsewhere/notes.txt": None}}
    },
    "file behind a link": {"servers": {**ENTRY, "files": {"link/notes.txt": None}}},
    "no key": {"servers/alpha": {"files": {}}},
    "number for a key": {"servers/alpha": {**ENTRY, "key": 7}},
    "nothing but files": {"servers/other": {"files": {}}},
    "list for a server": {"servers/other": {**ENTRY, "server": ["alpha"]}},
    "object for a server": {"servers/other": {**ENTRY, "server": {"a": 1}}},
    "list for files": {"servers/alpha": {**ENTRY, "files": [1]}},
    "text for a stamp": {"servers/alpha": {**ENTRY, "files": {"get.py": "x"}}},
    "null character in a folder": {"servers/a\0b": ENTRY},
    "null character in a file": {"servers": {**ENTRY, "files": {"a\0b": None}}},
    "half a character": {"servers/\ud800": ENTRY},
    "long folder": {"servers/" + "x" * 5000: ENTRY},
    "file for a folder": {"README.md": ENTRY},
    "file for the folder above": {"README.md/x": ENTRY},
    "folder for a file": {"": {**ENTRY, "files": {"servers": None}}},
    "dots for files": {"": {**ENTRY, "files": {"": None, ".": None}}},
}


@pytest.mark.parametrize("folders", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_record_deletes_nothing_elsewhere_and_stops_nothing(
    place: Place, elsewhere: Path, folders: dict[str, Any]
) -> None:
    place.generate(servers_of("first"))
    (place.python / "servers/link").symlink_to(elsewhere)
    before = contents(place.python)
    text = json.dumps({"root": str(place.python), "folders": folders})
    place.record.write_text(text.replace("ELSEWHERE", str(elsewhere)))
    place.generate(servers_of("first"))
    assert contents(elsewhere) == {"notes.txt": b"mine"}
    assert contents(place.python) == before
    assert place.generate(servers_of("second")).written
    assert contents(elsewhere) == {"notes.txt": b"mine"}


def test_a_record_that_is_no_file_is_passed_over(place: Place) -> None:
    place.generate(servers_of("first"))
    file = place.record
    file.unlink()
    os.mkfifo(file)  # reading it would wait for ever
    assert place.generate(servers_of("first")).written == 0


def test_nothing_in_the_tree_is_taken_for_a_record(place: Place) -> None:
    place.generate(servers_of("first"))
    assert not any(".json" in path and "index.json" not in path for path in contents(place.python))
    assert place.record.parent == place.records


# Failures and interruptions


@contextmanager
def read_only(directory: Path) -> Generator[None]:
    places = [directory, *(path for path in directory.rglob("*") if path.is_dir())]
    for path in places:
        path.chmod(0o555)
    try:
        yield
    finally:
        for path in places:
            path.chmod(0o755)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_to_raises_and_stays_as_it_is(place: Place) -> None:
    place.generate(servers_of("first"))
    before = contents(place.python)
    with read_only(place.output):
        assert place.generate(servers_of("first")).written == 0
        with pytest.raises(PermissionError):
            place.generate(servers_of("second"))
    assert contents(place.python) == before
    place.generate(servers_of("second"))
    assert (place.python / "servers/late/first.py").exists()


@contextmanager
def largest_file(size: int) -> Generator[None]:
    """Nothing larger can be written, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [0, 50_000], ids=["nothing can be written", "one file can't be written"])
def test_a_disk_that_is_full_leaves_whole_files(tmp_path: Path, size: int) -> None:
    large = [*servers_of("second"), *make_servers({"large": [tool("small"), tool("large", "x " * 50_000)]})]
    right = Place(tmp_path / "right")
    right.generate(large)
    place = Place(tmp_path)
    place.generate(servers_of("first"))
    before = contents(place.python)
    with largest_file(size), pytest.raises(OSError):
        place.generate(large)
    assert damage(place.python, before, contents(right.python)) == []
    assert place.generate(large).foreign == []
    assert contents(place.python) == contents(right.python)


def test_an_interrupted_run_leaves_whole_files_and_the_next_one_completes(tmp_path: Path) -> None:
    right = Place(tmp_path / "right")
    right.generate(servers_of("second"))
    place = Place(tmp_path)
    place.generate(servers_of("first"))
    before = contents(place.python)
    first, *others = servers_of("second")
    with pytest.raises(KeyboardInterrupt):
        place.generate([first, *map(interrupted, others)])
    assert damage(place.python, before, contents(right.python)) == []
    assert place.generate(servers_of("second")).foreign == []
    assert contents(place.python) == contents(right.python)


def test_what_an_interrupted_run_began_goes_if_it_is_no_longer_wanted(place: Place) -> None:
    first, second, third = servers_of("first")
    with pytest.raises(KeyboardInterrupt):
        place.generate([first, second, interrupted(third)])
    outcome = place.generate([])
    assert [path.name for path in (place.python / "servers").iterdir() if path.is_dir()] == []
    assert outcome.foreign == []


def test_what_an_interrupted_run_left_aside_goes(place: Place) -> None:
    place.generate(servers_of("first"))
    before = contents(place.python)
    (place.python / ".satchel-new/7").mkdir(parents=True)
    (place.python / ".satchel-new/7/half.py").write_text("imp")
    outcome = place.generate(servers_of("first"))
    assert contents(place.python) == before
    assert outcome.foreign == []


@pytest.mark.slow
@pytest.mark.timeout(400)  # a hundred runs, all of which wait for the disk
@pytest.mark.parametrize(
    "step", [5, pytest.param(1, marks=pytest.mark.long)], ids=["every fifth change", "every change"]
)
@pytest.mark.parametrize(
    "versions", [("none", "first"), ("first", "second")], ids=["a new tree", "an update"]
)
def test_killed_before_any_change_it_makes_a_run_leaves_whole_files_and_the_next_one_completes(
    tmp_path: Path, versions: tuple[str, str], step: int
) -> None:
    process = start("kill", tmp_path / "code-api", tmp_path / "records", step, *versions)
    found = json.loads(finish(process, 360))
    assert found["troubles"] == []
    assert found["kills"] > 50 / step


@pytest.mark.slow
def test_two_processes_at_once_end_with_a_whole_tree(tmp_path: Path) -> None:
    right = {version: fresh(tmp_path / version, version) for version in ("first", "second")}
    place = Place(tmp_path)
    dice = random.Random(7)
    for versions in (("first", "first"), ("second", "second"), ("first", "second"), ("second", "first")):
        order = dice.sample(versions, 2)
        for process in [start("write", place.output, place.records, version) for version in order]:
            finish(process)
        assert contents(place.output) in [right[version] for version in versions]
    place.generate(servers_of("first"), languages=LANGUAGES)
    assert contents(place.output) == right["first"]


# Names


def test_names_that_fold_together_have_files_of_their_own(place: Place) -> None:
    names = ["get", "Get", "GET", "get_", "get-", "sync", "Sync", "index", "example", "__init__", "version"]
    names += ["a b", "a_b", "a-b", "é", "e\u0301", "import", "resources", "", "..", "a/b", "\ud800"]
    servers = make_servers({name: [tool(each) for each in names] for name in ["x y", "x_y", "X-Y", "", ".."]})
    for server in servers:
        for tool_of_it in server.tools:
            assert tool_of_it.name in names
    place.generate(servers, languages=LANGUAGES)
    for root, ending in ((place.python, ".py"), (place.typescript, ".ts")):
        folders = [path for path in (root / "servers").iterdir() if path.is_dir()]
        assert len({path.name.casefold() for path in folders}) == len(servers)
        for folder in folders:
            files = [path.name for path in folder.iterdir()]
            assert len({name.casefold() for name in files}) == len(files)
            index = json.loads((folder / "index.json").read_text())
            assert len(index["tools"]) == len(names)
            assert {row["file"] for row in index["tools"]} <= set(files)
            assert all(row["file"].endswith(ending) for row in index["tools"])
    rows = json.loads((place.python / "servers/index.json").read_text())["servers"]
    assert len({row["folder"] for row in rows}) == len(servers)


def everything(server: Server) -> Server:
    return replace(
        server,
        resources=(Resource(server=server.name, uri="memo://x", name="x"),),
        prompts=(Prompt(server=server.name, name="greet"),),
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_files_that_are_announced_are_those_that_are_written(language: Language) -> None:
    """Else an interrupted run would leave files that the next one takes for foreign."""
    servers = [*servers_of("first"), *map(everything, servers_of("second"))]
    if SHARED.is_dir():
        servers += read_real_servers(SHARED / "realtools")[::8]
    for server in servers:
        texts = server_files(server, [read_signature(each, server) for each in server.tools], language)
        assert sorted(file_names(server, language)) == sorted(texts)


@pytest.mark.parametrize("as_link", [False, True])
def test_byte_code_that_appears_later_is_removed_by_every_run(
    place: Place, tmp_path: Path, as_link: bool
) -> None:
    place.generate(servers_of("first"))
    for folder in ("servers/alpha", "servers", "helpers"):
        cache = place.python / folder / "__pycache__"
        if as_link:
            (tmp_path / "planted").mkdir(exist_ok=True)
            cache.symlink_to(tmp_path / "planted")
        else:
            cache.mkdir()
            (cache / "x.pyc").write_bytes(b"")
    outcome = place.generate(servers_of("first"))
    assert (outcome.written, outcome.foreign) == (0, [])
    assert not [path for path in place.python.rglob("*") if path.name == "__pycache__"]


@pytest.mark.parametrize("name", ["get/__init__.py", "get.cpython-311-x86_64-linux-gnu.so", "get.pyc"])
def test_what_python_would_import_instead_of_a_wrapper_is_refused(place: Place, name: str) -> None:
    place.generate(servers_of("first"))
    planted = place.python / "servers/alpha" / name
    planted.parent.mkdir(exist_ok=True)
    planted.write_text("evil")
    with pytest.raises(SatchelError, match=r"imported instead of get\.py"):
        place.generate(servers_of("first"))


def test_files_that_were_there_before_are_not_written_over_unless_that_is_allowed(place: Place) -> None:
    (place.python / "helpers").mkdir(parents=True)
    name = next(iter(support("python")["helpers"]))
    (place.python / "helpers" / name).write_text("mine")
    with pytest.raises(SatchelError, match="Satchel did not write it"):
        place.generate(servers_of("first"), adopt=False)
    assert (place.python / "helpers" / name).read_text() == "mine"
    place.generate(servers_of("first"), adopt=True)
    assert (place.python / "helpers" / name).read_text() != "mine"
    place.generate(servers_of("second"), adopt=False)


def test_the_root_has_an_example_with_a_line_for_every_tool(place: Place) -> None:
    place.generate(with_custom("first", "web"), languages=["typescript"])
    text = (place.typescript / "example.ts").read_text()
    assert "if (import.meta.main)" in text
    lines = [line.strip() for line in text.splitlines()]
    assert 'const server = await import("./servers/alpha/index.ts");' in lines
    assert 'const server = await import("./tools/web/index.ts");' in lines
    calls = [line for line in lines if line.startswith("// console.log(await server.")]
    assert len(calls) == sum(server.tool_count for server in with_custom("first", "web"))
    place.generate(servers_of("second"), languages=["typescript"])
    later = (place.typescript / "example.ts").read_text()
    assert "alpha" in later and "fresh" in later and "web" not in later


@pytest.mark.slow
def test_deno_checks_and_runs_what_lies_at_the_root(tmp_path: Path) -> None:
    generate_tree(tmp_path, servers_of("first"))
    tree = tmp_path / "typescript"
    (tree / "servers/alpha/mine.ts").write_text(
        'import { callMCPTool } from "../../client.ts";\n'
        "export const mine = (text: string) => callMCPTool<{ text: string }>('alpha.get', { text });\n"
    )
    files = ["example.ts", "client.ts", "servers/alpha/mine.ts"]
    checked = run_deno(tree, "check", "--no-remote", *files)
    assert checked.returncode == 0, checked.stderr
    ran = run_deno(tree, "run", "--no-remote", "--no-prompt", "example.ts")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[0] == 'alpha [ "drop", "get", "put" ]'
