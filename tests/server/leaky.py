"""An MCP server over stdio that tells its secret, the variable API_TOKEN, in every way there is.

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
    "show": "The secret is in all parts of a result, in progress and in the log.",
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


def send(method: str, params: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}) + "\n")
    sys.stdout.flush()


def shown(secret: str, token: object) -> dict[str, Any]:
    send("notifications/message", {"level": "error", "logger": secret, "data": {"token": secret}})
    if token is not None:
        send("notifications/progress", {"progressToken": token, "progress": 1, "message": secret})
    text = f"API_TOKEN={secret}"
    content = [
        {"type": "text", "text": text},
        {"type": "resource", "resource": {"uri": "leaky://one", "text": text}},
        {"type": "resource_link", "uri": "leaky://one", "name": text},
    ]
    structured = {"environment": {"API_TOKEN": secret, secret: [text]}}
    return {"result": {"content": content, "structuredContent": structured, "_meta": {"token": secret}}}


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
                    "instructions": f"Log in with {secret}.",
                }
            }
        case "tools/list", _:
            tools = [
                {"name": name, "description": f"{text} {secret}", "inputSchema": {"type": "object"}}
                for name, text in TOOLS.items()
            ]
            return {"result": {"tools": tools}}
        case "resources/list", _:
            return {"result": {"resources": [{"uri": "leaky://told", "name": f"one of {secret}"}]}}
        case "resources/templates/list", _:
            return {"result": {"resourceTemplates": []}}
        case "prompts/list", _:
            return {"result": {"prompts": [{"name": "told", "description": secret}]}}
        case "resources/read", _ if params["uri"] == "leaky://told":
            return {"result": {"contents": [{"uri": "leaky://told", "text": f"It is {secret}"}]}}
        case "prompts/get", "told":
            content = {"type": "text", "text": f"Is it {secret}?"}
            return {"result": {"messages": [{"role": "user", "content": content}]}}
        case "tools/call", "show":
            meta: dict[str, object] = params.get("_meta") or {}
            return shown(secret, meta.get("progressToken"))
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
