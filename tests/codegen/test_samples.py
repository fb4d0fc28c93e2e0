"""Examples show values of the kind that is meant."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from satchel.codegen.examples import example_input
from satchel.codegen.samples import sample_text
from satchel.codegen.signature import read_signature
from satchel.model import Json
from tests.codegen.helpers import python_of, read_real_servers, signature_of
from tests.conftest import SHARED


@pytest.mark.parametrize(
    ("name", "about", "around", "sample"),
    [
        ("filepath", "Path to Excel file", "", "report.xlsx"),
        ("filename", "", "get document text of a Word document", "report.docx"),
        ("file_path", "", "open presentation powerpoint", "report.pptx"),
        ("path", "An absolute path to a .csv file", "", "/home/ada/report.csv"),
        ("path", "Where it is", "read a file", "notes/example.txt"),
        ("url", "Address of the PDF", "", "https://example.com/report.pdf"),
        ("url", "", "reads PDF files", "https://example.com"),
        ("repo_path", "", "git status", "projects/example"),
        ("dockerfile_path", "", "build a container image", "Dockerfile"),
        ("image", "", "push a container image", "example:latest"),
        ("image_path", "", "", "picture.png"),
        ("query", "", "Run a SQL query", "SELECT 1"),
        ("query", "What to look for", "search the web", "quarterly report"),
        ("sheet_name", "", "excel", "Sheet1"),
        ("collection_name", "", "", "documents"),
        ("fileKey", "", "", "example1"),
        ("accountId", "", "", "example1"),
        ("paid", "", "", "example"),
        ("user_name", "", "", "ada"),
        ("project_name", "", "", "example"),
    ],
)
def test_a_text_fits_its_parameter(name: str, about: str, around: str, sample: str) -> None:
    assert sample_text(name, about, around) == sample


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "format": "uuid"}, "00000000-0000-4000-8000-000000000001"),
        ({"type": "string", "format": "date-time", "description": "e.g. now"}, "2026-01-31T12:00:00Z"),
        ({"type": "string", "format": "odd"}, "example"),
        ({"type": "string", "format": ["uuid"]}, "example"),
        ({"type": "integer", "format": "uuid"}, 1),
    ],
)
def test_a_value_has_the_format_that_is_demanded(schema: Json, value: object) -> None:
    definition = {"inputSchema": {"type": "object", "properties": {"x": schema}, "required": ["x"]}}
    assert example_input(signature_of(definition)) == {"x": value}


def test_the_name_and_text_of_a_tool_say_what_its_file_is() -> None:
    schema = {"type": "object", "properties": {"filepath": {"type": "string"}}, "required": ["filepath"]}
    definition = {"name": "read_sheet", "description": "Read a workbook.", "inputSchema": schema}
    assert example_input(signature_of(definition)) == {"filepath": "report.xlsx"}
    assert "report.xlsx" not in python_of(definition)


@pytest.mark.slow
def test_examples_of_real_tools_fit_their_schemas() -> None:
    directory = SHARED / "realtools"
    if not directory.is_dir():
        pytest.skip("../shared/data/realtools is not here")
    wrong: list[str] = []
    tools = [(server, tool) for server in read_real_servers(directory) for tool in server.tools]
    for server, tool in tools:
        values = example_input(read_signature(tool, server))
        validator: Any = Draft202012Validator(tool.input_schema)  # its types are not all known
        if values is not None and not validator.is_valid(values):
            wrong.append(tool.qualified_name)
    assert len(wrong) < len(tools) / 100, wrong
