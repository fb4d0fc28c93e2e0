"""An MCP server with everything that the MCP conformance suite looks for in a server.

    python conformance.py               over stdio
    python conformance.py --http PORT   over streamable HTTP at /mcp, 0 for a free port; prints `PORT n` and
                                        ends when its stdin does

The suite's source says what each tool, prompt and resource has to do; the names are the suite's. What a tool
asks of its client goes out as a request in the handshake era and as an input request in 2026-07-28, so that
each of them works in both. `test_trigger_tool_change` and `test_trigger_prompt_change` add something to the
list, or take it away again.
"""

import base64
import json
import sys
import warnings
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Context = ServerRequestContext[Any, Any]
Json = dict[str, Any]
Reply = types.CallToolResult | types.InputRequiredResult
PromptReply = types.GetPromptResult | types.InputRequiredResult
AskParams = types.CallToolRequestParams | types.GetPromptRequestParams

NAME = "conformance"
PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
        "0000000c4944415408d763f8cfc000000301010018dd8db00000000049454e44ae426082"
    )
).decode()
SILENCE = base64.b64encode(
    b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0"
).decode()


# What the client is asked


class Ask(Exception):
    """The call can't go on before the client has answered; only in 2026-07-28."""

    def __init__(self, result: types.InputRequiredResult) -> None:
        self.result = result


