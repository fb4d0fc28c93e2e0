"""An MCP server over stdio that tells its secret, the variable API_TOKEN, in every way but a result.

python leaky.py start         it exits at once; the last words on stderr are the secret
python leaky.py initialize    every request is answered with an error that has the secret in it
python leaky.py call          it lists tools; see TOOLS
python leaky.py list          the same, but its list is an error that has the secret in it
"""

import json
import os
import sys
from typing import Any

TOOLS = {
    "refuse": "The answer is an error with the secret in its message and its data.",
    "crash": "The secret is written to stderr, whole and in pieces of a long line, and the server exits.",
    "nonsense": "The answer is no result, and has the secret in it.",
    "ask": "The secret is in a question to the client; if that is not answered, in what fails then.",
    "page": "The client is sent to a page that has the secret in its address.",
    "echo": "Whatever is given is a result.",
}


def main(how: str) -> None:
    secret = os.environ["API_TOKEN"]
    if how == "start":
        tell(secret)
        sys.exit(f"RuntimeError: can't log in with {secret}")
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        if "id" in request:
            fails = how == "initialize" or (how == "list" and request["method"] == "tools/list")
            answer = failed(secret) if fails else answered(request, secret)
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}) + "\n")
            sys.stdout.flush()


def tell(secret: str) -> None:
    for before in (0, 480, 490, 495):  # lines are cut somewhere
        sys.stderr.write("x" * before + f" {secret}\n")
    sys.stderr.write(f"url=https://user:{secret}@example.com/?key={secret}\n")
    sys.stderr.flush()


def failed(secret: str) -> dict[str, Any]:
    return {"error": {"code": -32603, "message": f"no access with {secret}", "data": {"token": secret}}}


def asked(secret: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    question = {"message": f"Is it {secret}?", "requestedSchema": schema}
    message = {"jsonrpc": "2.0", "id": "question", "method": "elicitation/create", "params": question}
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        if json.loads(line).get("id") == "question":
            break
    return {"result": {"content": [{"type": "text", "text": f"not without {secret}"}], "isError": True}}


def answered(request: dict[str, Any], secret: str) -> dict[str, Any]:
    params: dict[str, Any] = request.get("params") or {}
    method: str = request["method"]
    name: object = params.get("name")
    match method, name:
        case "initialize", _:
            version: str = params["protocolVersion"]
            about = {"name": "leaky", "version": "1"}
            return {
                "result": {
                    "protocolVersion": version,
                    "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                    "serverInfo": about,
                }
            }
        case "tools/list", _:
            tools = [
                {"name": name, "description": text, "inputSchema": {"type": "object"}}
                for name, text in TOOLS.items()
            ]
            return {"result": {"tools": tools}}
        case "resources/list", _:
            return {"result": {"resources": [{"uri": "leaky://one", "name": "one"}]}}
        case "resources/templates/list", _:
            return {"result": {"resourceTemplates": []}}
        case "prompts/list", _:
            return {"result": {"prompts": [{"name": "one"}]}}
        case "tools/call", "crash":
            tell(secret)
            os._exit(9)
        case "tools/call", "ask":
            return asked(secret)
        case "tools/call", "page":
            page = {"mode": "url", "url": f"https://example.com/?key={secret}", "elicitationId": secret}
            return {"error": {"code": -32042, "message": secret, "data": {"elicitations": [page, secret]}}}
        case "tools/call", "nonsense":
            return {"result": {"content": {"token": secret}}}
        case "tools/call", "echo":
            return {"result": {"content": [{"type": "text", "text": str(params.get("arguments"))}]}}
        case "server/discover", _:
            return {"error": {"code": -32601, "message": "Method not found"}}
        case _:
            return failed(secret)


if __name__ == "__main__":
    main(sys.argv[1])
