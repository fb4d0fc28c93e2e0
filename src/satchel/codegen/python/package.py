"""The files of a server's Python package."""

from collections.abc import Iterable, Sequence

from satchel.codegen.describing import prompt_lines, prompt_names, resource_lines
from satchel.codegen.examples import choose, example_input
from satchel.codegen.places import folder_of, instructions_of, plain_name, top_of, version_rows
from satchel.codegen.python.tool import example_call, tool_file
from satchel.codegen.signature import Signature
from satchel.codegen.text import WIDTH, docstring, one_line, python_string, wrap
from satchel.model import Prompt, Server
from satchel.names import assign_parameters, assign_tools, count

_IMPORTED = {"_Prompt", "_get_prompt", "_omit", "_locals", "_str"}


def root_files(servers: Sequence[Server]) -> dict[str, str]:
    """The root of the tree is on the path of programs, and needs no file."""
    return {}


def group_files(text: str) -> dict[str, str]:
    """File name → text, of a folder of servers."""
    return {"__init__.py": f'"""{text} index.json lists them."""\n'}


def package_files(server: Server, signatures: Sequence[Signature], digest: str) -> dict[str, str]:
    """File name → text."""
    names = [signature.spelling.python for signature in signatures]
    files = {f"{signature.spelling.python}.py": tool_file(signature) for signature in signatures}
    files |= {
        "__init__.py": _init(server, names),
        "sync.py": _sync(server, names),
        "example.py": _example(server, signatures),
        "__version__.py": _version(server, digest),
    }
    if server.resources:
        files["resources.py"] = _resources(server)
    if server.prompts:
        files["prompts.py"] = _prompts(server)
    return files


def alias_files(server: Server) -> dict[str, str]:
    """File name → text, of a package that is the server's by a different name, submodules included."""
    package = server.spelling.python
    return {
        "__init__.py": docstring([f"{plain_name(server)} by a different name: the same as {package}."], "")
        + "# pyright: reportWildcardImportFromLibrary=false\n"
        + "import sys as _sys\n"
        + "from typing import TYPE_CHECKING as _TYPE_CHECKING\n"
        + f"from .. import {package} as _same\n"
        + f"if _TYPE_CHECKING:\n    from ..{package} import *\n"
        + "_sys.modules[__name__] = _same\n"
    }


def _init(server: Server, names: Sequence[str]) -> str:
    tools = count(len(names), "tool")
    text = f"{plain_name(server)}: {tools}. index.json has a line on each; read its file before use."
    imports = "".join(f"    from .{name} import {name} as {name}\n" for name in names)
    return docstring([text, *instructions_of(server)], "") + _lazy(names, imports)


def _sync(server: Server, names: Sequence[str]) -> str:
    text = f"The tools of {plain_name(server)} without await: each call blocks until it has its result."
    imports = "    from satchel_runtime import blocking as _blocking\n"
    imports += f"    from .. import {server.spelling.python} as _tools\n"
    imports += "".join(f"    {name} = _blocking(_tools.{name})\n" for name in names)
    return docstring([text], "") + _lazy(names, imports)


def _lazy(names: Sequence[str], imports: str) -> str:
    """Imports for type checkers, while at run time each tool is loaded when it is first used."""
    shown = f"if _TYPE_CHECKING:\n{imports}" if names else ""
    head = "from typing import TYPE_CHECKING as _TYPE_CHECKING\n" if names else ""
    arguments = ["__name__", *map(python_string, names)]
    line = f"_lazy({', '.join(arguments)})\n"
    if len(line) > WIDTH:
        line = "_lazy(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")\n"
    return f"{_private_note(names)}{head}from satchel_runtime import lazy as _lazy\n{shown}{line}"


def _private_note(names: Sequence[str]) -> str:
    """A tool whose name begins with an underscore is private to checkers, and is to be used all the same."""
    private = any(name.startswith("_") for name in names)
    return "# pyright: reportPrivateUsage=false\n" if private else ""


