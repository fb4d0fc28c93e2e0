"""References to the environment in configuration values."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.config.variables import UnresolvedVariableError, expand

property_test = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])

ENVIRONMENT = {"VAR": "value", "EMPTY": "", "_x1": "under", "REFERS": "${VAR}"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${VAR}", "value"),
        ("${env:VAR}", "value"),
        ("${VAR:-other}", "value"),
        ("${env:VAR:-other}", "value"),
        ("${UNSET:-other}", "other"),
        ("${env:UNSET:-other}", "other"),
        ("${EMPTY:-other}", "other"),
        ("${env:EMPTY:-other}", "other"),
        ("${UNSET:-}", ""),
        ("${UNSET:-a b:-c/d}", "a b:-c/d"),
        ("${EMPTY}", ""),
        ("${_x1}", "under"),
        ("http://${VAR}:${UNSET:-80}/${env:VAR}?${VAR}${VAR}", "http://value:80/value?valuevalue"),
        ("line\n${VAR}\n", "line\nvalue\n"),
    ],
)
def test_a_reference_is_replaced_by_its_value_or_its_default(text: str, expected: str) -> None:
    assert expand(text, ENVIRONMENT) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "$5",
        "costs $5 or $VAR",
        "$VAR",
        "$",
        "$$",
        "${",
        "${}",
        "${VAR",
        "{VAR}",
        "${5}",
        "${a-b}",
        "%VAR%",
    ],
)
def test_what_is_no_reference_is_left_as_it_is(text: str) -> None:
    assert expand(text, ENVIRONMENT) == text


def test_a_value_is_not_looked_through_again() -> None:
    assert expand("${REFERS}", ENVIRONMENT) == "${VAR}"


@pytest.mark.parametrize("text", ["${UNSET}", "${env:UNSET}", "${VAR} and ${UNSET} and ${LATER}"])
def test_a_variable_without_value_and_default_is_named(text: str) -> None:
    with pytest.raises(UnresolvedVariableError) as caught:
        expand(text, ENVIRONMENT)

    assert caught.value.variable == "UNSET"


@property_test
@given(st.text(alphabet="${}:-env VAR_x1\n"))
def test_whatever_is_written_expands_or_names_a_variable(text: str) -> None:
    try:
        expanded = expand(text, ENVIRONMENT)
    except UnresolvedVariableError as error:
        assert error.variable in text
    else:
        assert "${" in text or expanded == text
