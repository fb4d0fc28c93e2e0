"""Long texts: a wrapper has their beginning, a file beside it all of them."""

import re
from pathlib import Path

import pytest

from satchel.codegen.layout import server_files
from satchel.codegen.places import file_names
from satchel.codegen.signature import read_signature
from satchel.languages import LANGUAGES, Language
from satchel.model import Json, Server
from tests.codegen.helpers import make_server
from tests.codegen.trees import Place

SENTENCES = " ".join(f"Sentence {number} says a little." for number in range(200))
LONG: Json = {
    "name": "send",
    "description": f"Send a message.\n\n{SENTENCES}\n\nThe end of it.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
}
SHORT: Json = {**LONG, "description": "Send a message."}


def files_of(server: Server, language: Language) -> dict[str, str]:
    signatures = [read_signature(tool, server) for tool in server.tools]
    files = server_files(server, signatures, language)
    assert sorted(files) == sorted(file_names(server, language))
    return files


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_long_description_goes_on_in_a_file_that_the_wrapper_names(language: Language) -> None:
    server = make_server("team chat", [LONG])
    files = files_of(server, language)
    folder = LANGUAGES[language].spelled(server.spelling)
    wrapper = files[f"send{LANGUAGES[language].ending}"]
    assert len(wrapper) < 2500
    assert f"The whole text: servers/{folder}/send.md\n" in wrapper
    assert "Sentence 5 says a little." in wrapper
    assert "The end of it." not in wrapper
    assert files["send.md"] == f"# send\n\n{LONG['description']}\n"


def test_the_file_is_the_same_in_all_languages() -> None:
    server = make_server("chat", [LONG])
    assert len({files_of(server, language)["send.md"] for language in LANGUAGES}) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_short_texts_need_no_other_file(language: Language) -> None:
    files = files_of(make_server("chat", [SHORT]), language)
    assert not [name for name in files if name.endswith(".md")]
    assert "The whole text" not in "".join(files.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_long_text_within_a_schema_is_cut_and_named_by_its_place(language: Language) -> None:
    step = {"type": "object", "properties": {"note": {"type": "string", "description": SENTENCES}}}
    schema = {"type": "object", "properties": {"steps": {"type": "array", "items": step}}}
    output = {"type": "object", "properties": {"state": {"type": "string", "description": SENTENCES}}}
    tool = {"name": "go", "description": "Go.", "inputSchema": schema, "outputSchema": output}
    files = files_of(make_server("chat", [tool]), language)
    wrapper = files[f"go{LANGUAGES[language].ending}"]
    assert len(wrapper) < 2500
    assert wrapper.count("Sentence 5 says a little. ") == 2
    expected = f"# go\n\nGo.\n\n## steps.note\n\n{SENTENCES}\n\n## result.state\n\n{SENTENCES}\n"
    assert files["go.md"] == expected


def test_many_texts_that_are_long_together_are_cut_too() -> None:
    text = SENTENCES[:350].strip()
    properties = {f"parameter{number}": {"type": "string", "description": text} for number in range(20)}
    tool = {"name": "go", "description": "Go.", "inputSchema": {"type": "object", "properties": properties}}
    files = files_of(make_server("chat", [tool]), "python")
    assert len(files["go.py"]) < 4500
    assert files["go.md"].count(text) == 20


def test_many_short_texts_stay_as_they_are() -> None:
    properties = {f"parameter{number}": {"type": "string", "description": "Short."} for number in range(900)}
    tool = {"name": "go", "description": "Go.", "inputSchema": {"type": "object", "properties": properties}}
    files = files_of(make_server("chat", [tool]), "python")
    assert "go.md" not in files
    assert files["go.py"].count("Short.") == 900


def test_values_of_a_schema_are_not_cut() -> None:
    schema = {
        "type": "object",
        "properties": {
            "by": {"type": "object", "default": {"description": SENTENCES[:1700]}, "enum": [SENTENCES]}
        },
    }
    tool = {"name": "go", "description": SENTENCES, "inputSchema": schema}
    assert SENTENCES in files_of(make_server("chat", [tool]), "python")["go.py"]


def test_code_that_is_cut_is_closed() -> None:
    text = f"Go.\n\n```python\n{'go() ' * 1000}\n```"
    files = files_of(make_server("chat", [{**SHORT, "description": text}]), "python")
    assert len(re.findall("```", files["send.py"])) == 2


def test_the_file_is_recorded_and_removed_when_it_is_not_needed_any_more(tmp_path: Path) -> None:
    place = Place(tmp_path)
    manuals = [place.python / "servers/chat/send.md", place.typescript / "servers/chat/send.md"]
    place.generate([make_server("chat", [LONG])], languages=LANGUAGES)
    assert all(manual.is_file() for manual in manuals)
    outcome = place.generate([make_server("chat", [LONG])], languages=LANGUAGES)
    assert (outcome.written, outcome.removed, outcome.foreign) == (0, 0, [])
    place.generate([make_server("chat", [SHORT])], languages=LANGUAGES)
    assert not any(manual.exists() for manual in manuals)


def test_a_file_of_somebody_else_in_its_place_is_left_alone_where_it_is_not_needed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.generate([make_server("chat", [SHORT])])
    foreign = place.python / "servers/chat/send.md"
    foreign.write_text("mine")
    changed = {**SHORT, "description": "Send it."}
    outcome = place.generate([make_server("chat", [changed])])
    assert outcome.foreign == ["servers/chat/send.md"]
    assert foreign.read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["../../escape", "README", "a/b", "con", ".", "..", "", "x" * 300, "\u202egpj"]
)
def test_no_name_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.generate([make_server("chat", [{**LONG, "name": name}])], languages=LANGUAGES)
    folders = {file.parent for file in tmp_path.rglob("*.md") if "Sentence 199" in file.read_text()}
    assert folders == {place.python / "servers/chat", place.typescript / "servers/chat"}
