"""The files of a server's TypeScript folder."""

import json
from collections.abc import Sequence
from typing import Any

from satchel.codegen.describing import prompt_lines, prompt_names, resource_lines
from satchel.codegen.examples import choose, example_input
from satchel.codegen.places import alias_folders, folder_of, instructions_of, plain_name, version_rows
from satchel.codegen.signature import Signature
from satchel.codegen.text import WIDTH, doc_comment, one_line, typescript_string, wrap
from satchel.codegen.typescript.tool import RUNTIME, property_name, tool_file
from satchel.model import Prompt, Server, is_list, is_object
from satchel.names import assign_tools, count

_IMPORTED = {"_getPrompt", "_Prompt"}


def root_files(servers: Sequence[Server]) -> dict[str, str]:
    """File name → text, of what lies at the root of the tree."""
    return {"deno.json": _deno_json(servers), "example.ts": _example_of_all(servers)}


def group_files(text: str) -> dict[str, str]:
    """A folder of servers needs no file to be importable."""
    return {}


def package_files(server: Server, signatures: Sequence[Signature], digest: str) -> dict[str, str]:
    """File name → text."""
    files = {f"{signature.spelling.typescript}.ts": tool_file(signature) for signature in signatures}
    files |= {
        "index.ts": _index(server, signatures),
        "example.ts": _example(server, signatures),
        "version.ts": _version(server, digest),
    }
    if server.resources:
        files["resources.ts"] = _resources(server)
    if server.prompts:
        files["prompts.ts"] = _prompts(server)
    return files


def alias_files(server: Server) -> dict[str, str]:
    """File name → text, of a folder that leads to the server's by a different name."""
    folder = server.spelling.typescript
    text = f"{plain_name(server)} by a different name: the same as {folder}."
    return {
        "index.ts": f"export * from {typescript_string(f'../{folder}/index.ts')};\n" + doc_comment([text], "")
    }


def _index(server: Server, signatures: Sequence[Signature]) -> str:
    tools = count(len(signatures), "tool")
    text = f"{plain_name(server)}: {tools}. index.json has a line on each; read its file before use."
    names = [signature.spelling.typescript for signature in signatures]
    rows = "".join(f"export {{ {name} }} from {typescript_string(f'./{name}.ts')};\n" for name in names)
    # After an import or export, so that nothing in it is taken for an instruction to the compiler.
    return (rows or "export {};\n") + doc_comment([text, *instructions_of(server)], "")


def _version(server: Server, digest: str) -> str:
    rows = version_rows(server, digest).items()
    return doc_comment(["What these files were generated from."], "") + "".join(
        f"export const {name} = {typescript_string(value)};\n" for name, value in rows
    )


def _example(server: Server, signatures: Sequence[Signature]) -> str:
    calls: list[str] = []
    for signature in choose(signatures):
        values = example_input(signature)
        if values is not None:
            given = _value(values) if values else ""
            calls.append(f"  console.log(await server.{signature.spelling.typescript}({given}));\n")
    place = folder_of(server, "typescript")
    text = f"Calls with made-up arguments. Run it from the root of the tree: deno run {place}/example.ts"
    return (
        'import * as server from "./index.ts";\n\n'
        + doc_comment([text], "")
        + f"if (import.meta.main) {{\n{''.join(calls) or '  console.log(server);' + chr(10)}}}\n"
    )


def _example_of_all(servers: Sequence[Server]) -> str:
    """At the root: what there is, a line a tool. No call is made, because it may change something."""
    head = ["Every server with its tools. Take the calls that you need, with their arguments."]
    body = "".join(map(_shown, servers))
    return f"export {{}};\n{doc_comment(head, '')}if (import.meta.main) {{\n{body}}}\n"


def _shown(server: Server) -> str:
    place, names = folder_of(server, "typescript"), [tool.spelling.typescript for tool in server.tools]
    calls = "".join(f"    // console.log(await server.{name}({{ … }}));\n" for name in names)
    return (
        f"  {{\n    const server = await import({typescript_string(f'./{place}/index.ts')});\n"
        f"    console.log({typescript_string(plain_name(server))}, Object.keys(server));\n{calls}  }}\n"
    )


def _value(value: Any) -> str:
    if isinstance(value, str):
        return typescript_string(value)
    if is_object(value):
        pairs = ", ".join(f"{_key(name)}: {_value(part)}" for name, part in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if is_list(value):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)


def _key(name: str) -> str:
    return '["__proto__"]' if name == "__proto__" else property_name(name)  # plain, it would be the prototype


def _resources(server: Server) -> str:
    return (
        f'import {{ readResource, type Resource }} from "{RUNTIME}";\n\n'
        + doc_comment(resource_lines(server), "")
        + "export function read(uri: string): Promise<Resource> {\n"
        + f"  return readResource({typescript_string(server.name)}, uri);\n}}\n"
    )


def _prompts(server: Server) -> str:
    prompts = {
        prompt.name: prompt for prompt in server.prompts
    }  # a name that comes twice can't be told apart
    spellings = prompt_names([spelling.typescript for spelling in assign_tools(prompts).values()], _IMPORTED)
    functions = [
        _prompt(server, prompt, name) for prompt, name in zip(prompts.values(), spellings, strict=True)
    ]
    imported = "getPrompt as _getPrompt, type Prompt as _Prompt"
    return f'import {{ {imported} }} from "{RUNTIME}";\n' + "".join(functions)


def _prompt(server: Server, prompt: Prompt, function: str) -> str:
    arguments = {argument.name: argument for argument in prompt.arguments}.values()
    rows = [
        doc_comment(wrap(one_line(argument.description), WIDTH - 9) if argument.description else [], "  ")
        + f"  {property_name(argument.name)}{'' if argument.required else '?'}: string;\n"
        for argument in arguments
    ]
    optional = "" if any(argument.required for argument in arguments) else " = {}"
    parameter = f"input: {{\n{''.join(rows)}}}{optional}" if rows else ""
    names = f"{typescript_string(server.name)}, {typescript_string(prompt.name)}"
    return (
        f"\n{doc_comment(prompt_lines(prompt), '')}"
        f"export function {function}({parameter}): Promise<_Prompt> {{\n"
        f"  return _getPrompt({names}{', input' if rows else ''});\n}}\n"
    )


def _deno_json(servers: Sequence[Server]) -> str:
    """So that `./servers/google-drive` and `satchel-runtime` mean what they say."""
    imports = {
        "satchel-runtime": "./satchel-runtime/index.ts",
        "./helpers/callMCPTool": "./helpers/callMCPTool.ts",
        "./helpers/types": "./helpers/types.ts",
    }
    for server in servers:
        place = folder_of(server, "typescript")
        for alias in (place, *alias_folders(server, "typescript")):
            imports[f"./{alias}"] = f"./{alias}/index.ts"
    return json.dumps({"imports": imports}, indent=1, ensure_ascii=False) + "\n"
