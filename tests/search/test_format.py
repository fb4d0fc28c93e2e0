"""Sections on disk are used as they are: one that was made in another way must not be."""

from hashlib import sha256

from satchel.search.cached import FORMAT
from satchel.search.index import make_section
from satchel.search.tool_documents import FIELDS, document_of

MADE = {4: "06bf2530035e035f"}


def test_what_is_made_in_another_way_has_another_format() -> None:
    schema = {
        "type": "object",
        "properties": {
            "folderId": {"type": "string", "description": "Where the reports are; queries are cached"},
            "order": {"enum": ["newest", "oldest"]},
        },
    }
    tools = [
        document_of(
            "google-drive", "searchDocuments", "Search", "Find documents. Also old ones.", schema, "Files"
        ),
        document_of("google-drive", "创建文件", None, "创建一个新文件。", {}, "Files"),
    ]
    made = sha256(repr(make_section(tools, FIELDS)).encode()).hexdigest()[:16]
    hint = (
        f"sections are made in another way: set FORMAT in cached.py to another number, and {made} for it here"
    )
    assert MADE.get(FORMAT) == made, hint
