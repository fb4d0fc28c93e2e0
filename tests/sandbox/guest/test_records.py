"""Records: JSON objects whose known keys are attributes, whatever the server really sent."""

import copy
import dataclasses
import json
import pickle
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel_runtime import Record, omit
from satchel_runtime.records import read_as


class Owner(Record):
    name: str
    email: str | None = None


class Document(Record):
    title: str
    owner: Owner | None = None
    tags: list[str] | None = None


class Filter(Record, from_="from", class_="class"):
    from_: str
    class_: str = omit
    limit: int | None = omit


class Range(Record, values_="values", a_b="a b"):
    values_: list[int]
    a_b: int = omit


class Circle(Record):
    kind: Literal["circle"]
    radius: float


class Square(Record):
    kind: Literal["square"]
    side: float


class Node(Record):
    name: str
    children: "list[Node] | None" = None
    parent: "Node | None" = None


class Everything(Record):
    one: Owner
    many: list[Owner]
    by_name: dict[str, Owner]
    pair: tuple[Owner, int]
    maybe: Owner | None = None
    either: Circle | Square | str | None = None
    deep: list[dict[str, list[Owner]]] | None = None
    lists: list[Owner] | dict[str, Owner] | None = None
    plain: dict[str, Any] | None = None


ADA = {"name": "Ada", "email": "ada@example.com"}


def read(shape: Any, value: Any) -> Any:
    return read_as(shape, value)


def test_a_record_is_a_dataclass_and_a_dict() -> None:
    document = Document(title="Plan", owner=Owner(name="Ada"))
    assert dataclasses.is_dataclass(document)
    assert [field.name for field in dataclasses.fields(Document)] == ["title", "owner", "tags"]
    assert isinstance(document, dict)
    assert document == {"title": "Plan", "owner": {"name": "Ada"}}
    assert repr(document) == "{'title': 'Plan', 'owner': {'name': 'Ada'}}"


def test_attribute_item_and_get_are_the_same() -> None:
    document = read(Document, {"title": "Plan", "owner": ADA})
    assert document.title == document["title"] == document.get("title") == "Plan"
    assert document.owner.name == document["owner"]["name"] == document.get("owner").get("name") == "Ada"
    document.title = "New"
    assert document["title"] == "New"
    document["title"] = "Newer"
    assert document.title == "Newer"
    del document.title
    assert "title" not in document


def test_keys_that_the_class_does_not_know_are_kept() -> None:
    document = read(Document, {"title": "Plan", "size": 3, "nested": {"a": [1]}})
    assert document["size"] == 3
    assert document.get("nested") == {"a": [1]}
    assert json.loads(json.dumps(document)) == {"title": "Plan", "size": 3, "nested": {"a": [1]}}


def test_a_missing_required_key_raises_an_error_that_names_what_there_is() -> None:
    document = read(Document, {"name": "Plan", "size": 3})
    with pytest.raises(AttributeError, match=r"this Document has no 'title'; it has 'name', 'size'"):
        _ = document.title
    with pytest.raises(AttributeError, match="it has nothing"):
        _ = read(Document, {}).title
    assert not hasattr(document, "title")
    assert document.get("title") is None
    with pytest.raises(KeyError):
        _ = document["title"]


def test_a_missing_optional_key_is_none_and_is_not_in_the_dict() -> None:
    document = read(Document, {"title": "Plan"})
    assert document.owner is None
    assert document.tags is None
    assert dict(document) == {"title": "Plan"}


def test_null_for_a_required_key_is_none() -> None:
    assert read(Document, {"title": None}).title is None


def test_records_are_found_in_lists_maps_tuples_unions_and_options() -> None:
    value = read(
        Everything,
        {
            "one": ADA,
            "many": [ADA, ADA],
            "by_name": {"ada": ADA},
            "pair": [ADA, 1],
            "maybe": ADA,
            "either": {"kind": "square", "side": 2},
            "deep": [{"x": [ADA]}],
            "lists": {"ada": ADA},
            "plain": {"name": "Ada"},
        },
    )
    owners = [
        value.one,
        *value.many,
        value.by_name["ada"],
        value.pair[0],
        value.maybe,
        value.deep[0]["x"][0],
        value.lists["ada"],
    ]
    assert all(type(owner) is Owner and owner.email == "ada@example.com" for owner in owners)
    assert type(value.either) is Square
    assert type(value.plain) is dict
    assert value.pair[1] == 1


