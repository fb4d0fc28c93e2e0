"""Refused HTTP requests: the answer, and the line in the log."""

import logging
import re
from collections.abc import Sequence

from starlette.responses import JSONResponse, Response

logger = logging.getLogger(__name__)

_LONGEST_SHOWN = 100  # characters of what was sent, in the log


def refuse(status: int, text: str, given: Sequence[str] | None = None) -> Response:
    """The answer. The log has `given`, which otherwise only the sender knows."""
    shown = "" if given is None else f" (sent: {_shown(given)})"
    logger.info("refused a request: %d %s%s", status, text, shown)
    return JSONResponse({"error": text}, status_code=status, headers={"connection": "close"})


def _shown(given: Sequence[str]) -> str:
    """What is not to be trusted, in one short line; what stands before an @ is a secret."""
    text = ", ".join(value.rpartition("@")[2][:_LONGEST_SHOWN] for value in given[:3]) or "none"
    return re.sub(r"[^ -~]", "?", text)[:_LONGEST_SHOWN]
