"""Commands by what people type."""

import pytest

from satchel.errors import ArgumentError, NotFoundError
from satchel.library.commands.registry import CommandRegistry
from satchel.model import Command

REGISTRY = CommandRegistry(
    [
        Command(name=name, plugin_name=plugin, content="Do it.")
        for plugin, name in (
            ("sales", "call-prep"),
            ("common-room", "call-prep"),
            ("sales", "forecast"),
            ("zoom", "ui-toolkit/web"),
            ("shop", "build"),
            ("shop", "build:web"),
            ("", "pdf"),
        )
    ]
)


@pytest.mark.parametrize(
    ("typed", "identity"),
    [
        ("/sales:call-prep", "sales:call-prep"),
        ("sales:call-prep", "sales:call-prep"),
        ("/Sales:CALL-Prep", "sales:call-prep"),
        ("/sales call-prep", "sales:call-prep"),
        ("/forecast", "sales:forecast"),
        ("/zoom:ui-toolkit/web", "zoom:ui-toolkit/web"),
        ("/shop:build:web", "shop:build:web"),
        ("/shop build:web", "shop:build:web"),
        ("/pdf", "pdf"),
    ],
)
def test_a_command_is_found_however_it_is_typed(typed: str, identity: str) -> None:
    assert REGISTRY.lookup(typed).identity == identity


def test_plugin_and_command_may_be_given_by_themselves() -> None:
    assert REGISTRY.lookup("Sales", "call-prep").identity == "sales:call-prep"


def test_where_two_have_a_name_both_are_named() -> None:
    with pytest.raises(ArgumentError, match="2 commands are called /call-prep") as caught:
        REGISTRY.lookup("/call-prep")
    assert caught.value.hint == "name it as /sales:call-prep or /common-room:call-prep"


def test_a_name_that_there_is_not_has_the_nearest() -> None:
    with pytest.raises(NotFoundError) as caught:
        REGISTRY.lookup("/sales:forcast")
    assert "sales:forecast" in caught.value.closest


@pytest.mark.parametrize(
    ("text", "identity", "arguments"),
    [
        ("/sales:forecast Q3  'and so'", "sales:forecast", "Q3  'and so'"),
        ("/sales forecast Q3", "sales:forecast", "Q3"),
        ("/forecast", "sales:forecast", ""),
        ("/pdf forecast", "pdf", "forecast"),
        ("/sales:forecast\nQ3", "sales:forecast", "Q3"),
        ("/shop:build web", "shop:build", "web"),
    ],
)
def test_a_line_is_a_command_and_its_arguments(text: str, identity: str, arguments: str) -> None:
    command, typed = REGISTRY.typed(text)
    assert (command.identity, typed) == (identity, arguments)


@pytest.mark.parametrize(
    ("words", "identity", "arguments"),
    [
        (["sales:forecast", "Acme Corp", "Q3"], "sales:forecast", '"Acme Corp" Q3'),
        (["sales", "forecast", "Acme Corp", "Q3"], "sales:forecast", '"Acme Corp" Q3'),
        (["/Sales", "Forecast"], "sales:forecast", ""),
        (["/sales forecast Acme  Corp"], "sales:forecast", "Acme  Corp"),
        (["sales:forecast", "as typed 'all'"], "sales:forecast", "as typed 'all'"),
        (["pdf", "forecast"], "pdf", "forecast"),
    ],
)
def test_a_command_and_its_arguments_may_be_split_by_a_shell(
    words: list[str], identity: str, arguments: str
) -> None:
    command, typed = REGISTRY.split(words)
    assert (command.identity, typed) == (identity, arguments)
