"""A program that root's Satchel runs: makes a mount namespace and mounts into it what a box is made of.

The user that programs run as can't reach a directory below one that is closed to it, such as /root. Here,
in a namespace that nobody else sees, everything that is needed lies below one open directory.

    python -I -S root_mounts_program.py PLACE NAME=SOURCE ...

Says `ready` when all is mounted, and ends when its standard input does; whoever wants to keep the namespace
has opened it by then.
"""

import ctypes
import os
import stat
import sys

_NEW_MOUNTS = 0x00020000
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18


def main(place: str, rows: list[str]) -> None:
    library = ctypes.CDLL(None, use_errno=True)

    def check(code: int, what: str) -> None:
        if code != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{what}: {os.strerror(number)}")

    def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
        encoded = [text.encode() if text is not None else None for text in (source, target, kind, data)]
        check(library.mount(*encoded[:3], ctypes.c_ulong(flags), encoded[3]), f"mount {target}")

    check(library.unshare(_NEW_MOUNTS), "unshare")
    mount("none", "/", None, _RECURSIVE | _PRIVATE)
    # Opened before anything is mounted over: a source may lie below the place itself.
    sources = [
        (name, os.open(source, os.O_PATH | os.O_CLOEXEC)) for name, source in (r.split("=", 1) for r in rows)
    ]
    mount("satchel", place, "tmpfs", 0, "mode=0755,size=1m")
    for name, descriptor in sources:
        target = os.path.join(place, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        mount(f"/proc/self/fd/{descriptor}", target, None, _BIND | _RECURSIVE)
    os.write(1, b"ready\n")
    os.read(0, 1)


try:
    main(sys.argv[1], sys.argv[2:])
except (OSError, ValueError) as error:
    os.write(2, f"{error}\n".encode())
    sys.exit(1)
