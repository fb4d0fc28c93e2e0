"""An example MCP server: a company drive with made-up documents, over stdio.

One document is long (over 100 KB), so that it's worth reading in a program instead of in a conversation.
"""

from __future__ import annotations

from typing import Annotated, Literal

from google_drive_data import DOCUMENT, MARKDOWN, SPREADSHEET, Seed, add_document, seed
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from pydantic import BaseModel, Field
from shared import ADDS, ADDS_ONCE, READS, parse_time, tool, unknown
from state import Record, Records, State, as_text

server = MCPServer(
    "google-drive",
    title="Google Drive (example)",
    version="1.0.0",
    instructions=(
        "A company drive. Find documents by title, folder or date with list_documents, or by their text with"
        " search_documents; both return ids for get_document. Reports can be long: read them in a program and"
        " keep only the lines you need. Quarterly reports are in the folder 'Finance/Quarterly Reports'; what"
        " matters in one is on lines that start with 'Key figure:' and 'Finding:'."
    ),
    log_level="WARNING",
)
state = State("google_drive", seed)

MimeType = Literal[
    "application/vnd.google-apps.document", "application/vnd.google-apps.spreadsheet", "text/markdown"
]
Role = Literal["viewer", "commenter", "editor"]
ROLES = ("viewer", "commenter", "editor")
MIME_TYPES: dict[str, MimeType] = {"document": DOCUMENT, "spreadsheet": SPREADSHEET, "markdown": MARKDOWN}

DocumentId = Annotated[str, Field(description="Id of a document, such as doc-012, as listings return it.")]
Folder = Annotated[
    str | None,
    Field(description="Only documents in this folder and below, such as 'Finance' or 'Finance/Budgets'."),
]
Limit = Annotated[int, Field(ge=1, le=100, description="At most this many results.")]


class DocumentMetadata(BaseModel):
    """What is known about a document without opening it."""

    id: str
    title: str
    folder: str = Field(description="Path of the folder, parts separated by a slash.")
    owner: str = Field(description="E-mail address.")
    modified_at: str = Field(description="UTC, such as 2026-10-22T08:55:00Z.")
    mime_type: MimeType
    size: int = Field(description="Size of the content in bytes.")


class Document(DocumentMetadata):
    """A document with its whole text."""

    content: str = Field(description="Markdown, plain text, or CSV for a spreadsheet.")


class DocumentList(BaseModel):
    documents: list[DocumentMetadata]
    total: int = Field(description="Number of matching documents, also those beyond the limit.")


class Snippet(BaseModel):
    line: int = Field(description="Line number in the content, from 1.")
    text: str


class SearchHit(BaseModel):
    document_id: str
    title: str
    modified_at: str
    match_count: int = Field(description="Number of lines that match.")
    snippets: list[Snippet] = Field(description="The first matching lines.")


class SearchResult(BaseModel):
    query: str
    hits: list[SearchHit] = Field(description="Documents with most matching lines first.")


class FolderInfo(BaseModel):
    path: str
    description: str
    document_count: int = Field(description="Documents directly in this folder.")


class FolderList(BaseModel):
    folders: list[FolderInfo]


class Permission(BaseModel):
    email: str
    role: Literal["owner", "viewer", "commenter", "editor"]


class Sharing(BaseModel):
    document_id: str
    permissions: list[Permission] = Field(description="Everyone who may open the document.")


class Comment(BaseModel):
    id: str
    document_id: str
    author: str = Field(description="E-mail address.")
    created_at: str
    text: str
    resolved: bool


class CommentList(BaseModel):
    document_id: str
    comments: list[Comment] = Field(description="Oldest first.")


@tool(server, READS)
def list_documents(
    folder: Folder = None,
    query: Annotated[
        str | None, Field(description="Only titles that contain all of these words, in any case.")
    ] = None,
    mime_type: Annotated[MimeType | None, Field(description="Only documents of this type.")] = None,
    modified_after: Annotated[
        str | None, Field(description="Only documents changed after this date or time (ISO 8601, UTC).")
    ] = None,
    limit: Limit = 50,
) -> DocumentList:
    """List documents by folder and title, without their content. To find text inside documents use
    search_documents. To find the newest, compare modified_at: titles don't sort by date."""
    after = parse_time("modified_after", modified_after) if modified_after else ""
    words = (query or "").lower().split()
    with state.reading() as records:
        found = [
            record
            for record in documents_in(records, folder)
            if all(word in record["title"].lower() for word in words)
            and mime_type in (None, record["mime_type"])
            and record["modified_at"] > after
        ]
    return DocumentList(documents=[metadata(record) for record in found[:limit]], total=len(found))


@tool(server, READS)
def search_documents(
    query: Annotated[str, Field(min_length=1, description="Text to find; capitals don't matter.")],
    folder: Folder = None,
    snippets: Annotated[
        int, Field(ge=0, le=20, description="Matching lines to return of each document.")
    ] = 3,
    limit: Limit = 10,
) -> SearchResult:
    """Search the content of documents for a text and return the first matching lines of each document."""
    hits: list[SearchHit] = []
    with state.reading() as records:
        for record in documents_in(records, folder):
            lines = enumerate(content_of(records, record["id"]).splitlines(), 1)
            matches = [
                Snippet(line=number, text=text) for number, text in lines if query.lower() in text.lower()
            ]
            if matches:
                hits.append(
                    SearchHit(
                        document_id=record["id"],
                        title=record["title"],
                        modified_at=record["modified_at"],
                        match_count=len(matches),
                        snippets=matches[:snippets],
                    )
                )
    hits.sort(key=lambda hit: -hit.match_count)
    return SearchResult(query=query, hits=hits[:limit])


