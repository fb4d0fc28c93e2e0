"""The program that `trial` runs in the box: it tries forbidden actions, and reports the results.

Runs inside only. It asks the host to look at it from outside while it lives.
"""

import ctypes
import errno
import os
import socket

from satchel_runtime.connection import connection

_NEW_USER_NAMESPACE = 0x10000000


def try_socket() -> str:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "?")
    return ""


def try_unshare() -> str:
    library = ctypes.CDLL(None, use_errno=True)
    return "" if library.unshare(_NEW_USER_NAMESPACE) == 0 else errno.errorcode.get(ctypes.get_errno(), "?")


def try_write(path: str) -> str:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "?")
    return ""


connection().request_blocking("look", {"process": os.getpid(), "device": os.stat("/tmp").st_dev})
result = {
    "socket": try_socket(),
    "unshare": try_unshare(),
    # An error of each, or none if one could be written to.
    "write_outside": try_write("/usr/share/satchel-trial") and try_write("/mnt/agents/other/memory/trial"),
    # The first error, or none.
    "write_inside": try_write("/workspace/trial") or try_write("/mnt/memory/a") or try_write("/mnt/tasks/a"),
    "programs": os.listdir("/opt/satchel/bin") if os.path.isdir("/opt/satchel/bin") else [],
}
