"""The parent of prepared boxes. It has imported what programs need, and forks a child for each of them.

It lives in a box itself: the agent's mounts, none of the host's. A child goes into namespaces of its own,
puts fresh file systems over what would be shared, gives up all rights, and waits for a program. What one
leaves behind is gone with its namespaces; nothing ever comes back to the parent, which only reads from the
host.

    the host ── zygote ── 1: the first process of the new box, waits for the program to end
                          └── 2: the program
"""

import array
import ctypes
import fcntl
import gc
import json
import os
import signal
import socket
import sys
from typing import Any, NoReturn

from satchel_guest import run
from satchel_guest.ahead import import_ahead

READY = b"ready"
BRIDGE, EAR = 3, 4  # descriptors in every prepared box; the ear is the host's, and closed to the program
EAR_AMONG = 3  # the descriptors of a request
_MOST_DESCRIPTORS = 16
_LARGEST_REQUEST = 65536
_NEW_NAMESPACES = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
_NEW_CGROUP = 0x02000000
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _REMOUNT, _BIND = 1, 2, 4, 32, 4096
_NO_NEW_PRIVILEGES, _SECCOMP, _DROP_FROM_BOUNDS, _AMBIENT = 38, 22, 24, 47
_CLONE = {"x86_64": 56, "aarch64": 220}
_libc = ctypes.CDLL(None, use_errno=True)


def serve(control: socket.socket) -> None:
    """Fork a child for every request, until the host is gone."""
    settings = json.loads(control.recv(_LARGEST_REQUEST))
    settings["user"] = [os.getuid(), os.getgid()]  # not to be asked for where it has no name yet
    rules = ctypes.create_string_buffer(control.recv(_LARGEST_REQUEST))
    import_ahead()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that made the namespaces
    gc.collect()
    gc.freeze()  # or the collector would write to pages that all share
    control.send(READY)
    while True:
        request, descriptors = receive(control)
        if not request:
            return
        try:
            if fork_into_namespaces() == 0:
                control.close()
                become_box(json.loads(request), descriptors, settings, rules)
        except OSError as error:
            ear = socket.socket(fileno=os.dup(descriptors[EAR_AMONG]))
            ear.send(f"failed {error}".encode())
            ear.close()
        for descriptor in descriptors:
            os.close(descriptor)


def receive(control: socket.socket) -> tuple[bytes, list[int]]:
    """A request, with the descriptors of the bridge, the output, the errors, the host's ear, and groups."""
    space = socket.CMSG_SPACE(_MOST_DESCRIPTORS * 4)
    data, attached, _, _ = control.recvmsg(_LARGEST_REQUEST, space)
    descriptors = array.array("i")
    for _, _, content in attached:
        descriptors.frombytes(content[: len(content) - len(content) % 4])
    return data, list(descriptors)


