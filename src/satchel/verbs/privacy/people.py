"""What people see of a conversation: values in place of tokens, also in text that streams in pieces."""

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from satchel.model import TellTurn, TextDelta, TurnEvent, is_list, is_object

USER = "the user"
"""Where a value comes from that a person has typed. No server has a name with a space."""
_MAY_GO_ON = re.compile(r"[A-Za-z0-9_@.:/\\-]*\Z")  # the end of a text that may be the beginning of a token


class ForPeople:
    """Restores whatever a person reads. `reveal` restores a text, and leaves what is not known."""

    def __init__(self, reveal: Callable[[str], str]) -> None:
        self._reveal = reveal

    def shown(self, value: Any) -> Any:
        """A value of any form, with all texts in it restored."""
        if isinstance(value, str):
            return self._reveal(value)
        if is_object(value):
            return {key: self.shown(each) for key, each in value.items()}
        if is_list(value):
            return [self.shown(each) for each in value]
        if isinstance(value, tuple):
            return tuple(self.shown(each) for each in cast("tuple[Any, ...]", value))
        if is_dataclass(value) and not isinstance(value, type):
            parts = {each.name: self.shown(getattr(value, each.name)) for each in fields(value)}
            return replace(value, **parts)
        return value

    def telling(self, tell: TellTurn) -> TellTurn:
        """Tells the events of a turn, restored. Of streamed text, what may become a token is held back."""
        held = ""

        def told(event: TurnEvent) -> None:
            nonlocal held
            if isinstance(event, TextDelta):
                text = held + event.text
                match = _MAY_GO_ON.search(text)
                end = match.start() if match is not None else len(text)
                ready, held = text[:end], text[end:]
            else:
                ready, held = held, ""
            if ready:
                tell(TextDelta(text=self._reveal(ready)))
            if not isinstance(event, TextDelta):
                tell(self.shown(event))

        return told