def test_a_list_where_either_a_list_or_a_map_may_be_holds_records_too() -> None:
    assert type(read(list[Owner] | dict[str, Owner], [ADA])[0]) is Owner
    assert type(read(list[Owner] | None, [ADA])[0]) is Owner
    assert read(list[Owner] | None, None) is None


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"kind": "circle", "radius": 1}, Circle),
        ({"kind": "square", "side": 1}, Square),
        ({"kind": "square"}, dict),
        ({"kind": "triangle", "side": 1}, dict),
        ("circle", str),
        (None, type(None)),
    ],
)
def test_the_constant_tells_alternatives_apart(value: Any, kind: type) -> None:
    assert type(read(Circle | Square | str | None, value)) is kind


class Failed(Record):
    error: str | None = None
    code: int | None = None


class Found(Record):
    title: str
    size: int | None = None


class MaybeCircle(Record):
    kind: Literal["circle"] | None = None
    size: float | None = None


class MaybeSquare(Record):
    kind: Literal["square"] | None = None
    size: float | None = None


def test_an_alternative_that_requires_nothing_does_not_win_over_one_that_fits_better() -> None:
    assert type(read(Failed | Found, {"title": "x", "size": 1})) is Found
    assert type(read(Found | Failed, {"error": "x"})) is Failed
    assert type(read(Failed | Found, {"error": "x"})) is Failed


def test_a_constant_that_is_optional_tells_alternatives_apart_too() -> None:
    assert type(read(MaybeCircle | MaybeSquare, {"kind": "square", "size": 1})) is MaybeSquare
    assert type(read(MaybeCircle | MaybeSquare, {"kind": "circle", "size": 1})) is MaybeCircle


def test_a_record_may_contain_itself() -> None:
    tree = read(Node, {"name": "a", "children": [{"name": "b", "children": [], "parent": {"name": "a"}}]})
    assert type(tree.children[0]) is Node
    assert tree.children[0].parent.name == "a"
    assert tree.parent is None


def test_a_value_nested_without_end_is_left_as_it_is() -> None:
    value: dict[str, Any] = {"name": "leaf"}
    for _ in range(5_000):
        value = {"name": "n", "children": [value]}
    assert read(Node, value) is value


WRONG: list[Any] = [
    None,
    True,
    0,
    1.5,
    "text",
    [],
    [1],
    [None],
    [[]],
    {},
    {"a": 1},
    {"name": 3},
    [{"name": []}],
]


@pytest.mark.parametrize("wrong", WRONG)
def test_results_that_do_not_match_survive(wrong: Any) -> None:
    fields = [field.name for field in dataclasses.fields(Everything)]
    for name in fields:
        value = read(Everything, {name: wrong})
        assert value == {name: wrong}
        assert getattr(value, name) == wrong
    assert read(Everything, wrong) == wrong
    assert read(list[Everything], wrong) == wrong
    assert read(dict[str, Everything], wrong) == wrong
    assert read(tuple[Everything, Everything], wrong) == wrong
    assert read(Everything | list[Everything] | None, wrong) == wrong


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([field.name for field in dataclasses.fields(Everything)])
            | st.sampled_from(["name", "kind", "title", "children", "radius", "side", ""]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_reading_never_changes_what_json_says(value: Any) -> None:
    for shape in (Everything, Node, list[Node], Everything | Node | None, dict[str, Document], Any):
        before = json.dumps(value)
        assert json.dumps(read(shape, value)) == before
        assert json.dumps(value) == before


def test_the_value_that_came_is_not_changed_by_what_is_done_to_the_record() -> None:
    came = {"title": "Plan", "owner": dict(ADA)}
    document = read(Document, came)
    document.owner.name = "Bob"
    document["title"] = "New"
    assert came == {"title": "Plan", "owner": ADA}


def test_records_serialise_and_unpack_like_dicts() -> None:
    document = Document(title="Plan", owner=Owner(name="Ada"), tags=["a"])
    assert json.loads(json.dumps(document)) == {"title": "Plan", "owner": {"name": "Ada"}, "tags": ["a"]}
    assert {**document} == dict(document) == document
    assert list(document) == ["title", "owner", "tags"]
    match document:
        case {"owner": {"name": name}}:
            assert name == "Ada"
        case _:
            pytest.fail("a record is no mapping")


def test_records_match_patterns_by_their_attributes() -> None:
    value: object = read(Document, {"title": "Plan"})
    match value:
        case Document(title=title):
            assert title == "Plan"
        case _:
            pytest.fail("a record has no attributes")


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_copies_are_records_of_the_same_class(again: Any) -> None:
    for original in (
        read(Document, {"title": "Plan", "owner": ADA, "unknown": 1}),
        read(Document, {"unknown": 1}),
        Filter(from_="a"),
    ):
        other = again(original)
        assert other == original
        assert type(other) is type(original)
        assert other is not original
    deep = copy.deepcopy(read(Document, {"title": "Plan", "owner": ADA}))
    assert type(deep.owner) is Owner


def test_a_key_that_python_can_not_spell_has_an_attribute_of_another_name() -> None:
    wanted = Filter(from_="Ada", class_="first")
    assert dict(wanted) == {"from": "Ada", "class": "first"}
    assert wanted.from_ == wanted["from"] == "Ada"
    came = read(Filter, {"from": "Bob", "from_": "other"})
    assert came.from_ == "Bob"
    came.from_ = "Eve"
    assert came == {"from": "Eve", "from_": "other"}
    with pytest.raises(AttributeError, match="has no 'from'"):
        _ = read(Filter, {"from_": "x"}).from_


def test_what_is_omitted_is_not_in_the_dict_and_none_is() -> None:
    assert dict(Filter(from_="a")) == {"from": "a"}
    assert dict(Filter(from_="a", class_=omit, limit=omit)) == {"from": "a"}
    assert dict(Filter(from_="a", limit=None)) == {"from": "a", "limit": None}
    assert Filter(from_="a").limit is omit


def test_replacing_a_field_adds_no_others() -> None:
    assert dict(dataclasses.replace(Filter(from_="a"), from_="b")) == {"from": "b"}


def test_a_field_that_is_missing_or_unknown_is_named() -> None:
    with pytest.raises(TypeError, match=r"Document: 'title' is missing; its fields are title, owner, tags"):
        Document()  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="Document: no field 'titel'"):
        Document(title="x", titel="x")  # pyright: ignore[reportCallIssue]


