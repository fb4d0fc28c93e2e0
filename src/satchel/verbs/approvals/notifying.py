"""Telling a person that a call waits: a command that is run, or an address that is sent a POST.

What is told has no arguments in it, which may be anything. A notice that fails changes nothing else.
"""

import json
import logging
import shlex
import urllib.error
import urllib.request
from functools import partial

import anyio
import anyio.to_thread

from satchel.model import Approval, Json

logger = logging.getLogger(__name__)

_PATIENCE = 10.0  # seconds


async def notify(where: str, approval: Approval) -> None:
    """Tell of an approval that waits, and wait a little for that."""
    notice = json.dumps(_notice(approval)).encode()
    try:
        with anyio.fail_after(_PATIENCE):
            if where.startswith(("https://", "http://")):
                await anyio.to_thread.run_sync(partial(_post, where, notice), abandon_on_cancel=True)
            else:
                await anyio.run_process(shlex.split(where), input=notice, stdout=None, stderr=None)
    except Exception as error:  # noqa: BLE001  whatever a person's own command does, the approval waits
        logger.warning("approvals.notify failed: %s", str(error)[:200] or type(error).__name__)


def _notice(approval: Approval) -> Json:
    return {
        "approval": approval.id,
        "agent": approval.agent,
        "server": approval.server,
        "tool": approval.tool,
        "execution": approval.execution,
        "rules": [question.rule for question in approval.questions],
        "expires_at": approval.expires_at,
        "decide": f"satchel approvals allow {approval.id}",
    }


def _post(address: str, notice: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address, data=notice, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE):
            pass
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise
