"""What a program can leave for the next one, and for the host: files, and nothing that acts for it."""

import json
import os
import socket
import stat
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from satchel.errors import SandboxError
from satchel.sandbox.backends import BUBBLEWRAP
from satchel.sandbox.running.home import changed_files, make_home, write_result
from satchel.sandbox.sandbox import Shown
from tests.sandbox.hostile.ground import LIMITS, OWNER, TELL, TRY, Box, expect
from tests.sandbox.hostile.host import Host

POISON = "open('/workspace/poisoned', 'w').close()\nprint('poisoned')\nresult = 'poisoned'\n"
POISONS = {
    "modules with the names of others": """
for name in ("json", "os", "asyncio", "site", "sitecustomize", "usercustomize", "encodings", "satchel_guest",
             "satchel_runtime", "helpers", "resource", "traceback", "main", "__main__"):
    open(f"/workspace/{name}.py", "w").write(POISON)
    os.makedirs(f"/workspace/{name}", exist_ok=True)
    open(f"/workspace/{name}/__init__.py", "w").write(POISON)
""",
    "paths for the interpreter": """
version = f"python{sys.version_info.major}.{sys.version_info.minor}"
for place in (f".local/lib/{version}/site-packages", ".pyenv", ".config"):
    os.makedirs(f"/workspace/{place}")
    open(f"/workspace/{place}/x.pth", "w").write("import os; " + POISON.splitlines()[0])
    open(f"/workspace/{place}/usercustomize.py", "w").write(POISON)
for name in ("pyvenv.cfg", "python311._pth", "pybuilddir.txt", ".pythonrc", ".profile", ".bashrc"):
    open(f"/workspace/{name}", "w").write("home = /workspace")
""",
    "compiled files": """
import py_compile, importlib.util
open("/workspace/json.py", "w").write(POISON)
os.makedirs("/workspace/__pycache__", exist_ok=True)
for name in ("json", "os", "main"):
    compiled = f"/workspace/__pycache__/{name}.{sys.implementation.cache_tag}.pyc"
    py_compile.compile("/workspace/json.py", compiled)
""",
    "changes in its own interpreter": """
import builtins, json
builtins.print = json.dumps = json.loads = os.read = os.write = lambda *a, **k: None
sys.modules["json"] = sys.modules["os"] = None
sys.path[:] = ["/workspace"]
""",
    "programs with the names of others": """
for name in ("python3", "rg", "sh", "sleep"):
    open(f"/workspace/{name}", "w").write("#!/bin/sh\\ntouch /workspace/poisoned")
    os.chmod(f"/workspace/{name}", 0o755)
""",
}


@pytest.mark.parametrize("name", POISONS)
async def test_the_next_program_runs_as_if_one_had_not_left(name: str, box: Box) -> None:
    left = await box.run(f"import os, sys\nPOISON = {POISON!r}\n{POISONS[name]}")
    # Who takes its own interpreter apart takes its session apart.
    assert left.exit_code == 0 or (box.way == "session" and "interpreter" in name), left
    following = await box.run("""
import asyncio, json, os, resource, subprocess, sys, traceback
import satchel_runtime
print(subprocess.run(["sh", "-c", "echo 42"], capture_output=True, text=True).stdout, end="")
result = {"a": json.loads("[1]")}
""")
    assert (following.stdout.text, following.result) == ("42\n", {"a": [1]}), following
    assert not (box.workspace.files / "poisoned").exists()


async def test_nothing_but_files_is_left_for_the_next_program(box: Box) -> None:
    await box.run("""
import os, subprocess
for place in ("/tmp/x", "/dev/shm/x", "/workspace/x"):
    open(place, "w").close()
os.environ["X"] = "1"
os.umask(0)
os.chdir("/tmp")
subprocess.Popen(["sleep", "600"])
""")
    following = await box.run("""
import os
print(os.listdir("/tmp"), os.listdir("/dev/shm"), os.path.exists("/workspace/x"))
print(os.environ.get("X"), os.getcwd(), os.umask(0))
""")
    assert following.stdout.text == "[] [] True\nNone /workspace 18\n"