class Awkward(Record):
    self: str
    cls: str = omit
    values: int = omit  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
    name: str = omit
    value: str = omit
    record: str = omit


def test_fields_may_be_called_like_parameters_of_the_runtime() -> None:
    awkward = Awkward(self="a", cls="b", name="c", value="d", record="e")
    assert dict(awkward) == {"self": "a", "cls": "b", "name": "c", "value": "d", "record": "e"}
    assert read(Awkward, {"self": 1}).self == 1


def test_json_may_have_keys_called_like_what_every_dict_has() -> None:
    value = read(Document, {"title": "x", "keys": 1, "__class__": 2, "read": 3, "__dict__": 4})
    assert list(value.keys()) == ["title", "keys", "__class__", "read", "__dict__"]
    assert type(value) is Document


def test_omit_is_false_shows_its_name_and_stays_one() -> None:
    assert not omit
    assert repr(omit) == "omit"
    assert copy.copy(omit) is omit
    assert copy.deepcopy({"a": omit})["a"] is omit
    assert pickle.loads(pickle.dumps(omit)) is omit


def test_a_type_without_records_leaves_the_value_alone() -> None:
    value = {"a": [1, {"b": None}]}
    for shape in (
        None,
        Any,
        int,
        dict[str, Any],
        list[str],
        str | None,
        tuple[int, int],
        Literal["a"],
        "text",
    ):
        assert read(shape, value) is value


def made(record: Any, values: dict[str, Any]) -> Any:
    return record(**values)


def test_a_renamed_field_may_be_given_by_its_key() -> None:
    assert made(Filter, {"from": "a", "class": "b"}) == Filter(from_="a", class_="b")
    assert made(Range, {"values": [1], "a b": 2}) == Range(values_=[1], a_b=2) == {"values": [1], "a b": 2}
    assert made(Range, {"values": [1], "a b": omit}) == {"values": [1]}


def test_a_field_given_by_both_of_its_names_is_refused() -> None:
    with pytest.raises(
        TypeError, match="Filter: 'from' was given twice; its fields are from_, class_, limit"
    ):
        made(Filter, {"from_": "a", "from": "b"})


def test_a_key_that_is_no_field_is_refused() -> None:
    with pytest.raises(TypeError, match="Filter: no field 'form'"):
        made(Filter, {"from": "a", "form": "b"})
    with pytest.raises(TypeError, match="Range: 'values_' is missing"):
        made(Range, {"a b": 1})
