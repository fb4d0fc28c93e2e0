"""The seccomp filter of the box, as the bytes that bubblewrap loads: a classic BPF program.

A list of what is refused, not of what is allowed: programs import packages that nobody here has seen. What
the kernel learned after this list was written is refused as well, by number.
"""

import platform
import struct
from dataclasses import dataclass

_EPERM, _ENOSYS, _EOPNOTSUPP, _EAFNOSUPPORT = 1, 38, 95, 97
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _FIFTH = (
    0,
    4,
    16,
    24,
    48,
)  # offsets in seccomp_data; low halves of arguments
_AF_UNIX = 1
_NEW_NAMESPACES = 0x7E020080  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET and TIME
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_RESERVE = (0x40305828, 0x4030582A, 0x40305839)  # FS_IOC_RESVSP, RESVSP64 and ZERO_RANGE
_SET_SIGNAL, _SET_LEASE, _NOTIFY = 10, 1024, 1026  # of fcntl
_X32 = 0x40000000
_NEWEST = 462  # mseal; numbers are shared by all architectures from 424 on


@dataclass(frozen=True, kw_only=True)
class _Machine:
    audit: int
    numbers: dict[str, int]
    refused: tuple[int, ...]


# Shared by all architectures since Linux 5.
_COMMON = {
    "pidfd_getfd": 438,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "set_mempolicy_home_node": 450,
    "statmount": 457,
    "listmount": 458,
    "lsm_get_self_attr": 459,
    "lsm_set_self_attr": 460,
    "lsm_list_modules": 461,
}
# Descriptors in flight (sendmsg), the machine's one table of asynchronous requests (io_setup) and watches on
# files of the system (inotify) are refused, too: nobody counts them, or they tell about others. So is what
# gives a socket a name or finds one by it: names of local sockets are files, and files are shared.
_X86_64 = {
    "bind": 49, "connect": 42, "listen": 50, "accept": 43, "accept4": 288,
    "sendmsg": 46, "sendmmsg": 307, "io_setup": 206, "inotify_init": 253, "inotify_init1": 294,
    "inotify_add_watch": 254,
    "ptrace": 101, "syslog": 103, "personality": 135, "uselib": 134, "modify_ldt": 154, "pivot_root": 155,
    "chroot": 161, "acct": 163, "adjtimex": 159, "settimeofday": 164, "mount": 165, "umount2": 166,
    "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172,
    "ioperm": 173, "create_module": 174, "init_module": 175, "delete_module": 176, "get_kernel_syms": 177,
    "query_module": 178, "quotactl": 179, "nfsservctl": 180, "vhangup": 153, "_sysctl": 156,
    "lookup_dcookie": 212, "remap_file_pages": 216, "clock_settime": 227, "mbind": 237, "set_mempolicy":
    238, "get_mempolicy": 239, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
    "migrate_pages": 256, "unshare": 272, "vmsplice": 278, "move_pages": 279, "perf_event_open": 298,
    "fanotify_init": 300, "fanotify_mark": 301, "name_to_handle_at": 303, "open_by_handle_at": 304,
    "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
    "finit_module": 313, "memfd_create": 319, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
    "shmget": 29, "semget": 64, "msgget": 68,
}  # fmt: skip
_AARCH64 = {
    "bind": 200, "connect": 203, "listen": 201, "accept": 202, "accept4": 242,
    "sendmsg": 211, "sendmmsg": 269, "io_setup": 0, "inotify_init1": 26, "inotify_add_watch": 27,
    "ptrace": 117, "syslog": 116, "personality": 92, "pivot_root": 41, "chroot": 51, "acct": 89, "adjtimex":
    171, "settimeofday": 170, "mount": 40, "umount2": 39, "swapon": 224, "swapoff": 225, "reboot": 142,
    "sethostname": 161, "setdomainname": 162, "init_module": 105, "delete_module": 106, "quotactl": 60,
    "nfsservctl": 42, "vhangup": 58, "lookup_dcookie": 18, "remap_file_pages": 234, "clock_settime": 112,
    "mbind": 235, "get_mempolicy": 236, "set_mempolicy": 237, "migrate_pages": 238, "move_pages": 239,
    "kexec_load": 104, "add_key": 217, "request_key": 218, "keyctl": 219, "unshare": 97, "vmsplice": 75,
    "perf_event_open": 241, "fanotify_init": 262, "fanotify_mark": 263, "name_to_handle_at": 264,
    "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270,
    "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "memfd_create": 279, "bpf": 280,
    "userfaultfd": 282, "kexec_file_load": 294, "shmget": 194, "semget": 190, "msgget": 186,
}  # fmt: skip
_MACHINES = {
    "x86_64": _Machine(
        audit=0xC000003E,
        numbers={
            "socket": 41,
            "socketpair": 53,
            "sendto": 44,
            "clone": 56,
            "clone3": 435,
            "ioctl": 16,
            "fallocate": 285,
            "fcntl": 72,
            "setsid": 112,
        },
        refused=tuple(_X86_64.values()),
    ),
    "aarch64": _Machine(
        audit=0xC00000B7,
        numbers={
            "socket": 198,
            "socketpair": 199,
            "sendto": 206,
            "clone": 220,
            "clone3": 435,
            "ioctl": 29,
            "fallocate": 47,
            "fcntl": 25,
            "setsid": 157,
        },
        refused=tuple(_AARCH64.values()),
    ),
}