async def test_another_agents_files_are_out_of_reach(box: Box) -> None:
    other = box.make_workspace("other")
    await box.run_only("pass", workspace=other)  # what stays for all programs of this agent is there now
    await box.run("open('secret', 'w').write('secret')\nopen('/mnt/memory/secret', 'w').write('secret')")
    code = f"""
import os
for path in ("/workspace/../agent/workspace", {str(box.workspace.files)!r}, "/workspace", "memory"):
    if os.path.exists(path + "/secret"):
        print("found", path)
print(sorted(os.listdir("/workspace")))
"""
    outcome = await box.run(code, workspace=other)
    assert outcome.stdout.text == "['agents', 'memory', 'servers', 'skills', 'tasks', 'tools']\n"


async def test_no_socket_is_reached_by_its_file(box: Box) -> None:
    kinds = {"stream": 1, "datagram": 2, "packets": 5}
    with ExitStack() as stack:
        before = os.getcwd()
        os.chdir(box.workspace.files)  # the whole path may be too long for a name
        stack.callback(os.chdir, before)
        listeners = [stack.enter_context(socket.socket(socket.AF_UNIX, kind)) for kind in kinds.values()]
        for name, listener in zip(kinds, listeners, strict=True):
            listener.setblocking(False)
            listener.bind(name)
            os.chmod(name, 0o777)
            if name != "datagram":
                listener.listen()
        code = f"""
import socket
for name, kind in {kinds}.items():
    mine, other = socket.socketpair(socket.AF_UNIX, kind)
    attempt("connect " + name, mine.connect, name)
    attempt("send " + name, mine.sendto, b"delete everything", name)
    attempt("message " + name, mine.sendmsg, [b"delete everything"], [], 0, name)
"""
        expect(await box.attempts(code), {"EPERM"})
        for listener in listeners:
            with pytest.raises(BlockingIOError):
                listener.recv(100) if listener.type == 2 else listener.accept()


async def test_a_program_that_only_reads_does_not_direct_another_by_a_socket(box: Box) -> None:
    readonly = replace(box.workspace, writable=False)
    full = await box.attempts("""
import socket
mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
attempt("bind", mine.bind, "orders")
attempt("abstract", mine.bind, "\\0orders")
""")
    expect(full, {"EPERM"})  # so there is nobody to send to
    sending = TRY + """
import socket
mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
attempt("send", mine.sendto, b"delete everything", "orders")
attempt("abstract", mine.sendto, b"delete everything", "\\0orders")
attempt("connect", mine.connect, "orders")
""" + TELL  # fmt: skip
    outcome = await box.run(sending, workspace=readonly)
    expect(json.loads(outcome.stdout.text), {"EPERM"})


async def test_what_python_does_with_pairs_of_sockets_works(box: Box) -> None:
    outcome = await box.run("""
import asyncio, multiprocessing, os, socket, subprocess, threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

async def main():
    loop = asyncio.get_running_loop()
    print(await loop.run_in_executor(None, lambda: 1))
    process = await asyncio.create_subprocess_exec("/bin/echo", "2", stdout=asyncio.subprocess.PIPE)
    print((await process.communicate())[0].decode().strip())
    one, other = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=one)
    other.send(b"3\\n")
    print((await reader.readline()).decode().strip())
    writer.close()
    other.close()

def child(end):
    end.send(4)

await main()
for duplex in (True, False):
    receive, send = multiprocessing.Pipe(duplex)
    process = multiprocessing.get_context("fork").Process(target=child, args=[send])
    process.start()
    print(receive.recv())
    process.join()
print(subprocess.run(["/bin/cat"], input="5", capture_output=True, text=True).stdout)
with ThreadPoolExecutor() as threads:
    print(threads.submit(lambda: 6).result())
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    one, other = socket.socketpair(socket.AF_UNIX, kind)
    one.send(b"7")
    print(other.recv(10).decode(), other.getpeername())
with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as processes:
    print(processes.submit(abs, -8).result())
""")
    assert outcome.stdout.text.split() == ["1", "2", "3", "4", "4", "5", "6", "7", "7", "7", "8"], outcome