@tool(server, READS)
def get_document(document_id: DocumentId) -> Document:
    """Get a document with its whole content, which can be longer than 100,000 characters. For everything but
    the content use get_document_metadata."""
    with state.reading() as records:
        record = find_document(records, document_id)
        return Document(**metadata(record).model_dump(), content=content_of(records, document_id))


@tool(server, READS)
def get_document_metadata(document_id: DocumentId) -> DocumentMetadata:
    """Get title, folder, owner, date of the last change, type and size of a document, without its content."""
    with state.reading() as records:
        return metadata(find_document(records, document_id))


@tool(server, READS)
def list_folders() -> FolderList:
    """List all folders, with the number of documents in each."""
    with state.reading() as records:
        documents = records.all("document")
        return FolderList(
            folders=[
                FolderInfo(**folder, document_count=sum(one["folder"] == folder["path"] for one in documents))
                for folder in records.all("folder")
            ]
        )


@tool(server, ADDS)
def create_document(
    title: Annotated[str, Field(min_length=1, description="Title; several documents may have the same.")],
    content: Annotated[str, Field(description="The whole text; CSV for a spreadsheet.")],
    folder: Annotated[str, Field(description="Path of an existing folder, as list_folders returns it.")],
    kind: Annotated[
        Literal["document", "spreadsheet", "markdown"], Field(description="What to create.")
    ] = "document",
) -> DocumentMetadata:
    """Create a document in an existing folder and return its id and metadata. You become its owner."""
    with state.changing() as records:
        check_folder(records, folder)
        id = add_document(
            records,
            Seed(
                title=title,
                folder=folder,
                owner="you@example.com",
                modified_at=as_text(records.next_time()),
                mime_type=MIME_TYPES[kind],
                content=content,
            ),
        )
        return metadata(find_document(records, id))


@tool(server, ADDS_ONCE)
def share_document(
    document_id: DocumentId,
    email: Annotated[str, Field(description="E-mail address of the person to share with.")],
    role: Annotated[Role, Field(description="What the person may do.")] = "viewer",
) -> Sharing:
    """Let a person open a document, or do more with it than before; sharing never takes rights away. Returns
    everyone it's shared with."""
    if email.count("@") != 1 or email.startswith("@") or email.endswith("@"):
        raise ToolError(f"{email!r} is not an e-mail address. Give one such as imogen.pryce@example.com.")
    with state.changing() as records:
        record = find_document(records, document_id)
        if email == record["owner"]:
            raise ToolError(f"{email} owns {document_id} and can already do everything with it.")
        roles = {one["email"]: one["role"] for one in record["permissions"]}
        roles[email] = max(role, roles.get(email, role), key=ROLES.index)
        record["permissions"] = [{"email": email, "role": role} for email, role in roles.items()]
        records.put("document", document_id, record)
    return Sharing(
        document_id=document_id,
        permissions=[Permission(**permission) for permission in record["permissions"]],
    )


@tool(server, READS)
def list_comments(
    document_id: DocumentId,
    include_resolved: Annotated[bool, Field(description="Also comments that have been dealt with.")] = True,
) -> CommentList:
    """List the comments on a document, oldest first."""
    with state.reading() as records:
        find_document(records, document_id)
        comments = [Comment(**one) for one in records.all("comment") if one["document_id"] == document_id]
    return CommentList(
        document_id=document_id, comments=[one for one in comments if include_resolved or not one.resolved]
    )


@server.resource("drive://about", title="About this drive", mime_type="text/markdown")
def about() -> str:
    """What is in this drive, by folder."""
    lines = (f"- {one.path}: {one.description} ({one.document_count})" for one in list_folders().folders)
    return "\n".join(["# The drive of Larkfield Systems", "", *lines, ""])


@server.resource("drive://documents/{document_id}", title="Content of a document", mime_type="text/plain")
def document_content(document_id: str) -> str:
    """The text of one document."""
    try:
        return get_document(document_id).content
    except ToolError as error:
        raise ResourceNotFoundError(str(error)) from error


@server.prompt(title="Summarise a document")
def summarise_document(document_id: str, audience: str = "the account team") -> str:
    """Ask for a summary of one document for a certain audience."""
    return (
        f"Read the document {document_id} of google-drive and summarise it for {audience} in at most"
        " ten lines. Start with its findings and give each figure as it stands in the document."
    )


def documents_in(records: Records, folder: str | None) -> list[Record]:
    everything = records.all("document")
    if folder is None:
        return everything
    check_folder(records, folder)
    return [one for one in everything if f"{one['folder']}/".startswith(f"{folder}/")]


def check_folder(records: Records, folder: str) -> None:
    if records.get("folder", folder) is None:
        known = [one["path"] for one in records.all("folder")]
        raise unknown("folder", folder, known, f"The folders are: {', '.join(known)}.")


def find_document(records: Records, document_id: str) -> Record:
    record = records.get("document", document_id)
    if record is not None:
        return record
    documents = records.all("document")
    for one in documents:
        if one["title"].lower() == document_id.lower():
            raise ToolError(f"{document_id!r} is a title. The id of that document is {one['id']!r}.")
    ids = [one["id"] for one in documents]
    raise unknown(
        "document with the id", document_id, ids, "Call list_documents for the ids of all documents."
    )


def content_of(records: Records, document_id: str) -> str:
    content = records.get("content", document_id)
    return content["text"] if content else ""


def metadata(record: Record) -> DocumentMetadata:
    return DocumentMetadata.model_validate(record)


if __name__ == "__main__":
    server.run()
