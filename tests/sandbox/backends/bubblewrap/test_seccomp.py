"""The filter as the kernel would run it: what it refuses and allows, on both kinds of processor."""

import errno
import struct
from collections.abc import Callable, Sequence

import pytest

from satchel.sandbox.backends.bubblewrap.seccomp import build_filter, is_supported

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
X86_64, AARCH64, I386, ARM = 0xC000003E, 0xC00000B7, 0x40000003, 0x40000028
AUDIT = {"x86_64": X86_64, "aarch64": AARCH64}
LOAD, RETURN = 0x20, 0x06
TESTS: dict[int, Callable[[int, int], bool]] = {
    0x15: lambda value, against: value == against,
    0x35: lambda value, against: value >= against,
    0x45: lambda value, against: value & against != 0,
}
LONGEST = 4096  # instructions that the kernel takes
BOTH = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])

# Written down here once more, by hand: a wrong number in the list would refuse something else.
REFUSED = {
    "ptrace": (101, 117), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "unshare": (272, 97), "setns": (308, 268), "bpf": (321, 280), "keyctl": (250, 219),
    "add_key": (248, 217), "request_key": (249, 218), "perf_event_open": (298, 241), "kexec_load": (246, 104),
    "userfaultfd": (323, 282), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "init_module": (175, 105),
    "finit_module": (313, 273), "memfd_create": (319, 279), "personality": (135, 92), "reboot": (169, 142),
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsmount": (432, 432), "mount_setattr": (442, 442), "pidfd_getfd": (438, 438), "kcmp": (312, 272),
    "sendmsg": (46, 211), "sendmmsg": (307, 269), "io_setup": (206, 0), "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27), "bind": (49, 200), "connect": (42, 203), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242),
}  # fmt: skip
ALLOWED = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "openat": (257, 56), "mmap": (9, 222),
    "mprotect": (10, 226), "futex": (202, 98), "execve": (59, 221), "wait4": (61, 260), "getpid": (39, 172),
    "exit_group": (231, 94), "getrandom": (318, 278), "prctl": (157, 167), "seccomp": (317, 277),
    "sendto": (44, 206), "recvmsg": (47, 212), "rseq": (334, 293), "pidfd_open": (434, 434),
    "close_range": (436, 436),
    "openat2": (437, 437), "faccessat2": (439, 439), "futex_waitv": (449, 449), "mseal": (462, 462),
}  # fmt: skip
SOCKET, SOCKETPAIR, CLONE, IOCTL = (41, 198), (53, 199), (56, 220), (16, 29)
CLONE3 = 435
X32 = 0x40000000
THREAD = 0x3D0F00  # the flags of pthread_create
NAMESPACES = {
    "NEWNS": 0x00020000, "NEWCGROUP": 0x02000000, "NEWUTS": 0x04000000, "NEWIPC": 0x08000000,
    "NEWUSER": 0x10000000, "NEWPID": 0x20000000, "NEWNET": 0x40000000, "NEWTIME": 0x80,
}  # fmt: skip


def instructions(machine: str) -> list[tuple[int, int, int, int]]:
    return list(struct.iter_unpack("=HBBI", build_filter(machine)))


def decide(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """Run the program as the kernel does on struct seccomp_data."""
    given = [*arguments, *[0] * (6 - len(arguments))]
    architecture = AUDIT[machine] if audit is None else audit
    data = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, architecture, 0, *given)
    program = instructions(machine)
    accumulator = place = 0
    while True:
        code, if_true, if_false, value = program[place]
        place += 1
        if code == RETURN:
            return value
        if code == LOAD:
            assert value % 4 == 0
            (accumulator,) = struct.unpack_from("=I", data, value)
        else:
            place += if_true if TESTS[code](accumulator, value) else if_false


def number_of(numbers: Sequence[int], machine: str) -> int:
    return numbers[0 if machine == "x86_64" else 1]


@BOTH
def test_what_could_lead_out_of_the_box_is_refused(machine: str) -> None:
    decided = {name: decide(machine, number_of(numbers, machine)) for name, numbers in REFUSED.items()}
    assert decided == dict.fromkeys(REFUSED, ERRNO | errno.EPERM)


@BOTH
def test_what_programs_need_is_allowed(machine: str) -> None:
    decided = {name: decide(machine, number_of(numbers, machine)) for name, numbers in ALLOWED.items()}
    assert decided == dict.fromkeys(ALLOWED, ALLOW)


