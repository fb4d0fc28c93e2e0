"""The kinds of records the example customer database has, and what their fields may hold."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field
from shared import unknown
from state import Record, Records

ObjectType = Literal["Account", "Contact", "Opportunity", "Lead", "Task"]
Value = str | int | float | bool | None

# The limit of the largest text field that Salesforce has.
MAX_TEXT_CHARS = 131_072

STAGES = {
    "Prospecting": 10,
    "Qualification": 25,
    "Proposal": 50,
    "Negotiation": 75,
    "Closed Won": 100,
    "Closed Lost": 0,
}


class FieldDescription(BaseModel):
    name: str
    type: Literal["text", "number", "integer", "date", "email", "choice", "reference"]
    required: bool = Field(default=False, description="A record can't be created without it.")
    choices: list[str] = Field(default=[], description="The values a field of type choice may have.")
    refers_to: str | None = Field(
        default=None, description="Kind of record a reference points to; null with type reference means any."
    )
    description: str


def field(name: str, type: str, description: str, **more: object) -> FieldDescription:
    return FieldDescription.model_validate({"name": name, "type": type, "description": description, **more})


OWNER = field("owner", "text", "Name of the person responsible")
DESCRIPTION = field("description", "text", "Free text, at most 131,072 characters")

OBJECTS: dict[str, tuple[str, tuple[FieldDescription, ...]]] = {
    "Account": (
        "ACC",
        (
            field("name", "text", "Name of the company", required=True),
            field("industry", "text", "What the company does"),
            field("country", "text", "Where its head office is"),
            field("sites", "integer", "Number of sites it runs"),
            field("annual_value", "number", "What it pays a year, in dollars"),
            OWNER,
            DESCRIPTION,
        ),
    ),
    "Contact": (
        "CON",
        (
            field("name", "text", "Name of the person", required=True),
            field("email", "email", "E-mail address"),
            field("phone", "text", "Telephone number"),
            field("title", "text", "What the person does"),
            field("account_id", "reference", "Where the person works", refers_to="Account", required=True),
        ),
    ),
    "Opportunity": (
        "OPP",
        (
            field("name", "text", "Name of the deal", required=True),
            field("account_id", "reference", "The customer", refers_to="Account", required=True),
            field("stage", "choice", "How far it is", choices=list(STAGES), required=True),
            field("amount", "number", "Value in dollars"),
            field("probability", "number", "Chance of winning in percent; set with the stage if not given"),
            field("close_date", "date", "When it is expected to be decided, such as 2026-12-18"),
            field("next_step", "text", "What has to happen next"),
            OWNER,
            DESCRIPTION,
        ),
    ),
    "Lead": (
        "LEAD",
        (
            field("name", "text", "Name of the person", required=True),
            field("company", "text", "Where the person works", required=True),
            field("email", "email", "E-mail address"),
            field("status", "choice", "How far it is", choices=["New", "Contacted", "Qualified", "Lost"]),
            field("source", "text", "How we heard of each other"),
            OWNER,
        ),
    ),
    "Task": (
        "TASK",
        (
            field("subject", "text", "What is to be done, or was done", required=True),
            field("kind", "choice", "What sort of task", choices=["To do", "Call", "E-mail", "Meeting"]),
            field("status", "choice", "How far it is", choices=["Open", "Completed"]),
            field("due_date", "date", "When it is due, or was done"),
            field("related_to", "reference", "The record it belongs to"),
            OWNER,
            DESCRIPTION,
        ),
    ),
}
PREFIXES = {prefix: object_type for object_type, (prefix, _) in OBJECTS.items()}


def fields_of(object_type: str) -> dict[str, FieldDescription]:
    return {one.name: one for one in OBJECTS[object_type][1]}


def check_field_name(object_type: str, name: str, *extra: str) -> None:
    known = [*fields_of(object_type), *extra]
    if name not in known:
        raise unknown(f"field of {object_type} called", name, known, f"Its fields are: {', '.join(known)}.")


def check_values(records: Records, object_type: str, data: Mapping[str, Value]) -> None:
    """Refuse fields that don't exist and values that don't fit, with what would."""
    for name, value in data.items():
        check_field_name(object_type, name)
        description = fields_of(object_type)[name]
        if value is None:
            if description.required:
                raise ToolError(f"{name} of {object_type} is required and can't be null.")
        elif problem := what_is_wrong(records, description, value):
            raise ToolError(f"{name} of {object_type} is {shown(value)}: {problem}.")


def check_required(object_type: str, data: Mapping[str, Value]) -> None:
    missing = [name for name, one in fields_of(object_type).items() if one.required and name not in data]
    if missing:
        raise ToolError(
            f"A new {object_type} also needs {', '.join(missing)}. Call describe_object for all fields."
        )


def what_is_wrong(records: Records, description: FieldDescription, value: Value) -> str | None:
    if description.type == "integer":
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return None if is_whole else "it has to be a whole number"
    if description.type == "number":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number else "it has to be a number"
    if not isinstance(value, str):
        return "it has to be a text"
    if len(value) > MAX_TEXT_CHARS:
        return f"it has {len(value):,} characters and {MAX_TEXT_CHARS:,} are allowed"
    if description.type == "choice" and value not in description.choices:
        return f"it has to be one of {', '.join(description.choices)}"
    if description.type == "email" and value.count("@") != 1:
        return "it has to be an e-mail address"
    if description.type == "date" and not is_date(value):
        return "it has to be a date such as 2026-12-18"
    if description.type == "reference":
        object_type = type_of(value)
        if description.refers_to not in (None, object_type):
            return f"it has to be the id of a record of type {description.refers_to}"
        if object_type is None or records.get(object_type, value) is None:
            return "there is no such record"
    return None


def is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def shown(value: Value) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def type_of(record_id: str) -> str | None:
    """OPP-001 is an Opportunity."""
    return PREFIXES.get(record_id.partition("-")[0])


def find_record(records: Records, record_id: str, object_type: str | None = None) -> Record:
    """The record with this id, and of this type if one is given."""
    found_type = type_of(record_id)
    record = records.get(found_type, record_id) if found_type else None
    if record is None:
        wanted = object_type or found_type
        ids = [one["id"] for kind in ([wanted] if wanted else OBJECTS) for one in records.all(kind)]
        raise unknown(
            "record with the id", record_id, ids, "Call query_records for the ids of all records of a type."
        )
    if object_type not in (None, found_type):
        raise ToolError(f"{record_id} is of type {found_type}, not {object_type}.")
    return record


def add_record(records: Records, object_type: str, data: Mapping[str, Value], now: str) -> Record:
    """Store a new record, with null in all fields that are not given, and return it."""
    id = f"{OBJECTS[object_type][0]}-{records.next_number(object_type):03d}"
    fields: dict[str, Value] = dict.fromkeys(fields_of(object_type)) | dict(data)
    if object_type == "Opportunity" and fields["probability"] is None:
        fields["probability"] = STAGES[str(fields["stage"])]
    record: Record = {
        "id": id,
        "object_type": object_type,
        "fields": fields,
        "created_at": now,
        "updated_at": now,
    }
    records.put(object_type, id, record)
    return record


def change_record(records: Records, record: Record, data: Mapping[str, Value], now: str) -> Record:
    if "stage" in data and "probability" not in data:
        data = {**data, "probability": STAGES[str(data["stage"])]}
    changed = {**record, "fields": {**record["fields"], **data}, "updated_at": now}
    records.put(record["object_type"], record["id"], changed)
    return changed