TRAPS = {
    "a link": "os.symlink(plant['directory'], '.results')",
    "a link to a file": "os.symlink(plant['files'][0], '.results')",
    "a link to itself": "os.symlink('.results', '.results')",
    "a file": "open('.results', 'w').close()",
    "a pipe": "os.mkfifo('.results')",
    "a socket": "os.mknod('.results', 0o140600)",
}


@pytest.mark.parametrize("name", TRAPS)
async def test_results_are_not_written_where_the_program_put(name: str, box: Box, host: Host) -> None:
    directory = Path(host.plant["directory"])
    before = sorted(directory.iterdir())
    outcome = await box.run(host.told("import os\n" + TRAPS[name]))
    assert outcome.exit_code == 0, outcome
    with pytest.raises(OSError):
        write_result(box.workspace, "x.txt", b"result")
    assert sorted(directory.iterdir()) == before
    assert Path(host.plant["files"][0]).read_text() == host.secret


async def test_results_are_not_written_over_anything(box: Box, host: Host) -> None:
    outcome = await box.run(
        host.told("""
import os
os.mkdir(".results")
os.symlink(plant["files"][0], ".results/x.txt")
os.mkfifo(".results/y.txt")
""")
    )
    assert outcome.exit_code == 0, outcome
    for name in ("x.txt", "y.txt"):
        with pytest.raises(FileExistsError):
            write_result(box.workspace, name, b"result")
    write_result(box.workspace, "z.txt", b"result")
    assert Path(host.plant["files"][0]).read_text() == host.secret
    assert (await box.run("print(open('.results/z.txt').read())")).stdout.text == "result\n"


async def test_only_files_are_reported_whatever_else_is_there(box: Box, host: Host) -> None:
    outcome = await box.run(
        host.told(r"""
import os
os.symlink(plant["files"][0], "link to a secret")
os.symlink(plant["directory"], "link to a directory")
os.symlink("/", "link to everything")
os.mkfifo("pipe")
os.mknod("socket", 0o140600)
open("-rf", "w").close()
open("new\nline", "w").close()
open(b"no text \xff", "w").close()
open("file", "w").write("12345")
os.link("file", "hard link")
os.chmod("file", 0o6777)
os.mkdir("closed", 0)
for number in range(40):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
open("deep", "w").close()
""")
    )
    assert outcome.exit_code == 0, outcome
    found = {file["path"]: file["size"] for file in changed_files(box.workspace, 0)}
    assert found == {
        "/workspace/-rf": 0,
        "/workspace/new\nline": 0,
        "/workspace/no text ?": 0,
        "/workspace/file": 5,
        "/workspace/hard link": 5,
    }


@pytest.mark.parametrize("place", ["file", "program"])
async def test_the_setuid_bit_of_a_file_in_the_workspace_gives_no_rights(place: str, box: Box) -> None:
    if place == "program":
        outcome = await box.run("""
import os, shutil, subprocess
shutil.copy("/usr/bin/id", "id")
os.chmod("id", 0o6755)
print(subprocess.run(["./id", "-u"], capture_output=True, text=True).stdout, end="")
""")
        assert outcome.stdout.text == "65534\n"
        return
    await box.run("import os\nopen('x', 'w').close()\nos.chmod('x', 0o6777)")
    status = (box.workspace.files / "x").stat()
    assert status.st_uid == (os.geteuid() if OWNER is None else OWNER)
    assert not stat.S_IMODE(box.workspace.files.parent.stat().st_mode) & 0o077  # nobody else gets there


