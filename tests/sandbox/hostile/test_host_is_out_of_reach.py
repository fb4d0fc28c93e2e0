"""What a program can reach: nothing of the host but what the box is made of, and no more of the kernel.

Each program runs in the box and outside. What it does outside shows that it would do it, if it could.
"""

import os
import platform
import resource
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pytest

from satchel.sandbox.programs import find_program
from tests.sandbox.hostile.ground import Box, attempts_outside, expect
from tests.sandbox.hostile.host import Host

IS_ROOT = os.geteuid() == 0
X86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="has the numbers of x86_64 only")


@dataclass(frozen=True, kw_only=True)
class Attack:
    """What a program tries, and what may come of it."""

    code: str
    refused: Collection[str]
    only_inside: str = ""  # what would do harm outside, or is not worth trying there
    proofs: Collection[str] | None = None
    """The attempts that succeed outside: all of them, unless it says otherwise."""


NO_NETWORK = {"EAFNOSUPPORT", "gaierror"}
ATTACKS = {
    "reads the files of whoever runs Satchel": Attack(
        code="""
for path in [*plant["files"], "/etc/passwd", "/etc/hostname", "/etc/resolv.conf"]:
    attempt(path, lambda: open(path).close())
attempt("/etc/shadow", os.stat, "/etc/shadow")
attempt("a link to it", lambda: (os.symlink(plant["files"][0], "link"), open("link").close()))
attempt("the directory", lambda: bool(os.listdir(plant["directory"])))
attempt("the way up", lambda: open("../" * 40 + plant["files"][0]).close())
""",
        refused={"ENOENT"},
    ),
    "looks at processes through /proc": Attack(
        code="""
for path in ("/proc", "/proc/self/root", "/proc/self/fd", "/sys", "/run", "/var", "/home"):
    attempt(path, lambda: os.listdir(path)[0] and None)
for path in ("self/environ", "self/maps", "1/status", "cmdline", "mounts", "keys", "kallsyms", "self/mem"):
    attempt(path, lambda: open("/proc/" + path, "rb").close())
attempt("a link to it", lambda: (os.symlink("/proc/self", "proc"), os.listdir("proc"))[0])
attempt("through a descriptor", lambda: open("/dev/fd/0", "rb").close())
""",
        refused={"ENOENT", "FileNotFoundError", "IndexError"},
    ),
    "connects to servers of the host": Attack(
        code="""
import socket
for address in plant["tcp"]:
    attempt(f"TCP {address[0]}", lambda: socket.create_connection(tuple(address), 5))
def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", tuple(plant["udp"]))
attempt("UDP", udp)
attempt("a name", lambda: bool(socket.getaddrinfo("localhost", 80)))
for path in plant["stream"]:
    def unix():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
    attempt(repr(path), unix)
""",
        refused=NO_NETWORK,
    ),
    "opens a socket of any family": Attack(
        code="""
import socket
for family in range(1, 46):
    for kind in (1, 2, 3, 5):
        attempt(f"{family} {kind}", lambda: socket.socket(family, kind).close())
for family in (2, 10, 16, 17, 40):
    attempt(f"a pair of {family}", lambda: socket.socketpair(family, 1))
""",
        only_inside="""
for address in ("169.254.169.254", "1.1.1.1", "192.168.0.1"):
    attempt(address, lambda: socket.create_connection((address, 80), 1))
for number in (1, 2):  # this machine and the hypervisor
    attempt(f"vsock {number}", lambda: socket.socket(40, 1).connect((number, 1)))
""",
        refused={"EAFNOSUPPORT"},
        proofs={"1 1", "2 1", "2 2", "16 3"},
    ),
    "takes space without writing, faster than anybody can look": Attack(
        code="""
import fcntl, struct
file = os.open("reserved", os.O_CREAT | os.O_RDWR)
attempt("fallocate", libc, "fallocate", file, 0, 0, 1_000_000)
for number in (40, 42):  # FS_IOC_RESVSP and RESVSP64, which are the same by another way
    asked = struct.pack("hhqqiI4i", 0, 0, 0, 1_000_000, 0, 0, 0, 0, 0, 0)
    attempt(f"ioctl {number}", fcntl.ioctl, file, 0x40305800 + number, asked)
os.unlink("reserved")
""",
        refused={"ENOTSUP"},
    ),
    "uses one end of a pair of sockets to reach somebody else": Attack(
        code="""
import socket
for number, path in enumerate(plant["datagram"]):
    mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    attempt(f"send {number}", mine.sendto, b"x", path)
    attempt(f"connect {number}", mine.connect, path)
    attempt(f"bind {number}", mine.bind, path + "-own")
    attempt(f"let go {number}", libc, "connect", mine.fileno(), bytes(16), 16)
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    mine, other = socket.socketpair(socket.AF_UNIX, kind)
    attempt(f"listen of {kind}", mine.listen)
    attempt(f"accept of {kind}", mine.accept)
    attempt(f"bind of {kind}", mine.bind, "\\0" + plant["directory"] + str(kind))
""",
        refused={"EPERM"},
        proofs={
            f"{action} {number}" for action in ("send", "connect", "bind", "let go") for number in (0, 1)
        },
    ),
    "looks into another process": Attack(
        code="""
ATTACH_WITHOUT_STOPPING = 0x4206
for name in ("victim", "session"):
    attempt("ptrace " + name, libc, "ptrace", ATTACH_WITHOUT_STOPPING, plant[name], 0, 0)
buffer = ctypes.create_string_buffer(16)
local = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 16)
remote = (ctypes.c_size_t * 2)(plant.get("address", 4096), 16)
for pid in (1, os.getppid(), plant["victim"]):
    attempt(f"memory of {pid}", libc, "process_vm_readv", pid, local, 1, remote, 1, 0)
    attempt(f"pidfd of {pid}", lambda: libc("syscall", 438, os.pidfd_open(pid), 0, 0))
""",
        refused={"EPERM", "ESRCH"},
        proofs={"ptrace victim"} if IS_ROOT else (),
    ),
    "signals processes of the host": Attack(
        code="""
attempt("victim", os.kill, plant["victim"], 15)
""",
        refused={"ESRCH"},
    ),
    "makes namespaces and mounts": Attack(
        code="""
USER, MOUNT, NET, PID = 0x10000000, 0x20000, 0x40000000, 0x20000000
attempt("user namespace", libc, "unshare", USER)
attempt("mount namespace", libc, "unshare", MOUNT)
attempt("net namespace", libc, "unshare", NET)
attempt("pid namespace", libc, "unshare", PID)
attempt("private", libc, "mount", b"none", b"/", 0, 16384 | 1 << 18, 0)
target = (plant["directory"] if os.path.isdir(plant["directory"]) else "/tmp").encode()
attempt("mount", libc, "mount", b"none", target, b"tmpfs", 0, 0)
attempt("bind", libc, "mount", b"/usr", target, 0, 4096, 0)
attempt("remount", libc, "mount", b"none", target, 0, 32, 0)
attempt("umount", libc, "umount2", target, 2)
attempt("chroot", os.chroot, target)
""",
        refused={"EPERM"},
        proofs={"user namespace", "mount namespace", "net namespace", "mount", "chroot"},
    ),
    "makes a namespace with clone": Attack(
        code="""
import signal
def clone(flags):
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    pid = libc("syscall", number, flags | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
for name, flag in dict(user=0x10000000, mount=0x20000, time=0x80, cgroup=0x2000000).items():
    attempt(name, clone, flag | 0x10000000)
attempt("clone3", lambda: libc("syscall", 435, 0, 0))
""",
        only_inside="""
for flag in (0x20000, 0x80, 0x2000000, 0x4000000, 0x8000000, 0x20000000, 0x40000000, 0x10000000 | 1 << 33):
    attempt(f"clone {flag:#x}", clone, flag)
""",
        refused={"EPERM", "ENOSYS"},
        proofs={"user", "mount"},
    ),
    "makes devices": Attack(
        code="""
import stat
for name, kind, major in (("a-disk", stat.S_IFBLK, 8), ("a-memory", stat.S_IFCHR, 1)):
    attempt(name, os.mknod, name, kind | 0o600, os.makedev(major, 1))
""",
        refused={"EPERM"},
        proofs=None if IS_ROOT else (),
    ),
    "becomes somebody else": Attack(
        code="""
attempt("setgroups", os.setgroups, [0])
attempt("setgid", os.setresgid, 0, 0, 0)
attempt("setuid", os.setresuid, 0, 0, 0)
attempt("setfsuid", lambda: 1 / int(libc("setfsuid", 0) * 0 + libc("setfsuid", 0) == 0))
attempt("chown", lambda: (open("mine", "w").close(), os.chown("mine", 0, 0)))
attempt("keeps privileges", lambda: 1 / int(libc("prctl", 39, 0, 0, 0, 0) == 0))
""",
        refused={"EPERM", "EINVAL", "ENOENT", "ZeroDivisionError"},
        proofs=None if IS_ROOT else {"keeps privileges"},
    ),
    "has itself told what others do": Attack(
        code="""
import fcntl, signal
watched = os.open("/usr/bin", os.O_RDONLY)
signal.signal(34, signal.SIG_IGN)
attempt("F_SETSIG", fcntl.fcntl, watched, 10, 34)
attempt("F_NOTIFY", fcntl.fcntl, watched, 1026, 0x1F)
attempt("F_SETLEASE", lambda: fcntl.fcntl(os.open("leased", os.O_RDWR | os.O_CREAT), 1024, fcntl.F_WRLCK))
""",
        refused={"EPERM"},
    ),
    "takes what is counted for its user": Attack(
        code="""
attempt("message queues", lambda: libc("mq_open", b"/x", 0o102, 0o600, None))
def queue_signals():
    import signal
    signal.pthread_sigmask(signal.SIG_BLOCK, [40])
    for number in range(2000):
        libc("sigqueue", os.getpid(), 40, 0)
attempt("signals", queue_signals)
""",
        refused={"EAGAIN", "EMFILE", "ENOMEM", "ENOSPC"},
        proofs=(),
    ),
    "types into a terminal": Attack(
        code="""
import fcntl, pty
attempt("a new terminal", pty.openpty)
slave = os.open("/dev/null", os.O_RDWR)  # what is asked of a terminal is refused before it is looked at
attempt("TIOCSTI", fcntl.ioctl, slave, 0x5412, b"x")
attempt("TIOCSTI, with more bits", libc, "ioctl", slave, 0x5412 | 1 << 32, ctypes.c_char_p(b"x"))
attempt("TIOCLINUX", fcntl.ioctl, slave, 0x541C, b"\\x02")
attempt("its own terminal", os.open, "/dev/tty", os.O_RDWR)
""",
        refused={"EPERM", "ENXIO", "ENOENT", "OSError"},
        proofs=(),  # newer kernels refuse it to everybody
    ),
    "changes what the next program runs on": Attack(
        code="",
        only_inside="""
import json as module
for path in ("/program/main.py", "/program/json.py", "/mnt/code-api/x", "/opt/satchel/python/x",
             "/opt/satchel/python/satchel_guest/run.py", "/usr/lib/x", "/usr/bin/env", module.__file__,
             os.path.dirname(module.__file__) + "/__pycache__/x.pyc", "/x", "/dev/x", "/dev/pts/x", "/etc/x",
             "/etc/ld.so.preload", "/etc/ld.so.cache", "/mnt/x", "/mnt/skills/x", "/mnt/agents/x",
             "/massgen_workspace/x", "/massgen_workspace/servers", "/massgen_workspace/agents/x"):
    attempt(path, lambda: open(path, "a").close())
    attempt("chmod " + path, os.chmod, path, 0o777)
    attempt("unlink " + path, os.unlink, path)
attempt("moves a mount", os.rename, "/workspace", "/elsewhere")
attempt("a folder", os.mkdir, "/folder")
""",
        refused={"EROFS", "ENOENT", "EACCES", "EBUSY", "EPERM"},
    ),
    "raises its own limits": Attack(
        code="""
import resource
KINDS = [getattr(resource, "RLIMIT_" + name) for name in ("AS", "CPU", "NPROC", "NOFILE", "FSIZE", "CORE")]
for kind in KINDS:
    attempt(f"{kind} without end", resource.setrlimit, kind, (-1, -1))
attempt("real time", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
attempt("priority", os.nice, -5)
attempt("is killed last", lambda: open("/proc/self/oom_score_adj", "w").write("0"))
""",
        only_inside="""
for kind in KINDS:
    higher = resource.getrlimit(kind)[1] + 1
    attempt(f"{kind} a little higher", resource.setrlimit, kind, (higher, higher))
    attempt(f"{kind} by number", resource.prlimit, os.getpid(), kind, (higher, higher))
""",
        refused={"ValueError", "EPERM", "ENOENT"},
        proofs={f"{resource.RLIMIT_AS} without end", *({"priority", "real time"} if IS_ROOT else ())},
    ),
    "gives itself a filter that allows everything": Attack(
        code="""
import struct
libc("prctl", 38, 1, 0, 0, 0)
rule = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000))
program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(rule))
libc("prctl", 22, 2, ctypes.create_string_buffer(program), 0, 0)
attempt("user namespace", libc, "unshare", 0x10000000)
attempt("memory file", os.memfd_create, "x")
""",
        refused={"EPERM"},
    ),
    "runs what is in no file": Attack(
        code="""
def memory_file():
    descriptor = os.memfd_create("x")
    os.write(descriptor, open("/bin/true", "rb").read())
    if os.fork() == 0:
        os.execve(descriptor, ["x"], {})
    assert os.wait()[1] == 0
attempt("memfd", memory_file)
""",
        refused={"EPERM"},
    ),
    "shares memory with other programs": Attack(
        code="""
attempt("shmget", lambda: libc("shmctl", libc("shmget", 0, 4096, 0o1600), 0, 0))
attempt("semget", lambda: libc("semctl", libc("semget", 0, 1, 0o1600), 0, 0))
attempt("msgget", lambda: libc("msgctl", libc("msgget", 0, 0o1600), 0, 0))
""",
        refused={"EPERM"},
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
async def test_a_program_is_refused_that(name: str, box: Box, host: Host, outside: Path) -> None:
    attack = ATTACKS[name]
    came = await box.attempts(host.told(attack.code + attack.only_inside))
    if box.way == "bubblewrap":  # which leaves the program's folder open, to the program and nobody else
        came = {name: outcome for name, outcome in came.items() if "/program/" not in name}
    expect(came, attack.refused)
    assert host.contacts() == 0
    assert host.victim.poll() is None
    if attack.code:
        came = attempts_outside(host.told(attack.code), outside)
        proofs = came if attack.proofs is None else attack.proofs
        assert {came[proof] for proof in proofs} <= {"done"}, came


async def test_a_program_finds_nothing_in_its_environment_or_memory(
    box: Box, host: Host, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_TEST_SECRET", host.secret)
    code = """
import gc
outcomes["names"] = sorted(os.environ)
outcomes["environment"] = str(os.environ.get("SATCHEL_TEST" "_SECRET"))
texts = (str(each) for each in gc.get_objects() if isinstance(each, dict))
outcomes["objects"] = str(any("SATCHEL_TEST" + "_SECRET" in text for text in texts))
"""
    inside = await box.attempts(code)
    assert set(inside["names"]) == {
        "HOME",
        "LANG",
        "MARK",
        "PATH",
        "PWD",
        "PYTHONDONTWRITEBYTECODE",
        "TMPDIR",
    }
    assert (inside["environment"], inside["objects"]) == ("None", "False")
    found = attempts_outside(code, outside)
    assert (found["environment"], found["objects"]) == (host.secret, "True")


async def test_a_program_has_no_descriptor_but_its_own(box: Box) -> None:
    found = await box.attempts("""
import stat
for number in range(1024):
    try:
        status = os.fstat(number)
    except OSError:
        continue
    attempt(str(number), lambda: f"{stat.S_IFMT(status.st_mode):o}")
outcomes["bridge"] = str(sys.modules["satchel_guest"].bridge)
""")
    bridge = found.pop("bridge")
    assert found == {"0": "20000", "1": "10000", "2": "10000", bridge: "140000"}


async def test_a_program_sees_exactly_what_the_box_is_made_of(box: Box) -> None:
    prefix = Path(sys.base_prefix).resolve()
    opaque = ["/opt/satchel/python", "/opt/satchel/typescript", "/mnt/code-api", "/workspace"]
    opaque += ["/mnt/memory", "/mnt/tasks"]
    opaque += [
        str(root / name)
        for root in {Path("/usr"), prefix}
        for name in ("bin", "lib", "lib32", "lib64", "libexec", "share")
        if (root / name).is_dir() and not (root / name).is_symlink()
    ]
    found = await box.attempts(f"""
seen = []
for place, folders, files in os.walk("/"):
    if place in {opaque}:
        folders.clear(), files.clear()
    seen += [os.path.join(place, name) for name in (*folders, *files)]
outcomes["seen"] = seen
""")
    expected = {*opaque, "/program/main.py", "/tmp", "/dev/pts", "/dev/shm", "/mnt/skills", "/mnt/agents"}
    expected |= {f"/massgen_workspace/{name}" for name in ("servers", "tools", "skills")}
    expected |= {f"/massgen_workspace/agents/agent/{name}" for name in ("workspace", "memory", "tasks")}
    expected |= {f"/program/{name}" for name in ("servers", "tools", "helpers", "skills")}
    expected |= {f"/{name}" for name in ("bin", "lib", "lib32", "lib64") if os.path.exists(f"/{name}")}
    expected |= {
        f"/opt/satchel/bin/{name}" for name in ("rg", "ast-grep", "deno", "ty") if find_program(name)
    }
    devices = ["null", "zero", "full", "random", "urandom", "tty", "core", "fd", "ptmx"]
    devices += ["stdin", "stdout", "stderr"]
    expected |= {f"/dev/{name}" for name in devices}
    expected |= {"/proc"} if box.way in ("pool", "session") else set()
    expected |= {path for path in ("/etc/ld.so.cache", "/etc/localtime") if os.path.exists(path)}
    expected |= {str(parent) for path in expected for parent in Path(path).parents} - {"/"}
    assert set(found["seen"]) == expected


async def test_a_program_learns_little_about_the_machine(box: Box) -> None:
    found = await box.attempts("""
attempt("name", lambda: os.uname().nodename)
attempt("user", lambda: f"{os.getresuid()} {os.getresgid()}")
attempt("pid", lambda: str(os.getpid() < 10 and os.getppid() == 1))
attempt("no new privileges", lambda: str(libc("prctl", 39, 0, 0, 0, 0)))
attempt("session", lambda: str(os.getsid(0) in (1, 2)))
""")
    nobody = (65534, 65534, 65534)
    assert found == {
        "name": "sandbox",
        "user": f"{nobody} {nobody}",
        "pid": "True",
        "no new privileges": "1",
        "session": "True",
    }


@pytest.mark.slow
async def test_a_program_that_kills_everything_kills_only_itself(box: Box, host: Host) -> None:
    outcome = await box.run("""
import os
for pid in [-1, 1, *range(3, 65536)]:
    try:
        os.kill(pid, 9)
    except OSError:
        pass
print("alone")
""")
    assert (outcome.stdout.text, outcome.exit_code) == ("alone\n", 0)
    assert host.victim.poll() is None


async def test_a_program_run_by_a_setuid_program_has_no_more_rights(box: Box, outside: Path) -> None:
    code = """
import subprocess
def su():
    done = subprocess.run(["su", "-s", "/bin/sh", "-c", "id -u"], capture_output=True, text=True, timeout=60)
    return "done" if done.stdout.strip() == "0" else "refused"
attempt("su", su)
"""
    expect(await box.attempts(code), {"refused"})
    if IS_ROOT:
        expect(attempts_outside(code, outside), {"done"})


# Called with -1 for every argument, which does nothing to a kernel that answers.
REFUSED = {
    "ptrace": 101, "syslog": 103, "personality": 135, "modify_ldt": 154, "pivot_root": 155,
    "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166,
    "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172,
    "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179, "clock_settime": 227,
    "mbind": 237, "set_mempolicy": 238, "kexec_load": 246, "add_key": 248, "request_key": 249,
    "keyctl": 250, "migrate_pages": 256, "unshare": 272, "vmsplice": 278, "move_pages": 279,
    "perf_event_open": 298, "fanotify_init": 300, "fanotify_mark": 301, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "memfd_create": 319,
    "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431,
    "fsmount": 432, "fspick": 433, "clone3": 435, "pidfd_getfd": 438, "process_madvise": 440,
    "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447, "process_mrelease": 448,
    "statmount": 457, "listmount": 458, "lsm_get_self_attr": 459, "lsm_set_self_attr": 460,
    "lsm_list_modules": 461, "shmget": 29, "semget": 64, "of tomorrow": 463, "of the day after": 600,
}  # fmt: skip
# Not part of every kernel, so that a refusal outside says nothing.
OPTIONAL = {
    "kexec_load", "kexec_file_load", "bpf", "userfaultfd", "memfd_secret", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "perf_event_open", "iopl", "ioperm", "modify_ldt", "statmount", "listmount",
    "lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules", "fanotify_init", "fanotify_mark", "keyctl",
    "add_key", "request_key", "kcmp", "syslog", "of tomorrow", "of the day after", "quotactl", "quotactl_fd",
    "init_module", "finit_module", "delete_module", "acct", "swapon", "swapoff", "migrate_pages",
    "move_pages",
}  # fmt: skip


@X86_64
async def test_the_kernel_refuses_calls_that_programs_have_no_use_for(box: Box, outside: Path) -> None:
    code = f"""
for name, number in {REFUSED}.items():
    attempt(name, libc, "syscall", number, -1, -1, -1, -1, -1, -1)
"""
    expect(await box.attempts(code), {"EPERM", "ENOSYS"})
    if IS_ROOT:
        answers = attempts_outside(code, outside)
        refused = {name for name, answer in answers.items() if answer in ("EPERM", "ENOSYS")}
        assert not refused - OPTIONAL, answers


@X86_64
async def test_the_calls_of_other_kinds_of_programs_lead_around_nothing(box: Box) -> None:
    # The calls of 32-bit pointers, by their own numbers and by those of the others with a bit added.
    found = await box.attempts("""
X32 = 0x40000000
for number in (39, 41, 101, 272, 319, 512, 520, 521, 541, 547):
    attempt(str(number), libc, "syscall", X32 | number, -1, -1, -1, -1, -1, -1)
    attempt(str(number) + " without the bit", libc, "syscall", number, -1) if number >= 512 else None
""")
    expect(found, {"ENOSYS"})
    # 32-bit calls, through the gate of old.
    outcome = await box.run("""
import ctypes, mmap
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(bytes.fromhex("b814000000" "cd80" "c3"))  # mov eax, getpid; int 0x80; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
print("begins", flush=True)
print(ctypes.CFUNCTYPE(ctypes.c_int)(address)())
""")
    bad_system_call = 128 + 31
    assert (outcome.stdout.text, outcome.exit_code) == ("begins\n", bad_system_call)
