"""The fields of a JSON value: each text and number with what the names around it tell.

`Rewriting` walks a value and has each leaf replaced; what isn't changed stays the same object.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from satchel.model import is_list, is_object
from satchel.privacy.key_names import TELLING_OF_PEOPLE, Hint, hint_of, is_about_people
from satchel.privacy.kinds import ADDRESS, PERSON
from satchel.privacy.tables import table

_GENERIC = table(
    """
    value values val text content data answer response string display raw formatted number address full
    line input primary default work home entry e164 normalized current new old result details info 0 1
    """
)
_NAMING = (
    "name",
    "key",
    "label",
    "field",
    "type",
    "title",
    "question",
    "header",
    "attribute",
    "property",
    "id",
    "system",
)
_ROWS = table(
    """
    rows data values records items table cells results
    """
)
_COLUMNS = ("columns", "headers", "header", "fields", "cols", "column_names", "columnNames", "schema")
_PARTS_OF_ADDRESS = table(
    """
    zip zipcode zip_code postal_code postcode postalcode plz line line1 line2 line3 lines number house
    house_number housenumber street full formatted formatted_address cap cp codigo_postal code_postal
    unit apartment apt extra text numero via codigopostal codepostal label recipient
    """
)
_DEEPEST = 220


@dataclass(frozen=True, slots=True, eq=False)
class Around:
    """What is around a leaf: the object that it is in, and the name which that object has itself."""

    members: Mapping[str, Any] | None = None
    name: str = ""
    above: "Around | None" = None


NOTHING_AROUND = Around()
Replace = Callable[[Any, str, Hint, object], Any]
"""A text or number, its key, what the names tell, its schema → what stands in its place."""
Rename = Callable[[str], str]


def hint_at(key: str, around: Around) -> Hint:
    """What a leaf's key tells, and what the names around it do."""
    hint = hint_of(key)
    if hint.kind == PERSON or (hint.kind and hint.kind != ADDRESS):
        return hint
    lowered = key.lower()
    if hint.kind == ADDRESS and lowered not in _GENERIC:
        return hint
    if hint.is_name and around.members is not None:
        if "value" not in around.members and _is_somebody(around):
            return Hint(kind=PERSON, is_role=True)
        return hint
    if _is_in_address(around) and (lowered in _PARTS_OF_ADDRESS):
        return Hint(kind=ADDRESS)
    if lowered in _GENERIC or lowered.isdigit():
        outer = _named_beside(around) or hint_of(around.name)
        if outer.kind or outer.is_role:
            return outer
        if lowered.isdigit() and around.above is not None:
            return hint
    return hint


def _named_beside(around: Around) -> Hint | None:
    """What the text beside it tells: {"name": "email", "value": …}."""
    if around.members is None or len(around.members) > 12:
        return None
    for naming in _NAMING:
        text = around.members.get(naming)
        if isinstance(text, str) and 1 < len(text) <= 40:
            told = hint_of(text)
            if told.kind or told.is_adverse:
                return told
    return None


def _is_somebody(around: Around) -> bool:
    if is_about_people(around.name):
        return True
    members = around.members or {}
    if len(members) > 200:
        return False
    company = any(_says_thing(key) for key in members)
    told = {hint_of(key).kind for key in members if not hint_of(key).is_name} & TELLING_OF_PEOPLE
    if company:
        return bool(told - {"EMAIL", "PHONE"}) and not told <= {"PERSON"}
    return bool(told)


_THINGS = table(
    """
    industry website domain employees vat sku price version license stars language company_id
    headquarters founded revenue ticker currency stock repository branch
    """
)


def _says_thing(key: str) -> bool:
    return key.lower() in _THINGS


def _is_in_address(around: Around) -> bool:
    if hint_of(around.name).kind == ADDRESS:
        return True
    members = around.members or {}
    if len(members) > 60:
        return False
    return any(
        hint_of(key).kind == ADDRESS and isinstance(value, str) and value for key, value in members.items()
    )


class Rewriting:
    """One walk over a value."""

    def __init__(self, replace: Replace, rename: Rename) -> None:
        self._replace = replace
        self._rename = rename

    def value(self, value: Any, schema: object = None, key: str = "", around: Around = NOTHING_AROUND) -> Any:
        return self._value(value, key, around, schema, 0)

    def _value(self, value: Any, key: str, around: Around, schema: object, depth: int) -> Any:
        if isinstance(value, str):
            return self._replace(value, key, hint_at(key, around), schema)
        if isinstance(value, int) and not isinstance(value, bool):
            return self._replace(value, key, hint_at(key, around), schema)
        if depth > _DEEPEST:
            return value
        if is_object(value):
            return self._object(value, key, around, schema, depth)
        if is_list(value):
            return self._list(value, key, around, schema, depth)
        return value

    def _object(self, value: Mapping[str, Any], key: str, around: Around, schema: object, depth: int) -> Any:
        name = around.name if key.lower() in _GENERIC and around.name else key
        inner = Around(value, name, around)
        columns = _columns_of(value)
        properties = schema.get("properties") if is_object(schema) else None
        other = schema.get("additionalProperties") if is_object(schema) else None
        changed: dict[str, Any] = {}
        is_changed = False
        for each, part in value.items():
            part_schema = properties.get(each, other) if is_object(properties) else other
            if columns and each in _ROWS and is_list(part):
                new: Any = self._rows(part, columns, inner, depth + 1)
            else:
                new = self._value(part, each, inner, part_schema, depth + 1)
            renamed = self._rename(each)
            if renamed in changed:
                renamed, new = each, new
            is_changed = is_changed or new is not part or renamed is not each
            changed[renamed] = new
        return changed if is_changed else value

    def _list(self, value: Sequence[Any], key: str, around: Around, schema: object, depth: int) -> Any:
        items = schema.get("items") if is_object(schema) else None
        changed = [self._value(part, key, around, items, depth + 1) for part in value]
        return changed if any(new is not part for new, part in zip(changed, value, strict=True)) else value

    def _rows(self, rows: Sequence[Any], columns: Sequence[str], around: Around, depth: int) -> Any:
        named = Around(dict.fromkeys(columns, ""), around.name, around)
        changed: list[Any] = []
        for row in rows:
            if not is_list(row) or len(row) > len(columns):
                changed.append(self._value(row, "", around, None, depth))
                continue
            cells = [
                self._value(cell, column, named, None, depth + 1)
                for cell, column in zip(row, columns, strict=False)
            ]
            changed.append(
                cells if any(new is not cell for new, cell in zip(cells, row, strict=True)) else row
            )
        return changed if any(new is not row for new, row in zip(changed, rows, strict=True)) else rows


def _columns_of(value: Mapping[str, Any]) -> Sequence[str]:
    """The names of columns, where an object has rows of cells beside them."""
    for name in _COLUMNS:
        columns = value.get(name)
        if is_list(columns) and 0 < len(columns) <= 500:
            names = [
                column if isinstance(column, str) else column.get("name", "") if is_object(column) else ""
                for column in columns
            ]
            if any(isinstance(each, str) and each for each in names):
                return [each if isinstance(each, str) else "" for each in names]
    return ()