def is_supported(machine: str = platform.machine()) -> bool:
    return machine in _MACHINES


def build_filter(machine: str = platform.machine()) -> bytes:
    """The filter for this kind of processor."""
    kind = _MACHINES[machine]
    numbers = kind.numbers
    program = [
        _load(_ARCHITECTURE),
        _jump(_EQUAL, kind.audit, 1, 0),
        _return(_KILL),
        _load(_NUMBER),
    ]
    # The 32-bit-pointer calls of x86 have numbers of their own, and calls of tomorrow are not in the list.
    program += _refuse_if(_AT_LEAST, min(_X32, _NEWEST + 1), _ENOSYS)
    program += _refuse_if(_EQUAL, numbers["clone3"], _ENOSYS)  # its flags are in memory; libc then uses clone
    program += _refuse_if(_EQUAL, numbers["socket"], _EAFNOSUPPORT)
    # A session of its own would get a share of the processor of its own. It is told that it has one.
    program += _refuse_if(_EQUAL, numbers["setsid"], 0)
    # It takes all the space of a disk within one interval of the watch. Some file systems don't have it, so
    # programs know what to do; the C library writes instead.
    program += _refuse_if(_EQUAL, numbers["fallocate"], _EOPNOTSUPP)
    for number in sorted({*kind.refused, *_COMMON.values()}):
        program += _refuse_if(_EQUAL, number, _EPERM)
    program += _checked(numbers["socketpair"], _FIRST, [_jump(_EQUAL, _AF_UNIX, 1, 0), _error(_EAFNOSUPPORT)])
    # `send` is a `sendto` to nobody in particular: an address, in either half of its pointer, is refused.
    none = [_jump(_EQUAL, 0, 1, 0), _error(_EPERM)]
    program += _checked(numbers["sendto"], _FIFTH, [*none, _load(_FIFTH + 4), *none])
    program += _checked(numbers["clone"], _FIRST, _refuse_if(_ANY_BIT, _NEW_NAMESPACES, _EPERM))
    terminals = [check for kind in (_TIOCSTI, _TIOCLINUX) for check in _refuse_if(_EQUAL, kind, _EPERM)]
    reserving = [check for kind in _RESERVE for check in _refuse_if(_EQUAL, kind, _EOPNOTSUPP)]
    program += _checked(numbers["ioctl"], _SECOND, [*terminals, *reserving])
    # They would report every process that reads or changes a system file by a signal, or keep it waiting.
    told = [
        check for kind in (_SET_SIGNAL, _SET_LEASE, _NOTIFY) for check in _refuse_if(_EQUAL, kind, _EPERM)
    ]
    program += _checked(numbers["fcntl"], _SECOND, told)
    program.append(_return(_ALLOW))
    return b"".join(program)


def _checked(number: int, argument: int, check: list[bytes]) -> list[bytes]:
    """Run `check` on an argument of one call; what it does not refuse is allowed."""
    body = [_load(argument), *check, _return(_ALLOW)]
    return [_jump(_EQUAL, number, 0, len(body)), *body]


def _refuse_if(test: int, value: int, error: int) -> list[bytes]:
    return [_jump(test, value, 0, 1), _error(error)]


def _load(offset: int) -> bytes:
    return struct.pack("=HBBI", _LOAD, 0, 0, offset)


def _jump(test: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("=HBBI", test, if_true, if_false, value)


def _return(value: int) -> bytes:
    return struct.pack("=HBBI", _RETURN, 0, 0, value)


def _error(number: int) -> bytes:
    return _return(_ERRNO | number)