def _version(server: Server, digest: str) -> str:
    rows = version_rows(server, digest).items()
    return docstring(["What these files were generated from."], "") + "".join(
        f"{name} = {python_string(value)}\n" for name, value in rows
    )


def _example(server: Server, signatures: Sequence[Signature]) -> str:
    package = server.spelling.python
    alias = "server" if package in ("asyncio", "main", "print") else package
    place = folder_of(server, "python").replace("/", ".")
    calls: list[str] = []
    records: dict[str, str] = {}  # name → the file it is in
    for signature in choose(signatures):
        values = example_input(signature)
        if values is None:
            continue
        call, needed = example_call(signature, values)
        here = dict.fromkeys(needed, signature.spelling.python)
        if all(records.get(name, file) == file for name, file in here.items()):
            records |= here
            calls.append(f"    print(await {alias}.{call})\n")
    body = "".join(calls) or f"    print({alias}.__doc__)\n"
    imports = [f"from {top_of(server)} import {package}" + ("" if alias == package else f" as {alias}")]
    imports += [f"from {place}.{file} import {name}" for name, file in records.items()]
    text = f"Calls with made-up arguments. Run it from the root of the tree: python -m {place}.example"
    return (
        docstring([text], "")
        + _private_note([signature.spelling.python for signature in signatures])
        + "import asyncio\n\n"
        + "".join(f"{line}\n" for line in imports)
        + f'\nasync def main() -> None:\n{body}\nif __name__ == "__main__":\n    asyncio.run(main())\n'
    )


def _resources(server: Server) -> str:
    text = "The resource at that address. `.text` is the text of it all, `.contents` has the parts."
    return (
        docstring(resource_lines(server), "")
        + "from satchel_runtime import Resource, read_resource\n\n"
        + "async def read(uri: str) -> Resource:\n"
        + docstring([text], "    ")
        + f"    return await read_resource({python_string(server.name)}, uri)\n"
    )


def _prompts(server: Server) -> str:
    prompts = {
        prompt.name: prompt for prompt in server.prompts
    }  # a name that comes twice can't be told apart
    spellings = prompt_names([spelling.python for spelling in assign_tools(prompts).values()], _IMPORTED)
    functions = [
        _prompt(server, prompt, name) for prompt, name in zip(prompts.values(), spellings, strict=True)
    ]
    body = "".join(functions)
    used = ["Prompt as _Prompt", "get_prompt as _get_prompt"] + ["omit as _omit"] * ("= _omit" in body)
    text = (
        f"Prompts of {plain_name(server)}. A result's `.text` is its text, `.messages` has them one by one."
    )
    return (
        docstring([text], "")
        + ("from builtins import locals as _locals\n" if "_locals()" in body else "")
        + "from builtins import str as _str\n" * (": _str" in body)
        + f"from satchel_runtime import {', '.join(used)}\n"
        + body
    )


def _prompt(server: Server, prompt: Prompt, function: str) -> str:
    arguments = {argument.name: argument for argument in prompt.arguments}
    names = assign_parameters(arguments, {"_get_prompt", "_locals"})
    parameters = [
        f"{names[name]}: _str" + ("" if argument.required else " = _omit")
        for name, argument in arguments.items()
    ]
    mapping = ", ".join(_mapping(names))
    given = [python_string(server.name), python_string(prompt.name)] + ["_locals()"] * bool(parameters)
    given += [f"names={{{mapping}}}"] * bool(mapping)
    lines = prompt_lines(prompt)
    described = [name for name, argument in arguments.items() if argument.description]
    lines += [""] if lines and described else []
    for name in described:
        lines += wrap(f"{names[name]}: {one_line(arguments[name].description)}", WIDTH - 4)
    start = "*, " if parameters else ""
    return (
        f"\nasync def {function}({start}{', '.join(parameters)}) -> _Prompt:\n"
        + (docstring(lines, "    ") if lines else "")
        + f"    return await _get_prompt({', '.join(given)})\n"
    )


def _mapping(names: dict[str, str]) -> Iterable[str]:
    return (f"{python_string(new)}: {python_string(real)}" for real, new in names.items() if new != real)
