"""Runs the program: the first and only thing that the interpreter in the box is started for.

A program that only prints must not wait for modules that it does not use: so nothing is imported here that is
not in every interpreter from the start, but for `resource`. What is needed later is imported then.
"""

from __future__ import annotations

import builtins
import os
import resource
import sys

TYPE_CHECKING = False  # as `typing` has it, which takes longer to import than all else here
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any, NoReturn

READY = b'\x00\x00\x00\x1e{"method":"ready","params":{}}'
BEGIN = b'\x00\x00\x00\x1e{"method":"begin","params":{}}'
TOP_LEVEL_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
FOLDER = 5  # the descriptor of the program's folder, where it is closed otherwise
COROUTINE = 0x80  # inspect.CO_COROUTINE


def main(bridge: int, program: str, packages: str, speaks: str, *rest: str) -> int:
    limits, command = rest[:6], list(rest[6:])
    set_limits(*map(int, limits))
    return live(bridge, program, packages, command, speaks=bool(speaks))


def live(bridge: int, program: str, packages: str, command: list[str], *, speaks: bool) -> int:
    """Run a program when the host says so. `command` runs what is not Python."""
    if speaks:  # a guest of its own, which does what the rest of this does
        os.set_inheritable(bridge, True)
        os.execv(command[0], command)
    start = wait_for_start(bridge)
    if start is None:
        return 125
    os.set_inheritable(bridge, False)
    asked = take_program(start, os.path.dirname(program)) if start != b"{}" else {}
    program, command = asked.get("file", program), asked.get("command", command)
    if command:
        import signal  # programs in Python don't need it

        # Python ignores some signals itself; a background job of a shell, or nohup, ignores more.
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        os.execv(command[0], [*command, program])
    # What is in a buffer when a program is ended is lost. A line costs a few microseconds more like this.
    stdout: Any = sys.stdout
    stdout.reconfigure(line_buffering=True)
    sys.argv[:] = [program]
    set_path(program, packages)
    give_names(bridge)
    watch_awaits(program)
    names: dict[str, Any] = {"__name__": "__main__", "__file__": program, "__builtins__": __builtins__}
    if asked.get("session"):
        from satchel_guest.session import live_on  # most programs stand alone

        return live_on(bridge, program, names, asked["program"])
    first = os.getpid()
    ending = run_program(program, names)
    if os.getpid() == first:  # a process that the program forked comes by here as well
        tell_end(bridge, ending, names)
    return ending["exit_code"]


def set_limits(
    cpu_seconds: int, memory: int, space: int, processes: int, open_files: int, file_size: int
) -> None:
    """Those of the kernel that count for one process or one user. What the host watches comes on top."""
    for kind, soft, hard in (
        (resource.RLIMIT_CPU, cpu_seconds + 1, cpu_seconds + 2),  # the host looks more closely
        (resource.RLIMIT_DATA, memory, memory),
        (resource.RLIMIT_AS, space, space),
        (resource.RLIMIT_NPROC, processes, processes),
        (resource.RLIMIT_NOFILE, open_files, open_files),
        (resource.RLIMIT_FSIZE, file_size, file_size),
        # What is counted for a user is counted for all boxes together: none may take it all.
        (resource.RLIMIT_SIGPENDING, 256, 256),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
        (resource.RLIMIT_CORE, 1, 1),  # of all values only this one also keeps the machine's handler away
    ):
        if soft < 0:
            continue
        highest = resource.getrlimit(kind)[1]
        if highest != resource.RLIM_INFINITY:
            soft, hard = min(soft, highest), min(hard, highest)
        resource.setrlimit(kind, (soft, hard))


def wait_for_start(bridge: int) -> bytes | None:
    """Say that all is ready, and wait to be told to begin. A host that has given up meanwhile is gone.

    Then say that it begins: a box that ends before that has run nothing, and another one may.
    """
    try:
        os.write(bridge, READY)
        head = read_whole(bridge, 4)
        start = read_whole(bridge, int.from_bytes(head, "big"))
        os.write(bridge, BEGIN)
        return start
    except OSError:
        return None


