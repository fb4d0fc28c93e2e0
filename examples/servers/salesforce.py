"""An example MCP server: a customer database with made-up records that really change, over stdio."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field
from salesforce_data import YOU, seed
from salesforce_objects import (
    MAX_TEXT_CHARS,
    OBJECTS,
    FieldDescription,
    ObjectType,
    Value,
    add_record,
    change_record,
    check_required,
    check_values,
    fields_of,
    find_record,
)
from salesforce_query import Condition, matching, ordered
from shared import ADDS, DELETES, OVERWRITES, READS, tool
from state import Record, Records, State, as_text

server = MCPServer(
    "salesforce",
    title="Salesforce (example)",
    version="1.0.0",
    instructions=(
        "A customer database with records of the types Account, Contact, Opportunity, Lead and Task. Ids"
        " start with the type: ACC-001, CON-001, OPP-001, LEAD-001, TASK-001. describe_object lists the"
        " fields of a type. Changes are kept. To record what was learnt about a deal, set its description"
        " with update_opportunity or update_record, or add a note."
    ),
    log_level="WARNING",
)
state = State("salesforce", seed)

Stage = Literal["Prospecting", "Qualification", "Proposal", "Negotiation", "Closed Won", "Closed Lost"]

RecordId = Annotated[str, Field(description="Id of a record of any type, such as OPP-001 or ACC-003.")]
OfType = Annotated[ObjectType, Field(description="Type of record.")]
Data = Annotated[
    dict[str, Value], Field(min_length=1, description="Fields and values, as describe_object lists them.")
]
Limit = Annotated[int, Field(ge=1, le=200, description="At most this many results.")]


class SalesforceRecord(BaseModel):
    """A record of any type."""

    id: str
    object_type: ObjectType
    fields: dict[str, Value] = Field(description="All fields of the type; null where there is no value.")
    created_at: str = Field(description="UTC, such as 2026-10-22T08:55:00Z.")
    updated_at: str


class QueryResult(BaseModel):
    records: list[SalesforceRecord]
    total: int = Field(description="Number of matching records, also those beyond the limit.")


class Opportunity(BaseModel):
    """A deal that may be won."""

    id: str
    name: str
    account_id: str
    account_name: str
    stage: Stage
    amount: float | None = Field(description="Dollars.")
    probability: float | None = Field(description="Percent.")
    close_date: str | None = Field(description="Such as 2026-12-18.")
    next_step: str | None
    owner: str | None
    description: str | None
    updated_at: str


class OpportunityList(BaseModel):
    opportunities: list[Opportunity]
    total: int = Field(description="Number of matching opportunities, also those beyond the limit.")
    total_amount: float = Field(description="Sum of the amounts of all matching opportunities.")


class Account(BaseModel):
    """A company that is or may become a customer."""

    id: str
    name: str
    industry: str | None
    country: str | None
    sites: int | None
    annual_value: float | None = Field(description="Dollars.")
    owner: str | None
    open_opportunities: int


class AccountList(BaseModel):
    accounts: list[Account]
    total: int


class Note(BaseModel):
    """A text attached to a record."""

    id: str
    record_id: str
    title: str
    body: str
    author: str
    created_at: str


class NoteList(BaseModel):
    record_id: str
    notes: list[Note] = Field(description="Newest first.")


class ObjectDescription(BaseModel):
    object_type: ObjectType
    id_prefix: str
    record_count: int
    fields: list[FieldDescription]


class Deleted(BaseModel):
    id: str
    object_type: ObjectType
    notes_deleted: int


@tool(server, READS)
def query_records(
    object_type: OfType,
    conditions: Annotated[
        list[Condition] | None, Field(description="All of these have to hold; none means every record.")
    ] = None,
    order_by: Annotated[
        str | None, Field(description="Field to sort by; a leading minus sorts from the largest.")
    ] = None,
    limit: Limit = 50,
    offset: Annotated[int, Field(ge=0, description="Leave out this many results first.")] = 0,
) -> QueryResult:
    """Find records of one type by conditions on their fields. For deals list_opportunities is shorter."""
    with state.reading() as records:
        found = matching(object_type, records.all(object_type), conditions or [])
    if order_by:
        found = ordered(object_type, found, order_by)
    return QueryResult(
        records=[SalesforceRecord.model_validate(one) for one in found[offset : offset + limit]],
        total=len(found),
    )


@tool(server, READS)
def get_record(object_type: OfType, record_id: RecordId) -> SalesforceRecord:
    """Get one record with all its fields."""
    with state.reading() as records:
        return SalesforceRecord.model_validate(find_record(records, record_id, object_type))


@tool(server, ADDS)
def create_record(object_type: OfType, data: Data) -> SalesforceRecord:
    """Create a record and return it with its new id. describe_object says which fields are required."""
    with state.changing() as records:
        check_values(records, object_type, data)
        check_required(object_type, data)
        now = as_text(records.next_time())
        return SalesforceRecord.model_validate(add_record(records, object_type, data, now))


@tool(server, OVERWRITES)
def update_record(object_type: OfType, record_id: RecordId, data: Data) -> SalesforceRecord:
    """Change fields of a record and return it whole. Fields that are not named stay as they are; null empties
    a field."""
    with state.changing() as records:
        record = find_record(records, record_id, object_type)
        check_values(records, object_type, data)
        now = as_text(records.next_time())
        return SalesforceRecord.model_validate(change_record(records, record, data, now))


@tool(server, DELETES)
def delete_record(object_type: OfType, record_id: RecordId) -> Deleted:
    """Delete a record and the notes on it for good. A record that others refer to can't be deleted."""
    with state.changing() as records:
        find_record(records, record_id, object_type)
        referring = [
            record["id"]
            for kind in OBJECTS
            for record in records.all(kind)
            if record_id in (record["fields"].get("account_id"), record["fields"].get("related_to"))
        ]
        if referring:
            raise ToolError(
                f"{record_id} can't be deleted, because {', '.join(referring[:5])}"
                f"{' and others' if len(referring) > 5 else ''} refer to it. Change or delete these first."
            )
        notes = [note["id"] for note in records.all("note") if note["record_id"] == record_id]
        for note_id in notes:
            records.delete("note", note_id)
        records.delete(object_type, record_id)
    return Deleted(id=record_id, object_type=object_type, notes_deleted=len(notes))


