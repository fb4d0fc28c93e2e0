"""How a program ended: its traceback without Satchel's own lines, and what it leaves as `result`."""

import errno
import json
import os
import sys
import traceback
from typing import Any

_RUNTIME = os.path.dirname(os.path.dirname(__file__)) + "/"
MOST_RETURNED = 8_000_000  # bytes of `result`
_OURS = (_RUNTIME, "/mnt/code-api/", "<string>", "<frozen")
_LIBRARY = os.path.dirname(os.__file__) + "/"
_INSTALLED = ("/site-packages/", "/dist-packages/")


def tell_error(error: BaseException, program: str) -> dict[str, Any]:
    """Print the traceback; say which limit it is about, where it is about one."""
    try:
        print(describe(error, program), file=sys.stderr, end="")
    except BaseException:  # also what is told of an error must not be an error
        try:
            os.write(2, f"{type(error).__name__}\n".encode())
        except OSError:
            pass
    ended = limit_of(error)
    code = 130 if isinstance(error, KeyboardInterrupt) else 1
    return {"exit_code": code, "ended": ended} if ended else {"exit_code": code}


def describe(error: BaseException, program: str) -> str:
    """As Python prints it, but only with the program's own lines; and what can be done about it."""
    told = traceback.TracebackException.from_exception(error, compact=True)
    clean(told, program, set())
    text = "".join(told.format())
    # Python knows similar names, but not what a program could import.
    is_told = "Did you mean" in text and not isinstance(error, NameError)
    hint = None if is_told else hint_for(error, program)
    return f"{text}hint: {hint}\n" if hint else text


def hint_for(error: BaseException, program: str) -> str | None:
    if isinstance(error, MemoryError):  # there is none left to look for one
        return None
    try:
        from satchel_guest import hints  # takes a while to load, and may fail for want of memory

        return hints.hint_for(error, program)
    except Exception:  # the error itself must be told in any case
        return None


def clean(told: traceback.TracebackException, program: str, seen: set[int]) -> None:
    if id(told) in seen:
        return
    seen.add(id(told))
    told.stack[:] = [frame for frame in told.stack if is_of_program(frame, program)]
    if told.__context__ is not None and not has_passed(told.__context__, program):
        told.__context__ = None
    folder = os.path.dirname(program) + "/"
    for frame in told.stack:
        frame.filename = frame.filename.removeprefix(folder)
    if getattr(told, "filename", None) == program:  # of a SyntaxError
        told.filename = os.path.basename(program)
    for other in (told.__cause__, told.__context__, *(getattr(told, "exceptions", None) or ())):
        if other is not None:
            clean(other, program, seen)


def has_passed(told: traceback.TracebackException, program: str) -> bool:
    """Whether an error passed through the program: one that a library caught itself does not count."""
    return any(is_of_program(frame, program) for frame in told.stack)


def is_of_program(frame: traceback.FrameSummary, program: str) -> bool:
    """Not of wrappers, Satchel, the standard library or a package: of the program, or a file of its own."""
    return not is_ours(frame.filename, program)


def is_ours(filename: str, program: str) -> bool:
    wrappers = [f"{os.path.dirname(program)}/{folder}/" for folder in ("servers", "tools", "helpers")]
    if filename.startswith((*_OURS, _LIBRARY, *wrappers)):
        return True
    return any(folder in filename for folder in _INSTALLED)


def limit_of(error: BaseException) -> str | None:
    """The limit that an error is about. What limits did not cause is the program's own matter."""
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return "processes"
    if isinstance(error, OSError):
        limits = {
            errno.EMFILE: "open_files",
            errno.EFBIG: "file_size",
            errno.ENOSPC: "disk",
            errno.EDQUOT: "disk",
            errno.EAGAIN: "processes" if isinstance(error, BlockingIOError) else None,
            errno.ENOMEM: "memory",
        }
        return limits.get(error.errno or 0)
    if getattr(error, "kind", None) == "limit":
        return "calls"
    return None


def tell_result(bridge: int, value: Any) -> None:
    """Send `result` as JSON; say so where it is none."""
    try:
        body = json.dumps({"method": "end", "params": {"result": value}}, allow_nan=False).encode()
    except Exception as error:  # also one of its own methods'
        print(f"`result` was not returned, because it is not JSON: {error}", file=sys.stderr)
        return
    if len(body) > MOST_RETURNED:
        print(f"`result` was not returned: it has {len(body):,} bytes", file=sys.stderr)
        return
    send(bridge, body)


def send(bridge: int, body: bytes) -> None:
    """Send a frame. Answers that nobody waits for any more must not keep the host from taking it."""
    import select  # only sent frames need it

    os.set_blocking(bridge, False)
    data = memoryview(len(body).to_bytes(4, "big") + body)
    while data:
        try:
            data = data[os.write(bridge, data) :]
        except BlockingIOError:
            if select.select([bridge], [bridge], [])[0]:
                try:
                    os.read(bridge, 1 << 16)
                except BlockingIOError:
                    pass  # a thread that is still there was quicker