def form(message: str, properties: Json, required: list[str] | None = None) -> types.ElicitRequest:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
    }
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(prompt: str, max_tokens: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


NEEDED: dict[str, types.ClientCapabilities] = {
    "elicitation/create": types.ClientCapabilities(elicitation=types.ElicitationCapability()),
    "sampling/createMessage": types.ClientCapabilities(sampling=types.SamplingCapability()),
    "roots/list": types.ClientCapabilities(roots=types.RootsCapability()),
}
ANSWERS: dict[str, type[types.ElicitResult | types.CreateMessageResult | types.ListRootsResult]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}


async def ask(
    context: Context, params: AskParams, state: str | None = None, **requests: types.InputRequest
) -> Mapping[str, types.InputResponse]:
    """The client's answers: all of them, or it is asked."""
    for request in requests.values():
        needed = NEEDED[request.method]
        if not context.session.check_client_capability(needed):
            names = needed.model_dump(by_alias=True, exclude_none=True)
            raise MCPError(
                types.MISSING_REQUIRED_CLIENT_CAPABILITY,
                f"The client can't be asked for {request.method}",
                {"requiredCapabilities": names},
            )
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        given = params.input_responses or {}
        if not requests.keys() <= given.keys():
            raise Ask(types.InputRequiredResult(input_requests=requests, request_state=state))
        return given
    related = ServerMessageMetadata(related_request_id=context.request_id)
    return {
        key: await context.session.send_request(request, ANSWERS[request.method], metadata=related)
        for key, request in requests.items()
    }


def told(answer: types.InputResponse) -> str:
    """What the user or the client said, as text."""
    match answer:
        case types.ElicitResult():
            return f"action={answer.action}, content={json.dumps(answer.content)}"
        case types.ListRootsResult():
            return ", ".join(str(root.uri) for root in answer.roots)
        case types.CreateMessageResult():
            return answer.content.text if isinstance(answer.content, types.TextContent) else answer.role
        case types.CreateMessageResultWithTools():
            return answer.role


# Tools


@dataclass(frozen=True, kw_only=True)
class Fixture:
    tool: types.Tool
    run: Callable[[Context, types.CallToolRequestParams], Awaitable[Reply]]


TOOLS: dict[str, Fixture] = {}
BUS = InMemorySubscriptionBus()
APPEARED: set[str] = set()
"""The names of what a trigger added."""


def fixture(
    description: str, schema: Json | None = None
) -> Callable[[Callable[[Context, types.CallToolRequestParams], Awaitable[Reply]]], None]:
    """Make a function the tool of its name."""

    def register(run: Callable[[Context, types.CallToolRequestParams], Awaitable[Reply]]) -> None:
        name = run.__name__
        shape = schema or {"type": "object", "properties": {}}
        tool = types.Tool(name=name, description=description, input_schema=shape)
        TOOLS[name] = Fixture(tool=tool, run=run)

    return register


def arguments_of(**kinds: str) -> Json:
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    return {"type": "object", "properties": properties, "required": list(kinds)}


def argument(params: types.CallToolRequestParams, name: str) -> str:
    return str((params.arguments or {}).get(name, ""))


def result(*content: types.ContentBlock | str, is_error: bool = False) -> types.CallToolResult:
    blocks = [types.TextContent(text=block) if isinstance(block, str) else block for block in content]
    return types.CallToolResult(content=blocks, is_error=is_error)


def embedded(uri: str, mime_type: str, text: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(
        resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    )


@fixture("Return a text.")
async def test_simple_text(context: Context, params: types.CallToolRequestParams) -> Reply:
    return result("This is a simple text response for testing.")


@fixture("Return an image.")
async def test_image_content(context: Context, params: types.CallToolRequestParams) -> Reply:
    return result(types.ImageContent(data=PIXEL, mime_type="image/png"))


@fixture("Return a sound.")
async def test_audio_content(context: Context, params: types.CallToolRequestParams) -> Reply:
    return result(types.AudioContent(data=SILENCE, mime_type="audio/wav"))


@fixture("Return a resource within the result.")
async def test_embedded_resource(context: Context, params: types.CallToolRequestParams) -> Reply:
    return result(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))


@fixture("Return a text, an image and a resource.")
async def test_multiple_content_types(context: Context, params: types.CallToolRequestParams) -> Reply:
    return result(
        "Multiple content types test:",
        types.ImageContent(data=PIXEL, mime_type="image/png"),
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    )


@fixture("Fail.")
async def test_error_handling(context: Context, params: types.CallToolRequestParams) -> Reply:
    return result("This tool intentionally returns an error for testing", is_error=True)


async def log(context: Context, *lines: str) -> None:
    for line in lines:
        await context.session.send_log_message("info", line, related_request_id=context.request_id)  # pyright: ignore[reportDeprecated]
        await anyio.sleep(0.05)


@fixture("Log three lines.")
async def test_tool_with_logging(context: Context, params: types.CallToolRequestParams) -> Reply:
    await log(context, "Tool execution started", "Tool processing data", "Tool execution completed")
    return result("Three lines were logged.")


@fixture("Log one line, if the request asks for a log.")
async def test_logging_tool(context: Context, params: types.CallToolRequestParams) -> Reply:
    await log(context, "A line")
    return result("One line was logged, if that was asked for.")


@fixture("Report progress three times.")
async def test_tool_with_progress(context: Context, params: types.CallToolRequestParams) -> Reply:
    for progress in (0, 50, 100):
        await context.session.report_progress(progress, 100, f"Completed {progress} of 100")
        await anyio.sleep(0.05)
    return result("Progress was reported three times.")


@fixture("Answer after the stream could be closed.")
async def test_reconnection(context: Context, params: types.CallToolRequestParams) -> Reply:
    return result("The stream was kept open.")


@fixture("Ask the client's model.", arguments_of(prompt="string"))
async def test_sampling(context: Context, params: types.CallToolRequestParams) -> Reply:
    answers = await ask(context, params, answer=sampling(argument(params, "prompt")))
    return result(f"LLM response: {told(answers['answer'])}")


@fixture("Ask the user for a name and an address.", arguments_of(message="string"))
async def test_elicitation(context: Context, params: types.CallToolRequestParams) -> Reply:
    properties: Json = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answers = await ask(context, params, answer=form(argument(params, "message"), properties))
    return result(f"User response: {told(answers['answer'])}")


@fixture("Ask the user with a default for each kind of field.")
async def test_elicitation_sep1034_defaults(context: Context, params: types.CallToolRequestParams) -> Reply:
    properties: Json = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    answers = await ask(context, params, answer=form("Please review", properties, []))
    return result(f"Elicitation completed: {told(answers['answer'])}")


def titled(*titles: str) -> list[Json]:
    return [{"const": f"value{number}", "title": title} for number, title in enumerate(titles, 1)]


@fixture("Ask the user to choose, in every way that there is.")
async def test_elicitation_sep1330_enums(context: Context, params: types.CallToolRequestParams) -> Reply:
    options = ["option1", "option2", "option3"]
    properties: Json = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {
            "type": "string",
            "oneOf": titled("First Option", "Second Option", "Third Option"),
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": titled("First Choice", "Second Choice", "Third Choice")},
        },
    }
    answers = await ask(context, params, answer=form("Please choose", properties, []))
    return result(f"Elicitation completed: {told(answers['answer'])}")