def become_box(
    request: dict[str, Any], descriptors: list[int], settings: dict[str, Any], rules: Any
) -> NoReturn:
    """In a child: everything until there is a program in a box. What fails is said to the host."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        groups = arrange(descriptors)
        name_users(settings["user"])
        for group in groups:  # files that move a process that writes to them into a control group
            os.write(group, b"0")
            os.close(group)
        _libc.unshare(_NEW_CGROUP)  # where there are any
        os.setsid()
        mount_afresh(settings, is_deno=bool(request["command"]))
        hand_over_first_process()
        run.set_limits(*request["limits"])
        give_up_rights(rules)
        program = os.fork()
        if program != 0:
            wait_for_end(program)
        os.close(EAR)
    except BaseException as error:  # of any kind: the host is told, and the process must not live on
        os.write(EAR, f"failed {type(error).__name__}: {error}".encode()[:500])
        os._exit(125)
    speaks, command = bool(request["command"]), request["command"]
    run.leave_after(
        lambda: run.live(BRIDGE, "/program/main.py", settings["packages"], command, speaks=speaks)
    )


def arrange(descriptors: list[int]) -> list[int]:
    """Put descriptors where they belong; those of groups are left over."""
    high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 64) for descriptor in descriptors]
    bridge, output, errors, ear, *groups = high
    for descriptor, place in ((output, 1), (errors, 2), (bridge, BRIDGE), (ear, EAR)):
        os.dup2(descriptor, place, inheritable=place < BRIDGE)
        os.close(descriptor)
    os.closerange(EAR + 1, 64)
    return groups


def fork_into_namespaces() -> int:
    """As `os.fork`, but that the child is the first process of new namespaces, and owns them.

    One process less than to fork, unshare and fork again. What the C library keeps of a process it has not
    forked itself is put right by the next fork, which is the program's.
    """
    python = ctypes.PyDLL(None, use_errno=True)  # which keeps the interpreter locked
    python.PyOS_BeforeFork()
    process = python.syscall(_CLONE[os.uname().machine], _NEW_NAMESPACES | signal.SIGCHLD, 0, 0, 0, 0)
    if process == 0:
        python.PyOS_AfterFork_Child()
        return 0
    number = ctypes.get_errno()
    python.PyOS_AfterFork_Parent()
    if process < 0:
        raise OSError(number, f"clone: {os.strerror(number)}")
    return process


def name_users(user: list[int]) -> None:
    """In the new user namespace the user is who it was, and nobody else is anybody."""
    number, group = user
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{number} {number} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def mount_afresh(settings: dict[str, Any], *, is_deno: bool) -> None:
    """Nothing that can be written to is shared but the agent's own, and there is nothing in /proc."""
    safe = _NO_SETUID | _NO_DEVICES
    size, files = settings["temporary"], settings["files"]
    mount("tmpfs", "/tmp", safe, f"mode=1777,size={size},nr_inodes={files}")
    mount("tmpfs", "/dev/shm", safe, f"mode=1777,size={min(size, 64 << 20)},nr_inodes={files}")
    mount("tmpfs", "/program", safe, "mode=0755,size=4m,nr_inodes=64")
    for kind in ("links", "deno_links") if is_deno else ("links",):
        for name, target in settings[kind].items():
            os.symlink(target, f"/program/{name}")
    mount("tmpfs", "/proc", safe, "mode=0555,size=64k,nr_inodes=8")
    if is_deno:  # it must know what it is, and writes the program itself
        os.mkdir("/proc/self")
        os.symlink(settings["deno"], "/proc/self/exe")
    else:
        close_program()
    mount("tmpfs", "/proc", safe | _REMOUNT | _READ_ONLY, "mode=0555,size=64k,nr_inodes=8")
    os.chdir("/workspace")


def close_program() -> None:
    """Make the program's folder read-only, but for a way to it that is open until the program is there."""
    way = os.open("/program", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if way != run.FOLDER:
        os.dup2(way, run.FOLDER, inheritable=False)
        os.close(way)
    mount("/program", "/program", _BIND, "")
    mount("/program", "/program", _BIND | _REMOUNT | _READ_ONLY | _NO_SETUID | _NO_DEVICES, "")


def hand_over_first_process() -> None:
    """Send the host a descriptor with which it can end the box, and notice its end."""
    itself = os.pidfd_open(os.getpid())
    with socket.socket(fileno=os.dup(EAR)) as ear:
        ear.sendmsg([b"made"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [itself]))])
    os.close(itself)


def give_up_rights(rules: Any) -> None:
    """All capabilities, for good, and everything that the filter refuses."""
    for capability in range(64):
        if _libc.prctl(_DROP_FROM_BOUNDS, capability, 0, 0, 0) != 0:
            break
    _libc.prctl(_AMBIENT, 4, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    check(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")
    filter = _Filter(len(rules) // 8, ctypes.addressof(rules))
    check(_libc.prctl(_SECCOMP, 2, ctypes.byref(filter), 0, 0), "seccomp")


class _Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("rules", ctypes.c_void_p)]


def wait_for_end(program: int) -> NoReturn:
    """As the first process of the box: take leave of all that end, until the program does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that this process would heed
    os.closerange(0, EAR)
    os.closerange(EAR + 1, run.FOLDER + 1)
    while True:
        process, status = os.waitpid(-1, 0)
        if process == program:
            break
    try:
        os.kill(-1, signal.SIGKILL)  # all processes that it left running
        while True:
            os.waitpid(-1, 0)
    except OSError:
        pass  # nothing is left
    os.write(EAR, f"ended {os.waitstatus_to_exitcode(status)}".encode())
    os._exit(0)


def mount(kind: str, place: str, flags: int, options: str) -> None:
    given = (kind.encode(), place.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())
    check(_libc.mount(*given), f"mount {place}")


def check(code: int, what: str) -> None:
    if code != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def start() -> NoReturn:
    serve(socket.socket(fileno=int(sys.argv[1])))
    os._exit(0)