@tool(server, READS)
def list_opportunities(
    stage: Annotated[Stage | None, Field(description="Only deals in this stage.")] = None,
    account_id: Annotated[
        str | None, Field(description="Only deals of this account, such as ACC-001.")
    ] = None,
    owner: Annotated[str | None, Field(description="Only deals of this person, by name.")] = None,
    min_amount: Annotated[float | None, Field(description="Only deals of at least so many dollars.")] = None,
    open_only: Annotated[bool, Field(description="Leave out deals that were won or lost.")] = False,
    limit: Limit = 50,
) -> OpportunityList:
    """List deals, largest first, with the sum of their amounts."""
    with state.reading() as records:
        if account_id:
            find_record(records, account_id, "Account")
        found = [as_opportunity(records, record) for record in records.all("Opportunity")]
    found = [
        one
        for one in found
        if stage in (None, one.stage)
        and account_id in (None, one.account_id)
        and (owner is None or owner.lower() == (one.owner or "").lower())
        and (min_amount is None or (one.amount or 0) >= min_amount)
        and not (open_only and one.stage.startswith("Closed"))
    ]
    found.sort(key=lambda one: -(one.amount or 0))
    return OpportunityList(
        opportunities=found[:limit], total=len(found), total_amount=sum(one.amount or 0 for one in found)
    )


@tool(server, OVERWRITES)
def update_opportunity(
    opportunity_id: Annotated[str, Field(description="Id of the deal, such as OPP-001.")],
    stage: Annotated[Stage | None, Field(description="New stage; also sets the probability.")] = None,
    amount: Annotated[float | None, Field(ge=0, description="New value in dollars.")] = None,
    close_date: Annotated[str | None, Field(description="New date, such as 2026-12-18.")] = None,
    # Texts are str, not str | None: MCPServer parses a text that happens to be JSON for any other type.
    next_step: Annotated[str, Field(description="New text on what has to happen next.")] = "",
    description: Annotated[str, Field(description="New description, in place of the old one.")] = "",
) -> Opportunity:
    """Change a deal and return it. What is not given stays as it is; to empty a field use update_record."""
    given: dict[str, Value] = {
        "stage": stage,
        "amount": amount,
        "close_date": close_date,
        "next_step": next_step or None,
        "description": description or None,
    }
    data = {name: value for name, value in given.items() if value is not None}
    if not data:
        raise ToolError(f"Nothing to change: give at least one of {', '.join(given)}.")
    with state.changing() as records:
        record = find_record(records, opportunity_id, "Opportunity")
        check_values(records, "Opportunity", data)
        now = as_text(records.next_time())
        return as_opportunity(records, change_record(records, record, data, now))


