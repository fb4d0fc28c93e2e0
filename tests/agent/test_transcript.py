"""What a model is shown of a conversation, and which skill it has read last."""

from satchel.agent.transcript import skill_read_last, visible
from satchel.model import Json, Message

THOUGHT: Json = {"type": "thinking", "text": "A skill fits.", "signature": "s", "part_id": "rs_1"}
OTHER: Json = {"type": "call", "id": "a", "name": "fetch_url", "arguments": {"url": "x"}}


def view(name: str, id: str = "v") -> Json:
    return {"type": "call", "id": id, "name": "view_skill", "arguments": {"name": name}}


def asked(*parts: Json) -> Message:
    return Message(role="model", content={"parts": list(parts)})


def told(id: str, outcome: str = "ok") -> Message:
    return Message(
        role="tools", content={"results": [{"id": id, "name": "", "text": "", "outcome": outcome}]}
    )


def switch(call: Json, *skills: str) -> Message:
    return Message(role="switch", content={"skills": list(skills), "call": call, "text": "You are in."})


def test_the_call_that_switches_keeps_the_thoughts_it_came_with() -> None:
    call = view("a")
    shown = visible([asked(OTHER, THOUGHT, call), told("v"), switch(call, "public:a")])
    assert [message.role for message in shown] == ["model", "tools"]
    assert shown[0].content["parts"] == [THOUGHT, call], "providers refuse a call without its thoughts"


def test_the_skill_read_last_is_known_from_the_messages_alone() -> None:
    messages = [asked(view("a")), told("v")]
    assert skill_read_last(messages) == "a"
    assert skill_read_last([*messages, asked(view("b")), told("v", "error")]) == "a"
    assert skill_read_last([*messages, asked(OTHER), told("a")]) == "a"
    assert skill_read_last([*messages, switch(view("c"), "public:c")]) == "public:c"
    assert skill_read_last([*messages, switch(view("c"))]) is None, "it has been left"
    path = {"type": "call", "id": "r", "name": "read_file", "arguments": '{"path": "/mnt/skills/x"}'}
    assert skill_read_last([*messages, asked(path), told("r")]) == "/mnt/skills/x"
