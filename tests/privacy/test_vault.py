"""Hiding and restoring any JSON: the identity, tokens that are told again, and what lies between is valid."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from satchel.errors import ArgumentError
from satchel.privacy.detection import Detection
from satchel.privacy.table import Entry
from satchel.privacy.vault import Vault

ALL = Detection()
KEY = b"a key"
PEOPLE = (
    "anna.lindqvist@posteo.de",
    "+49 30 9018 2040",
    "4111 1111 1111 1111",
    "DE89 3704 0044 0532 0130 00",
    "078-05-1120",
    "203.12.9.77",
    "2a02:8109:9a40:1778:1c2b::7",
    "Anna Lindqvist",
    "田中太郎",
    'O\'Brien "Bob" \\ Smith',
    "Lindenstraße 12, 10115 Berlin",
    "1985-03-12",
    "EMAIL_ksn2vr",
    "ksn2vr@email.example",
    "243.1.2.3",
    "0456-02-03",
    "https://private.example/ksn2vr",
)
KEYS = (
    "email",
    "phone",
    "card_number",
    "iban",
    "ssn",
    "ip",
    "name",
    "first_name",
    "address",
    "dob",
    "note",
    "id",
    "value",
)


def _within(before: str, who: str, after: str) -> str:
    return before + who + after


def _line(key: str, who: str) -> str:
    return f"{key}: {who}\n{who}"


def _url(who: str) -> str:
    return f"https://x.example/?q={who.replace(' ', '%20')}&n=1"


def _as_list(text: str) -> Any:
    return [text]


def _quoted(text: str) -> str:
    return f'"{text}"'


def _in_tag(text: str) -> str:
    return f"<{text}>"


people: st.SearchStrategy[str] = st.sampled_from(PEOPLE)
texts: st.SearchStrategy[str] = st.one_of(
    st.text(max_size=30),
    people,
    st.builds(_within, st.text(max_size=8), people, st.text(max_size=8)),
    st.builds(_line, st.sampled_from(KEYS), people),
    st.builds(_url, people),
)
numbers = st.one_of(st.integers(), st.sampled_from((4111111111111111, 493090182040, 8999123412341234)))
keys: st.SearchStrategy[str] = st.one_of(st.sampled_from(KEYS), texts)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4))


leaves: st.SearchStrategy[Any] = st.one_of(
    texts, numbers, st.none(), st.booleans(), st.floats(allow_nan=False)
)
anything: st.SearchStrategy[Any] = st.recursive(leaves, _nested, max_leaves=12)
WAYS: tuple[Callable[[str], Any], ...] = (str, repr, json.dumps, _as_list)
CASES: tuple[Callable[[str], str], ...] = (str, str.lower, str.upper, str.title, _quoted, _in_tag)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(anything)
def test_restoring_what_was_hidden_gives_the_same_json(value: Any) -> None:
    vault = Vault(KEY)
    hidden = vault.hide(value, "crm", ALL)
    assert json.dumps(vault.restore(hidden)) == json.dumps(value)
    assert json.dumps(vault.hide(value, "crm", ALL)) == json.dumps(vault.hide(value, "crm", ALL))


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(anything)
def test_json_within_a_text_means_the_same_again(value: Any) -> None:
    vault = Vault(KEY)
    for text in (
        json.dumps(value),
        json.dumps(value, indent=2, ensure_ascii=False),
        json.dumps([json.dumps(value)]),
    ):
        restored = vault.restore(vault.hide(text, "crm", ALL))
        assert json.loads(restored) == json.loads(text)


@settings(max_examples=60, deadline=None)
@given(
    st.text(alphabet=" \t\n\"'\\.,;:-()<>/名é", max_size=5),
    st.sampled_from(WAYS),
)
def test_no_value_that_was_found_stands_in_what_is_hidden(border: str, write: Any) -> None:
    vault = Vault(KEY)
    rest = write(f"x{border} Anna Lindqvist{border}\n030 1234 5678\nx@y.org\n203.12.9.77")
    value = {"rest": rest, "customer": {"name": "Anna Lindqvist", "phone": "030 1234 5678"}}
    hidden = vault.hide(value, "crm", ALL)
    shown = json.dumps(hidden, ensure_ascii=False)
    assert not [each for each in ("Anna Lindqvist", "030 1234", "x@y.org", "203.12.9.77") if each in shown]
    assert vault.restore(hidden) == value


def test_formats_that_a_schema_declares_hold_for_tokens() -> None:
    schema = {
        "type": "object",
        "properties": {
            "email": {"type": "string", "format": "email"},
            "ip": {"type": "string", "format": "ipv4"},
            "client_ip": {"type": "string", "format": "ipv6"},
            "homepage_owner_email": {"type": "string", "format": "uri"},
            "dob": {"type": "string", "format": "date"},
            "birthDate": {"type": "string", "format": "date-time"},
            "phone": {"type": "integer", "maximum": 2**53 - 1},
            "card_number": {"type": "integer"},
        },
    }
    value = {
        "email": "anna@posteo.de",
        "ip": "203.12.9.77",
        "client_ip": "2a02:8109::7",
        "homepage_owner_email": "mailto:anna@posteo.de",
        "dob": "1985-03-12",
        "birthDate": "1985-03-12T00:00:00Z",
        "phone": 493090182040,
        "card_number": 4111111111111111,
    }
    vault = Vault(KEY)
    hidden = vault.hide(value, "crm", ALL, schema)
    validator: Any = Draft202012Validator(schema, format_checker=FormatChecker())
    validator.validate(hidden)
    assert all(hidden[key] != value[key] for key in value)
    assert re.fullmatch(r"[a-z0-9]{6}@email\.example", hidden["email"])
    assert hidden["ip"].startswith("24") or hidden["ip"].startswith("25")
    assert type(hidden["phone"]) is int and 8_999 * 10**12 <= hidden["phone"] < 2**53
    assert vault.restore(hidden, schema=schema) == value


def test_equal_values_have_equal_tokens_and_tokens_differ_by_scope() -> None:
    one, other = Vault(KEY), Vault(b"a different key")
    value = [{"email": "anna@posteo.de"}, {"owner_email": "anna@posteo.de"}, {"email": "ben@posteo.de"}]
    hidden = one.hide(value, "crm", ALL)
    assert hidden[0]["email"] == hidden[1]["owner_email"] != hidden[2]["email"]
    assert other.hide(value, "crm", ALL) != hidden
    with pytest.raises(ArgumentError, match="not known here"):
        other.restore(hidden)


def test_the_same_number_written_differently_shares_letters_and_is_restored_as_it_was() -> None:
    vault = Vault(KEY)
    hidden = vault.hide({"phone": "+49 30 901820", "fax": "+49-30-901820"}, "crm", ALL)
    first, second = hidden["phone"].removeprefix("PHONE_"), hidden["fax"].removeprefix("PHONE_")
    assert second[:6] == first and len(second) == 8
    assert vault.restore(hidden) == {"phone": "+49 30 901820", "fax": "+49-30-901820"}


@pytest.mark.parametrize("write", CASES)
def test_a_token_is_restored_in_any_case_and_in_quotes(write: Any) -> None:
    vault = Vault(KEY)
    token = vault.hide({"first_name": "Annelie"}, "crm", ALL)["first_name"]
    assert vault.restore(write(token)) == write(token).replace(write(token).strip('"<>'), "Annelie")


def test_a_token_in_a_url_and_in_json_stays_within_its_place() -> None:
    vault = Vault(KEY)
    token = vault.hide({"full_name": 'Ann "A&B" Lee'}, "crm", ALL)["full_name"]
    assert (
        vault.restore(f"https://x.example/?q={token}&r=1")
        == "https://x.example/?q=Ann%20%22A%26B%22%20Lee&r=1"
    )
    assert json.loads(vault.restore(json.dumps({"to": f"Dear {token}"}))) == {"to": 'Dear Ann "A&B" Lee'}
    email = vault.hide("write to anna@posteo.de", "crm", ALL).removeprefix("write to EMAIL_")
    assert vault.restore(f"mailto {email}%40email.example now") == "mailto anna@posteo.de now"


def test_a_near_miss_is_an_error_that_names_the_nearest() -> None:
    vault = Vault(KEY)
    token = vault.hide({"first_name": "Annelie"}, "crm", ALL)["first_name"]
    for wrong in (
        token[:-1],
        token + "k",
        token[:-1] + ("b" if token[-1] != "b" else "c"),
        token.replace("PERSON", "EMAIL"),
    ):
        with pytest.raises(ArgumentError) as caught:
            vault.restore({"to": f"Dear {wrong}!"})
        assert token in str(caught.value.hint) and "nothing was sent" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["PERSON_ksn2vr", "ksn2vr@email.example", "241.12.13.14", "0456-02-03", "https://private.example/ksn2vr"],
)
def test_a_token_that_nobody_was_given_is_an_error(text: str) -> None:
    with pytest.raises(ArgumentError, match="not known here"):
        Vault(KEY).restore({"to": text})
    with pytest.raises(ArgumentError, match="not known here"):
        Vault(KEY).restore({"to": 8999123412341234})


@pytest.mark.parametrize(
    "text",
    [
        "phone_number",
        "person_id",
        "EMAIL_ADDRESS",
        "address_line",
        "0001-01-01",
        "255.255.255.0",
        "IBAN_valid",
    ],
)
def test_ordinary_words_are_not_taken_for_tokens(text: str) -> None:
    vault = Vault(KEY)
    assert vault.restore({"column": text}) == {"column": text}
    assert vault.hide({"column": text}, "crm", ALL) == {"column": text}


def test_nobody_writes_tokens_into_a_result() -> None:
    vault = Vault(KEY)
    hidden = vault.hide({"note": "send PERSON_ksn2vr to me"}, "crm", ALL)
    assert "PERSON_ksn2vr" not in hidden["note"]
    assert vault.restore(hidden) == {"note": "send PERSON_ksn2vr to me"}


def test_a_token_of_this_scope_stays_when_a_result_repeats_it() -> None:
    vault = Vault(KEY)
    token = vault.hide({"first_name": "Annelie"}, "crm", ALL)["first_name"]
    assert vault.hide(f"no row for {token}", "crm", ALL) == f"no row for {token}"


def test_a_receiver_that_may_not_have_a_value_is_asked_before_anything_is_restored() -> None:
    vault = Vault(KEY)
    hidden = vault.hide({"email": "anna@posteo.de"}, "crm", ALL)
    vault.hide("anna@posteo.de", "mail", ALL)
    asked: list[set[str]] = []

    def refuse(entry: Entry) -> None:
        asked.append(entry.origins)
        raise PermissionError

    with pytest.raises(PermissionError):
        vault.restore(hidden, refuse)
    assert asked == [{"crm", "mail"}]


def test_what_has_nothing_personal_is_the_same_object() -> None:
    value = {"id": "b1946ac92492d2347c6235b4d2611184", "count": 3, "text": "all well", "rows": [[1, "x"]]}
    assert Vault(KEY).hide(value, "crm", ALL) is value
    assert Vault(KEY).restore(value) is value


def test_entries_that_were_written_down_work_in_the_next_process() -> None:
    before = Vault(KEY)
    schema = {"properties": {"dob": {"type": "string", "format": "date"}}}
    hidden = before.hide({"name": "Anna Lee", "phone": 493090182040, "dob": "1985-03-12"}, "crm", ALL, schema)
    after = Vault(KEY)
    for entry in before.table.take_changes():
        after.table.put_back(entry)
    assert before.table.take_changes() == []
    phone = {"properties": {"phone": {"type": "integer"}}}
    assert after.restore(hidden, schema=phone) == {
        "name": "Anna Lee",
        "phone": 493090182040,
        "dob": "1985-03-12",
    }
    assert after.hide("spoke to Anna Lee", "x", ALL) == f"spoke to {hidden['name']}"


def test_own_patterns_and_detectors_that_users_bring_are_kinds_like_others() -> None:
    from satchel.privacy.kinds import Span

    def planets(text: str, key: str, schema: object) -> list[Span]:
        at = text.find("Jupiter")
        return [Span(start=at, end=at + 7, kind="PLANET")] if at >= 0 and key == "note" else []

    own = Detection(
        kinds=frozenset(), patterns={"STAFF_NUMBER": re.compile(r"\bE-\d{6}\b")}, detectors=(planets,)
    )
    vault = Vault(KEY, frozenset(("PLANET",)))
    value = {"note": "E-123456 is from Jupiter", "email": "anna@posteo.de"}
    hidden = vault.hide(value, "crm", own)
    assert re.fullmatch(r"STAFF_NUMBER_[a-z0-9]{6} is from PLANET_[a-z0-9]{6}", hidden["note"])
    assert hidden["email"] == "anna@posteo.de"
    assert vault.restore(hidden) == value


def test_reveal_shows_people_what_tokens_stand_for_and_leaves_the_rest() -> None:
    vault = Vault(KEY)
    token = vault.hide({"first_name": "Annelie"}, "crm", ALL)["first_name"]
    assert vault.reveal(f"wrote to {token}, not to PERSON_ksn2vr") == "wrote to Annelie, not to PERSON_ksn2vr"