@tool(server, ADDS)
def add_note(
    record_id: RecordId,
    title: Annotated[str, Field(min_length=1, max_length=255, description="One line.")],
    body: Annotated[str, Field(description="The text, at most 131,072 characters.")],
) -> Note:
    """Attach a note to a record of any type, without changing the record."""
    if len(body) > MAX_TEXT_CHARS:
        raise ToolError(f"The note has {len(body):,} characters and {MAX_TEXT_CHARS:,} are allowed.")
    with state.changing() as records:
        find_record(records, record_id)
        note = Note(
            id=f"NOTE-{records.next_number('note'):03d}",
            record_id=record_id,
            title=title,
            body=body,
            author=YOU,
            created_at=as_text(records.next_time()),
        )
        records.put("note", note.id, note.model_dump())
    return note


@tool(server, READS)
def list_notes(record_id: RecordId) -> NoteList:
    """List the notes on a record, newest first."""
    with state.reading() as records:
        find_record(records, record_id)
        notes = [Note.model_validate(one) for one in records.all("note") if one["record_id"] == record_id]
    return NoteList(record_id=record_id, notes=notes[::-1])


@tool(server, ADDS)
def log_activity(
    record_id: RecordId,
    kind: Annotated[Literal["Call", "E-mail", "Meeting"], Field(description="What took place.")],
    subject: Annotated[str, Field(min_length=1, description="What it was about, in one line.")],
    description: Annotated[str, Field(description="What was said and agreed.")] = "",
) -> SalesforceRecord:
    """Record a call, e-mail or meeting that took place, as a completed Task on a record of any type."""
    with state.changing() as records:
        find_record(records, record_id)
        now = as_text(records.next_time())
        data: dict[str, Value] = {
            "subject": subject,
            "kind": kind,
            "status": "Completed",
            "due_date": now[:10],
            "related_to": record_id,
            "owner": YOU,
            "description": description or None,
        }
        check_values(records, "Task", data)
        return SalesforceRecord.model_validate(add_record(records, "Task", data, now))


@tool(server, READS)
def list_accounts(
    query: Annotated[
        str | None, Field(description="Only accounts whose name or industry contains this.")
    ] = None,
    country: Annotated[str | None, Field(description="Only accounts in this country.")] = None,
    limit: Limit = 50,
) -> AccountList:
    """List customers by name, with the number of their open deals."""
    wanted = (query or "").lower()
    with state.reading() as records:
        open_deals = [
            one["fields"]["account_id"]
            for one in records.all("Opportunity")
            if not one["fields"]["stage"].startswith("Closed")
        ]
        accounts = [
            Account(**one["fields"], id=one["id"], open_opportunities=open_deals.count(one["id"]))
            for one in records.all("Account")
        ]
    found = [
        one
        for one in sorted(accounts, key=lambda one: one.name)
        if wanted in f"{one.name} {one.industry or ''}".lower()
        and (country is None or country.lower() == (one.country or "").lower())
    ]
    return AccountList(accounts=found[:limit], total=len(found))


@tool(server, READS)
def describe_object(object_type: OfType) -> ObjectDescription:
    """List the fields of a type of record, with their types and allowed values."""
    with state.reading() as records:
        count = len(records.all(object_type))
    return ObjectDescription(
        object_type=object_type,
        id_prefix=OBJECTS[object_type][0],
        record_count=count,
        fields=list(fields_of(object_type).values()),
    )


def as_opportunity(records: Records, record: Record) -> Opportunity:
    account = find_record(records, record["fields"]["account_id"], "Account")
    return Opportunity(
        **record["fields"],
        id=record["id"],
        account_name=account["fields"]["name"],
        updated_at=record["updated_at"],
    )


if __name__ == "__main__":
    server.run()
