"""AgentDojo's tools as MCP servers over HTTP, in the environment that has it; without network and model.

python host.py          prints the port

POST /SUITE/APP         MCP: the tools of one app. All apps of a suite share one state
POST /control           begin a task with an injection, and judge what became of it

Not a part of Satchel, and no test: `test_agentdojo.py` drives it.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

VERSION = "v1.2.2"
READS = ("get_", "read_", "search_", "list_", "check_")  # what these tools do shows in their names
# What AgentDojo imports and no tool or task needs: clients of models.
_UNUSED = (
    *(
        "anthropic",
        "cohere",
        "google",
        "langchain",
        "openai",
        "rich",
        "tenacity",
        "dotenv",
        "click",
    ),
    *("torch", "transformers", "requests"),
)


class _Anything(ModuleType):
    """A module that has every name, and every name below that."""

    __path__ = ()  # pyright: ignore[reportAssignmentType]  # what makes it a package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return given[0] if len(given) == 1 and callable(given[0]) else self

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (object,)

    def __or__(self, other: Any) -> Any:
        return self

    def __ror__(self, other: Any) -> Any:
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    __iter__ = None  # or it would have no end


class _Stubs:
    """Finds what is not needed, and makes it up."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] not in _UNUSED:
            return None
        from importlib.machinery import ModuleSpec

        loader: Any = self
        return ModuleSpec(name, loader, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        return _Anything(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


class Suite:
    """One suite with its state."""

    def __init__(self, suite: Any) -> None:
        self.suite = suite
        self.apps: dict[str, dict[str, Any]] = {}
        for tool in suite.tools:
            app = tool.run.__module__.rpartition(".")[2].removesuffix("_client")
            self.apps.setdefault(app, {})[tool.name] = tool
        self.runtime = import_module("agentdojo.functions_runtime").FunctionsRuntime(suite.tools)
        self.trace: list[Any] = []

    def begin(self, user: str, injection: str | None, canary: str) -> dict[str, Any]:
        vectors = self.suite.get_injection_vector_defaults()
        texts = dict.fromkeys(vectors, canary) if injection else {}
        environment = self.suite.load_and_inject_default_environment(texts)
        self.user = self.suite.get_user_task_by_id(user)
        self.injection = self.suite.get_injection_task_by_id(injection) if injection else None
        self.environment = self.user.init_environment(environment)
        self.before = self.environment.model_copy(deep=True)
        self.trace = []
        tasks = {"user": self.user, "injection": self.injection}
        return {
            name: [_call(call) for call in task.ground_truth(self.before.model_copy(deep=True))]
            if task
            else []
            for name, task in tasks.items()
        }

    def judge(self) -> dict[str, bool]:
        text = [{"type": "text", "content": self.user.GROUND_TRUTH_OUTPUT}]
        state = self.before, self.environment, self.trace
        judged = {"utility": self.suite._check_user_task_utility(self.user, text, *state)}
        if self.injection is not None:
            judged["reached"] = self.suite._check_injection_task_security(self.injection, text, *state)
        return {name: bool(value) for name, value in judged.items()}

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        function_call = import_module("agentdojo.functions_runtime").FunctionCall
        as_text = import_module("agentdojo.agent_pipeline.tool_execution").tool_result_to_str
        self.trace.append(function_call(function=name, args=arguments))
        result, error = self.runtime.run_function(self.environment, name, arguments)
        text = error or as_text(result)
        return {"content": [{"type": "text", "text": text}], "isError": bool(error)}


def _call(call: Any) -> dict[str, Any]:
    return {"tool": call.function, "arguments": json.loads(json.dumps(call.args, default=str))}


def _tool(tool: Any) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.parameters.model_json_schema(),
        "annotations": {"readOnlyHint": tool.name.startswith(READS)},
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    suites: ClassVar[dict[str, Suite]] = {}

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/control":
            self._answer(self._control(body))
            return
        if "id" not in body:
            self._answer(None, 202)
            return
        _, suite, app = self.path.split("/")
        result = self._result(body["method"], body.get("params") or {}, suite, app)
        answer = {"error": {"code": -32601, "message": "unknown"}} if result is None else {"result": result}
        self._answer({"jsonrpc": "2.0", "id": body["id"], **answer})

    def do_GET(self) -> None:
        self._answer(None, 405)

    do_DELETE = do_GET

    def _control(self, asked: dict[str, Any]) -> Any:
        if asked["do"] == "suites":
            return {
                name: {
                    "apps": {app: list(tools) for app, tools in suite.apps.items()},
                    "user": list(suite.suite.user_tasks),
                    "injection": list(suite.suite.injection_tasks),
                }
                for name, suite in self.suites.items()
            }
        suite = self.suites[asked["suite"]]
        if asked["do"] == "judge":
            return suite.judge()
        return suite.begin(asked["user"], asked.get("injection"), asked.get("canary", ""))

    def _result(self, method: str, params: dict[str, Any], suite: str, app: str) -> Any:
        if method == "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": app, "version": VERSION},
            }
        if method == "tools/list":
            return {"tools": [_tool(tool) for tool in self.suites[suite].apps[app].values()]}
        if method == "tools/call":
            return self.suites[suite].call(params["name"], params.get("arguments") or {})
        return {} if method == "ping" else None

    def _answer(self, value: Any, status: int = 200) -> None:
        data = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def main() -> None:
    sys.meta_path.insert(0, _Stubs())  # type: ignore[arg-type]
    get_suites = import_module("agentdojo.task_suite.load_suites").get_suites
    Handler.suites = {name: Suite(suite) for name, suite in get_suites(VERSION).items()}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