def read_whole(bridge: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(bridge, size - len(data))
        if not more:
            raise OSError("the connection to the host is closed")
        data += more
    return data


def take_program(start: bytes, folder: str) -> dict[str, Any]:
    """In a box that was made before its program, the program comes with the word to begin."""
    import json  # a program that is there already comes without it

    asked = json.loads(start)
    try:  # the folder is closed but for this descriptor, where that could be done
        os.fstat(FOLDER)
        place: int | None = FOLDER
    except OSError:
        place = None
    name, asked["file"] = asked["file"], f"{folder}/{asked['file']}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
    with open(os.open(name if place else asked["file"], flags, 0o644, dir_fd=place), "wb") as file:
        file.write(asked["program"].encode("utf-8", "surrogatepass"))
    if place:
        os.close(place)
    return asked


def set_path(program: str, packages: str) -> None:
    """The import path: wrappers first, the program's own files last, so that none replaces a module."""
    runtime, *library = sys.path
    more = [packages] if packages else []
    sys.path[:] = [os.path.dirname(program), *library, *more, runtime, os.getcwd()]


def give_names(bridge: int) -> None:
    """Some verbs are there without an import, and the runtime finds its way out when it is imported."""
    sys.modules["satchel_guest"].__dict__["bridge"] = bridge

    def call_mcp_tool(*arguments: Any, **keywords: Any) -> Any:
        """Call a tool by any of its spellings, such as "google_drive__get_document"."""
        from satchel_runtime import call_mcp_tool  # many programs call no tool

        return call_mcp_tool(*arguments, **keywords)

    def search_tools(*arguments: Any, **keywords: Any) -> Any:
        """Tools that fit a query, best first."""
        from satchel_runtime import search_tools  # as above

        return search_tools(*arguments, **keywords)

    builtins.__dict__.update(call_mcp_tool=call_mcp_tool, search_tools=search_tools)


def watch_awaits(program: str) -> None:
    """Have a call that was not awaited told in the words that help."""
    import warnings  # asyncio and the runtime need it, and prepared boxes have it

    show = warnings.showwarning

    def show_warning(message: Any, category: Any, filename: str, line: int, *more: Any) -> None:
        from satchel_guest import awaits  # few programs forget to await

        if awaits.is_about_awaits(category, message):
            awaits.tell_warning(message, filename, line, program)
        else:
            show(message, category, filename, line, *more)

    warnings.showwarning = show_warning


def tell_forgotten(names: dict[str, Any]) -> None:
    """The calls that the program's variables hold, and that nobody has awaited."""
    if any(type(value).__name__ == "coroutine" for value in names.values()):
        from satchel_guest.awaits import tell_left  # as above

        tell_left(names)


def run_program(program: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run it, and say how it ended."""
    try:
        with open(program, "rb") as file:
            source = file.read()
        code = compile(source, program, "exec", TOP_LEVEL_AWAIT, dont_inherit=True)
        if code.co_flags & COROUTINE:
            run_async(code, names)
        else:
            exec(code, names)
    except SystemExit as exit:
        return {"exit_code": exit_code(exit.code)}
    except BaseException as error:  # of any kind: it is told, and the program has ended
        return tell_error(error, program)
    tell_forgotten(names)
    return {"exit_code": 0}


def tell_error(error: BaseException, program: str) -> dict[str, Any]:
    try:
        from satchel_guest.telling import tell_error  # most programs end well

        return tell_error(error, program)
    except BaseException as failure:  # there is not even the memory left to load that, or to say it
        try:
            os.write(2, b"%s\n" % type(error).__name__.encode())
        except BaseException:  # nothing more can be done; how it ended is told by other means
            pass
        if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
            return {"exit_code": 1, "ended": "processes"}
        if isinstance(error, MemoryError) or isinstance(failure, MemoryError):
            return {"exit_code": 1, "ended": "memory"}
    return {"exit_code": 1}


def run_async(code: CodeType, names: dict[str, Any]) -> None:
    # Only programs that await need it.
    import asyncio
    from types import FunctionType

    asyncio.run(FunctionType(code, names)())


def exit_code(value: object) -> int:
    """As `sys.exit` has it: a number, nothing for 0, anything else is a message."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value & 0xFF
    print(value, file=sys.stderr)
    return 1


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # the program closed it


def tell_end(bridge: int, ending: dict[str, Any], names: dict[str, Any]) -> None:
    flush()
    if ending["exit_code"] == 0 and "result" in names:
        from satchel_guest.telling import tell_result  # few programs leave a result

        tell_result(bridge, names["result"])
    elif "ended" in ending:
        told = b'{"method":"end","params":{"ended":"%s"}}' % ending["ended"].encode()
        try:
            from satchel_guest.telling import send  # few programs reach a limit

            send(bridge, told)
        except MemoryError:  # for the import; a frame as short as this one needs none
            os.set_blocking(bridge, False)
            os.write(bridge, len(told).to_bytes(4, "big") + told)


def leave(code: int) -> NoReturn:
    """Threads that it left running don't keep a program alive; what it wants to be done at exit is done."""
    import atexit  # not in every interpreter from the start

    atexit._run_exitfuncs()
    flush()
    os._exit(code)


def start() -> NoReturn:
    leave_after(lambda: main(int(sys.argv[1]), *sys.argv[2:]))


def leave_after(work: Callable[[], int]) -> NoReturn:
    """Also after an error of ours, at the end of all memory: else threads of the program would be awaited."""
    code = 1
    try:
        code = work()
    finally:
        leave(code)