@fixture(
    "A tool whose parameters take JSON Schema 2020-12 to describe.",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)
async def json_schema_2020_12_tool(context: Context, params: types.CallToolRequestParams) -> Reply:
    return result(json.dumps(params.arguments))


@fixture(
    "Return the argument that is mirrored in a header.",
    {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
)
async def test_mirrored_argument(context: Context, params: types.CallToolRequestParams) -> Reply:
    return result(argument(params, "region"))


# Tools that ask in 2026-07-28


@fixture("Ask the user for a name.")
async def test_input_required_result_elicitation(
    context: Context, params: types.CallToolRequestParams
) -> Reply:
    question = form("What is your name?", {"name": {"type": "string"}})
    answers = await ask(context, params, user_name=question)
    return result(f"Hello! {told(answers['user_name'])}")


@fixture("Ask the client's model for a capital.")
async def test_input_required_result_sampling(context: Context, params: types.CallToolRequestParams) -> Reply:
    answers = await ask(context, params, capital_question=sampling("What is the capital of France?"))
    return result(told(answers["capital_question"]))


@fixture("Ask the client for its roots.")
async def test_input_required_result_list_roots(
    context: Context, params: types.CallToolRequestParams
) -> Reply:
    answers = await ask(context, params, client_roots=types.ListRootsRequest())
    return result(told(answers["client_roots"]))


async def confirm(context: Context, params: types.CallToolRequestParams) -> Reply:
    question = form("Please confirm", {"ok": {"type": "boolean"}})
    await ask(context, params, "asked to confirm", confirm=question)
    is_mine = params.request_state == "asked to confirm"
    return result("state-ok" if is_mine else "The state is missing", is_error=not is_mine)


@fixture("Ask the user to confirm, and remember to have asked.")
async def test_input_required_result_request_state(
    context: Context, params: types.CallToolRequestParams
) -> Reply:
    return await confirm(context, params)


@fixture("Ask the user to confirm, and trust no state that somebody changed.")
async def test_input_required_result_tampered_state(
    context: Context, params: types.CallToolRequestParams
) -> Reply:
    return await confirm(context, params)


@fixture("Ask for three things at once.")
async def test_input_required_result_multiple_inputs(
    context: Context, params: types.CallToolRequestParams
) -> Reply:
    answers = await ask(
        context,
        params,
        "asked for three",
        user_name=form("What is your name?", {"name": {"type": "string"}}),
        greeting=sampling("Generate a greeting", 50),
        client_roots=types.ListRootsRequest(),
    )
    return result(*(told(answer) for answer in answers.values()))


@fixture("Ask one question, then another.")
async def test_input_required_result_multi_round(
    context: Context, params: types.CallToolRequestParams
) -> Reply:
    if params.request_state is None:
        question = form("Step 1: What is your name?", {"name": {"type": "string"}})
        answers = await ask(context, params, "{}", step1=question)
    elif params.request_state == "{}":
        first = (params.input_responses or {}).get("step1")
        state = json.dumps({"first": "" if first is None else told(first)})
        question = form("Step 2: What is your favorite color?", {"color": {"type": "string"}})
        answers = await ask(context, params, state, step2=question)
    else:
        answers = params.input_responses or {}
    return result(*(told(answer) for answer in answers.values()), f"state: {params.request_state}")


@fixture("Ask for what the client can be asked, and for nothing else.")
async def test_input_required_result_capabilities(
    context: Context, params: types.CallToolRequestParams
) -> Reply:
    wanted: dict[str, types.InputRequest] = {
        "user_name": form("What is your name?", {"name": {"type": "string"}}),
        "greeting": sampling("Generate a greeting", 50),
    }
    can = context.session.check_client_capability
    answers = await ask(context, params, None, **{k: r for k, r in wanted.items() if can(NEEDED[r.method])})
    return result(*(told(answer) for answer in answers.values()), "That was all.")


@fixture("Ask the client's model, whether the client has one or not.")
async def test_missing_capability(context: Context, params: types.CallToolRequestParams) -> Reply:
    answers = await ask(context, params, greeting=sampling("Generate a greeting", 50))
    return result(told(answers["greeting"]))


@fixture("Report progress, then ask the user.")
async def test_streaming_elicitation(context: Context, params: types.CallToolRequestParams) -> Reply:
    await context.session.report_progress(1, 2, "About to ask")
    answers = await ask(context, params, name=form("What is your name?", {"name": {"type": "string"}}))
    return result(told(answers["name"]))


# What changes while it is looked at


async def change(context: Context, name: str, event: ServerEvent) -> Reply:
    APPEARED.symmetric_difference_update({name})
    await BUS.publish(event)
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        session = context.session
        is_tool = isinstance(event, ToolsListChanged)
        await (session.send_tool_list_changed() if is_tool else session.send_prompt_list_changed())
    return result(f"{name} is {'there' if name in APPEARED else 'gone'} now.")


@fixture("Add a tool, or remove it again.")
async def test_trigger_tool_change(context: Context, params: types.CallToolRequestParams) -> Reply:
    return await change(context, "test_tool_that_appeared", ToolsListChanged())


@fixture("Add a prompt, or remove it again.")
async def test_trigger_prompt_change(context: Context, params: types.CallToolRequestParams) -> Reply:
    return await change(context, "test_prompt_that_appeared", PromptsListChanged())


async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    simple = TOOLS["test_simple_text"].tool
    appeared = [
        simple.model_copy(update={"name": name}) for name in sorted(APPEARED) if name.startswith("test_tool")
    ]
    return types.ListToolsResult(tools=[*(fixture.tool for fixture in TOOLS.values()), *appeared])


async def call_tool(context: Context, params: types.CallToolRequestParams) -> Reply:
    name = "test_simple_text" if params.name in APPEARED else params.name
    if name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    try:
        return await TOOLS[name].run(context, params)
    except Ask as asked:
        return asked.result


# Prompts


def user(content: types.ContentBlock) -> types.PromptMessage:
    return types.PromptMessage(role="user", content=content)


async def simple_prompt(context: Context, params: types.GetPromptRequestParams) -> list[types.ContentBlock]:
    return [types.TextContent(text="This is a simple prompt for testing.")]


async def prompt_with_arguments(
    context: Context, params: types.GetPromptRequestParams
) -> list[types.ContentBlock]:
    given = params.arguments or {}
    text = f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
    return [types.TextContent(text=text)]


async def prompt_with_resource(
    context: Context, params: types.GetPromptRequestParams
) -> list[types.ContentBlock]:
    uri = (params.arguments or {}).get("resourceUri", "test://example-resource")
    return [
        embedded(uri, "text/plain", "Embedded resource content for testing."),
        types.TextContent(text="Please process the embedded resource above."),
    ]


async def prompt_with_image(
    context: Context, params: types.GetPromptRequestParams
) -> list[types.ContentBlock]:
    return [
        types.ImageContent(data=PIXEL, mime_type="image/png"),
        types.TextContent(text="Please analyze the image above."),
    ]


async def prompt_that_asks(
    context: Context, params: types.GetPromptRequestParams
) -> list[types.ContentBlock]:
    question = form("What context should the prompt use?", {"context": {"type": "string"}})
    answers = await ask(context, params, user_context=question)
    return [types.TextContent(text=f"Use this context: {told(answers['user_context'])}")]


FillIn = Callable[[Context, types.GetPromptRequestParams], Awaitable[list[types.ContentBlock]]]
PROMPTS: dict[str, tuple[str, tuple[str, ...], FillIn]] = {
    "test_simple_prompt": ("A prompt without arguments.", (), simple_prompt),
    "test_prompt_with_arguments": ("A prompt with two arguments.", ("arg1", "arg2"), prompt_with_arguments),
    "test_prompt_with_embedded_resource": (
        "A prompt with a resource.",
        ("resourceUri",),
        prompt_with_resource,
    ),
    "test_prompt_with_image": ("A prompt with an image.", (), prompt_with_image),
    "test_input_required_result_prompt": ("A prompt that asks the user first.", (), prompt_that_asks),
}


async def list_prompts(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    prompts = [
        types.Prompt(
            name=name,
            description=description,
            arguments=[types.PromptArgument(name=argument, required=True) for argument in arguments],
        )
        for name, (description, arguments, _) in PROMPTS.items()
    ]
    appeared = sorted(name for name in APPEARED if name.startswith("test_prompt"))
    return types.ListPromptsResult(
        prompts=[*prompts, *(types.Prompt(name=name, description="A new prompt.") for name in appeared)]
    )


async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> PromptReply:
    if params.name not in PROMPTS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    try:
        content = await PROMPTS[params.name][2](context, params)
    except Ask as asked:
        return asked.result
    return types.GetPromptResult(messages=[user(block) for block in content])


async def complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    values = [word for word in ("paris", "park", "party", "test") if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


# Resources

RESOURCES: dict[str, types.TextResourceContents | types.BlobResourceContents] = {
    contents.uri: contents
    for contents in (
        types.TextResourceContents(
            uri="test://static-text",
            mime_type="text/plain",
            text="This is the content of the static text resource.",
        ),
        types.BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=PIXEL),
        types.TextResourceContents(
            uri="test://watched-resource", mime_type="text/plain", text="This can be watched."
        ),
    )
}
BEFORE, AFTER = "test://template/", "/data"


async def list_resources(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    resources = [
        types.Resource(
            uri=uri, name=uri.removeprefix("test://"), description="A resource.", mime_type=contents.mime_type
        )
        for uri, contents in RESOURCES.items()
    ]
    return types.ListResourcesResult(resources=resources)


async def list_resource_templates(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template=f"{BEFORE}{{id}}{AFTER}",
        name="template",
        description="A resource for each id.",
        mime_type="application/json",
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(
    context: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    uri = params.uri
    contents = RESOURCES.get(uri)
    if contents is None and uri.startswith(BEFORE) and uri.endswith(AFTER):
        number = uri.removeprefix(BEFORE).removesuffix(AFTER)
        text = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
        contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
    if contents is None:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
    return types.ReadResourceResult(contents=[contents])


async def subscribe(
    context: Context, params: types.SubscribeRequestParams | types.UnsubscribeRequestParams
) -> types.EmptyResult:
    return types.EmptyResult()  # nothing that can be watched ever changes


async def set_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()  # everything that is logged is logged as `info`


def make_server() -> Server[Any]:
    server: Server[Any] = Server(
        NAME,
        version="1.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_list_resources=list_resources,
        on_list_resource_templates=list_resource_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=subscribe,
        on_subscriptions_listen=ListenHandler(BUS),
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    return server


async def serve_stdio() -> None:
    server = make_server()
    changing = NotificationOptions(tools_changed=True, prompts_changed=True)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options(changing))


def main() -> None:
    warnings.simplefilter("ignore", MCPDeprecationWarning)  # sampling, roots and logging are what is tested
    if sys.argv[1:2] == ["--http"]:
        from remote import listen, serve

        serve((listen(int(sys.argv[2])), make_server().streamable_http_app()))
    else:
        anyio.run(serve_stdio)


if __name__ == "__main__":
    main()
