"""Asking the person in front of an MCP client, where the settings trust that client to ask one.

Many clients answer by themselves. A client not named in `approvals.trust_clients` is never asked.
"""

from satchel.errors import SatchelError
from satchel.model import Approval, Client, Decision, is_object
from satchel.store.approvals import ApprovalStore
from satchel.verbs.approvals.showing import shown

_SCHEMA = {
    "type": "object",
    "properties": {
        "agree": {"type": "boolean", "title": "Send this call?", "description": "no: the model is told so"}
    },
    "required": ["agree"],
}


async def ask_client(client: Client, approval: Approval, store: ApprovalStore) -> None:
    """Ask, and commit the answer. Without one, the approval waits for a decision elsewhere."""
    if "elicitation" not in client.can:
        return
    text = "\n".join(shown(approval))
    try:
        answer = await client.ask(
            "elicitation/create",
            {"mode": "form", "message": text, "requestedSchema": _SCHEMA},
            f"approval-{approval.id}",
        )
    except SatchelError:
        return
    action = answer.get("action")
    content = answer.get("content")
    agrees = action == "accept" and is_object(content) and content.get("agree") is True
    refuses = action == "decline" or (action == "accept" and not agrees)
    if agrees or refuses:
        by = f"the person at {client.name}"
        await store.decide(approval.id, Decision(agrees=agrees, by=by))