@pytest.mark.skipif(OWNER is None, reason="only root can make a link that it does not own itself")
async def test_a_link_where_a_workspace_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    for place in ("agents/agent", *(f"agents/agent/{name}" for name in ("workspace", "memory", "tasks"))):
        home = tmp_path / place.replace("/", "-")
        (home / place).parent.mkdir(parents=True)
        (home / place).symlink_to("/etc")
        before = os.stat("/etc")
        with pytest.raises((SandboxError, OSError)):
            memory = home / "agents/agent/memory"
            make_home(home / "agents", "agent", Shown(code_api=tmp_path / "api", memory=memory), BUBBLEWRAP)
        assert os.stat("/etc").st_uid == before.st_uid


async def test_a_program_cannot_replace_its_own_workspace(box: Box) -> None:
    found = await box.attempts("""
for place in ("/workspace", "/mnt/memory", "/mnt/tasks"):
    attempt("remove " + place, os.rmdir, place)
    attempt("move " + place, os.rename, place, "/tmp/x")
    attempt("link " + place, os.symlink, "/etc", place)
    attempt("exchange " + place, libc, "renameat2", -100, place.encode(), -100, b"/tmp", 2)
    attempt("go up", lambda: (os.chdir(place), os.chdir(".."), os.mkdir("agent2")))
""")
    assert set(found.values()) <= {"EROFS", "EBUSY", "EXDEV", "EEXIST", "EACCES"}, found
    assert (await box.run("import os\nprint(os.getcwd())")).stdout.text == "/workspace\n"


@pytest.mark.parametrize("place", ["/workspace", "/mnt/memory", "/mnt/tasks"])
async def test_a_directory_that_a_program_closed_is_opened_again(place: str, box: Box) -> None:
    closed = await box.run_only(f"import os\nos.chmod({place!r}, 0)")
    assert closed.exit_code == 0, closed
    try:
        box.make_workspace("agent")  # as before every program
        outcome = await box.run(f"import os\nprint(len(os.listdir({place!r})) >= 0)")
        assert outcome.stdout.text == "True\n"
    finally:
        for directory in box.workspace.own:
            directory.chmod(0o700)


RESULTS_OF_PROGRAMS = {
    "an object with code": "class Evil:\n    def __reduce__(self): return (print, (1,))\nresult = Evil()",
    "a pickle": "import pickle\nresult = pickle.dumps(1)",
    "a dict with other keys": "result = {(1, 2): 3}",
    "itself": "result = []\nresult.append(result)",
    "no number": "result = float('nan')",
    "a module": "import os\nresult = os",
    "a nest": "result = []\nfor number in range(100_000): result = [result]",
    "an integer of a million digits": "result = 10 ** 1_000_000",
}


@pytest.mark.parametrize("name", RESULTS_OF_PROGRAMS)
async def test_a_result_is_json_or_none_when_it_is(name: str, box: Box) -> None:
    outcome = await box.run(RESULTS_OF_PROGRAMS[name])
    assert (outcome.has_result, outcome.ended) == (False, None), outcome
    assert "`result` was not returned" in outcome.stderr.text


async def test_a_result_that_is_too_large_is_left_out(box: Box) -> None:
    outcome = await box.run("result = 'x' * 100_000", replace(LIMITS, result=1_000))
    assert (outcome.has_result, outcome.result, outcome.result_size) == (False, None, 100_002)


async def test_a_workspace_that_was_made_anew_is_the_one_that_programs_see(box: Box) -> None:
    workspace = box.make_workspace("renewed")
    await box.run_only("open('old', 'w').close()", workspace=workspace)
    workspace.files.rename(workspace.files.with_name("moved"))
    workspace = box.make_workspace("renewed")
    code = "import os\nprint(os.path.exists('old'))\nopen('new', 'w').close()"
    outcome = await box.run_only(code, workspace=workspace)
    assert outcome.stdout.text == "False\n"
    assert (workspace.files / "new").exists()