@BOTH
def test_a_session_of_its_own_is_said_to_be_given_and_is_not(machine: str) -> None:
    assert decide(machine, number_of((112, 157), machine)) == ERRNO


@BOTH
def test_a_call_of_another_architecture_kills(machine: str) -> None:
    other = AARCH64 if machine == "x86_64" else X86_64
    for audit in (I386, ARM, 0, other):
        assert decide(machine, 0, audit=audit) == KILL


@BOTH
def test_calls_newer_than_the_list_and_those_of_x32_do_not_exist(machine: str) -> None:
    for number in (463, 464, 500, 0x3FFFFFFF, X32, X32 + 59, X32 + 101, -1, 0x7FFFFFFF):
        assert decide(machine, number) == ERRNO | errno.ENOSYS, hex(number)


@BOTH
def test_clone3_does_not_exist_because_its_flags_can_not_be_seen(machine: str) -> None:
    assert decide(machine, CLONE3) == ERRNO | errno.ENOSYS


@BOTH
def test_clone_makes_threads_and_processes_but_no_namespaces(machine: str) -> None:
    clone = number_of(CLONE, machine)
    for harmless in (THREAD, 0x11, 0x01200011):  # a thread, a process, a process as libc makes it
        assert decide(machine, clone, harmless) == ALLOW
        for name, flag in NAMESPACES.items():
            assert decide(machine, clone, harmless | flag) == ERRNO | errno.EPERM, name


@BOTH
def test_no_socket_can_be_made(machine: str) -> None:
    for family in (1, 2, 10, 16, 17, 38, 40):
        assert decide(machine, number_of(SOCKET, machine), family, 1) == ERRNO | errno.EAFNOSUPPORT


@BOTH
def test_what_is_sent_has_no_address(machine: str) -> None:
    send = number_of(ALLOWED["sendto"], machine)
    assert decide(machine, send, 3, 0x7FFF_0000_0000, 10, 0, 0, 0) == ALLOW
    for address in (1, 0x1000, 0xFFFF_FFFF, 1 << 32, 0x7F00_0000_0000, 0x7FFF_1234_5678):
        assert decide(machine, send, 3, 0x7FFF_0000_0000, 10, 0, address, 110) == ERRNO | errno.EPERM


@BOTH
def test_only_pairs_of_local_sockets_can_be_made(machine: str) -> None:
    pair = number_of(SOCKETPAIR, machine)
    assert decide(machine, pair, 1) == ALLOW
    for family in (0, 2, 10, 16):
        assert decide(machine, pair, family) == ERRNO | errno.EAFNOSUPPORT


@BOTH
def test_nothing_can_be_typed_into_a_terminal(machine: str) -> None:
    ioctl = number_of(IOCTL, machine)
    for request in (0x5412, 0x541C):
        assert decide(machine, ioctl, 0, request) == ERRNO | errno.EPERM
        # The kernel looks at the low half only, so the filter must.
        assert decide(machine, ioctl, 0, request | 1 << 32) == ERRNO | errno.EPERM
    for request in (0x5401, 0x5413, 0x541B):  # TCGETS, TIOCGWINSZ, FIONREAD
        assert decide(machine, ioctl, 0, request) == ALLOW


@BOTH
def test_no_space_can_be_reserved_that_is_not_written(machine: str) -> None:
    assert decide(machine, number_of((285, 47), machine)) == ERRNO | errno.EOPNOTSUPP
    for request in (0x40305828, 0x4030582A, 0x40305839):  # FS_IOC_RESVSP, RESVSP64, ZERO_RANGE
        assert decide(machine, number_of(IOCTL, machine), 3, request) == ERRNO | errno.EOPNOTSUPP


@BOTH
def test_the_kernel_would_accept_the_program(machine: str) -> None:
    program = instructions(machine)
    assert len(program) <= LONGEST
    for place, (code, if_true, if_false, value) in enumerate(program):
        assert code in {LOAD, RETURN, *TESTS}
        if code == LOAD:
            assert value in (0, 4, 16, 24, 48, 52)
        if code in TESTS:
            assert place + 1 + max(if_true, if_false) < len(program)
    assert program[-1][0] == RETURN


def test_there_is_no_filter_for_other_machines() -> None:
    assert is_supported("x86_64")
    assert is_supported("aarch64")
    assert not is_supported("riscv64")
