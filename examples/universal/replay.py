"""An MCP server that replays what a real one answered: python replay.py LISTING.json

LISTING has the answers to `initialize` and `tools/list` under `initialize` and `tools`, as a client received
them, and optionally under `answers` what each tool returns. Nothing is computed and no other file is read, so
dozens of these start in a moment and need no network. Only the standard library is used.
"""

import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]
UNKNOWN_METHOD = -32601
EMPTY = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


def main(file: Path) -> None:
    listing: Json = json.loads(file.read_bytes())
    for line in sys.stdin:
        request: Json = json.loads(line)
        if "id" in request:  # a notification wants no answer
            answer = {"jsonrpc": "2.0", "id": request["id"], **answer_to(request, listing)}
            print(json.dumps(answer), flush=True)


def answer_to(request: Json, listing: Json) -> Json:
    method = request["method"]
    if method == "initialize":
        return {"result": listing["initialize"]}
    if method == "tools/list":
        return {"result": {"tools": listing["tools"]}}
    if method == "tools/call":
        return {"result": answer_of(request["params"]["name"], listing)}
    if method == "ping":
        return {"result": {}}
    if method in EMPTY:
        return {"result": {EMPTY[method]: []}}
    return {"error": {"code": UNKNOWN_METHOD, "message": f"Method not found: {method}"}}


def answer_of(tool: str, listing: Json) -> Json:
    """What the tool returned when it was recorded; an error of the tool where nobody did."""
    answer = listing.get("answers", {}).get(tool)
    if answer is None:
        text = f"{tool} is only listed here: what it returns was not recorded."
        return {"content": [{"type": "text", "text": text}], "isError": True}
    return {"content": [{"type": "text", "text": json.dumps(answer)}], "structuredContent": answer}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
