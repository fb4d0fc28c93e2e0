"""Hostile programs in TypeScript: the same box, and a runtime of its own that could be turned against it.

Deno's permissions are a second layer. What is tried here must come to nothing, whichever layer stops it.
"""

import json
import secrets
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from satchel.model import Json
from satchel.sandbox.limits import MIB, Limits
from satchel.sandbox.programs import find_program
from satchel.sandbox.running import cgroups
from satchel.sandbox.sandbox import Answer, Door, Outcome, Program
from tests.sandbox.hostile.ground import LATE, LIMITS, SHORT, Box, Way, nothing_to_ask
from tests.sandbox.hostile.host import Host
from tests.sandbox.hostile.ways import TYPESCRIPT_WAYS

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

_HAS_CGROUPS = cgroups.find_parents() is not None
TRY = """\
const outcomes: Record<string, any> = {};
async function attempt(name: string, action: () => any) {
  try {
    const value = await action();
    outcomes[name] = typeof value === "string" ? value : "done";
  } catch (error: any) {
    outcomes[name] = String(error?.code ?? error?.name ?? error);
  }
}
"""
TELL = "\nconsole.log(JSON.stringify(outcomes));\nDeno.exit(0);\n"


class Ground(Box):
    """A box for programs in TypeScript, each followed by another and by the questions of `ground`."""

    async def run_typescript(
        self, code: str, limits: Limits = LIMITS, answer: Answer = nothing_to_ask
    ) -> Outcome:
        if self._pool is not None and self._ready_for != ("typescript", limits):
            await self.run_one("0", limits)
        await self._sandbox.settle()
        before = self.traces()
        outcome = await self.run_one(code, limits, answer)
        assert outcome.seconds <= limits.seconds + LATE, (outcome.seconds, limits.seconds)
        await self.see_that_nothing_is_left(before)
        usual = replace(limits, seconds=20)
        following = await self.run_one("console.log(6 * 7)", usual)
        assert (following.stdout.text, following.exit_code, following.ended) == ("42\n", 0, None), following
        await self._sandbox.settle()
        self._ready_for = ("typescript", usual)
        return outcome

    async def run_one(self, code: str, limits: Limits = LIMITS, answer: Answer = nothing_to_ask) -> Outcome:
        self._ready_for = None
        with anyio.fail_after(limits.seconds + 30):
            program = Program(code=code, language="typescript")
            return await self._sandbox.run(program, self.workspace, Door(answer=answer), limits)

    async def tried(self, code: str, answer: Answer = nothing_to_ask) -> Json:
        """Run a program that uses `attempt`; what came of each."""
        outcome = await self.run_typescript(TRY + code + TELL, replace(LIMITS, kept_output=100_000), answer)
        assert outcome.exit_code == 0, outcome
        return json.loads(outcome.stdout.text.splitlines()[-1])


def open_ground(home: Path, way: Way, *, use_cgroups: bool) -> Generator[Ground]:
    if use_cgroups and not _HAS_CGROUPS:
        pytest.skip("no control groups can be made here")
    ground = Ground(home, secrets.token_hex(8), use_cgroups=use_cgroups, way=way)
    anyio.run(ground.run_one, "0")  # what stays for all programs is there from now on
    yield ground
    anyio.run(ground.close)


@pytest.fixture(scope="session", params=TYPESCRIPT_WAYS)
def shared_ground(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Ground]:
    yield from open_ground(tmp_path_factory.mktemp("agents"), request.param, use_cgroups=_HAS_CGROUPS)


@pytest.fixture(scope="session", params=TYPESCRIPT_WAYS)
def shared_watched(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Ground]:
    if len(TYPESCRIPT_WAYS) == 1:
        pytest.skip("make hostile does this")
    yield from open_ground(tmp_path_factory.mktemp("agents"), request.param, use_cgroups=False)


@pytest.fixture
def ground(shared_ground: Ground) -> Generator[Ground]:
    """With an empty workspace."""
    yield shared_ground
    shared_ground.clear()


@pytest.fixture
def watched(shared_watched: Ground) -> Generator[Ground]:
    """Without control groups: the watch keeps the limits."""
    yield shared_watched
    shared_watched.clear()


def told(host: Host, code: str) -> str:
    return f"const plant = JSON.parse({json.dumps(json.dumps(host.plant))});\n{code}"


def required_deno() -> str:
    found = find_program("deno")
    assert found is not None
    return str(found)


def run_outside(code: str, directory: Path) -> str:
    """What the same program prints with all permissions, as an ordinary process."""
    file = directory / "main.ts"
    file.write_text(code)
    options = ["--allow-all", "--no-check", "--quiet", "--unstable-raw-imports"]
    command = [required_deno(), "run", *options, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, cwd=directory)
    return done.stdout


# Imports


IMPORTS = {
    "as text": 'import text from "{url}" with {{ type: "text" }};\nconsole.log(text);',
    "as bytes": """
import bytes from "{url}" with {{ type: "bytes" }};
console.log(new TextDecoder().decode(bytes));
""",
    "as JSON": 'import text from "{url}" with {{ type: "json" }};\nconsole.log(text);',
    "as a module": 'import * as module from "{url}";\nconsole.log(module);',
    "dynamically": 'console.log((await import("{url}", {{ with: {{ type: "text" }} }})).default);',
    "by fetch": 'console.log(await (await fetch("{url}")).text());',
    "by require": """
import {{ createRequire }} from "node:module";
console.log(createRequire("{url}")("{url}"));
""",
    "in a worker": """
const worker = new Worker("{url}", {{ type: "module" }});
worker.onerror = () => Deno.exit(9);
""",
    "by a map": 'console.log(await import("/mnt/code-api/../../{url}"));',
    "through another": 'await import("data:application/javascript,import%20text%20from%20%22{url}%22");',
}
PLACES = ("file:///etc/passwd", "file:///etc/shadow", "file:///proc/self/environ", "file:///proc/1/cmdline")


@pytest.mark.parametrize("name", IMPORTS)
async def test_no_file_of_the_host_can_be_imported(name: str, ground: Ground, host: Host) -> None:
    for url in (f"file://{host.plant['files'][0]}", *PLACES):
        outcome = await ground.run_one(IMPORTS[name].format(url=url))
        assert outcome.exit_code != 0, outcome
        assert host.secret not in outcome.stdout.text + outcome.stderr.text
        assert "root:" not in outcome.stdout.text + outcome.stderr.text
    await ground.run_typescript("0")


@pytest.mark.parametrize("name", ["as text", "as bytes", "dynamically", "by fetch"])
def test_outside_files_can_be_imported(name: str, host: Host, outside: Path) -> None:
    assert host.secret in run_outside(IMPORTS[name].format(url=f"file://{host.plant['files'][0]}"), outside)


@pytest.mark.parametrize(
    "name",
    [
        "npm:left-pad",
        "jsr:@std/path",
        "https://deno.land/std/path/mod.ts",
        "http://127.0.0.1:{port}/x.ts",
        "left-pad",
        "@std/path",
        "blob:null/x",
    ],
)
async def test_nothing_is_downloaded(name: str, ground: Ground, host: Host) -> None:
    url = name.format(port=host.plant["tcp"][0][1])
    for code in (f'import * as x from "{url}";\nconsole.log(x);', f'console.log(await import("{url}"));'):
        outcome = await ground.run_typescript(code)
        assert (outcome.exit_code, outcome.ended, outcome.stdout.text) == (1, None, ""), outcome
        assert outcome.stderr.text
    assert host.contacts() == 0


# Ways out


@dataclass(frozen=True, kw_only=True)
class Attack:
    """What must not be "done" in the box; `proofs` are those that are, outside."""

    code: str
    only_inside: str = ""
    proofs: tuple[str, ...] = ()


ATTACKS = {
    "reads files": Attack(
        code="""
import * as fs from "node:fs";
for (const file of plant.files) {
  await attempt("Deno " + file, () => Deno.readTextFileSync(file));
  await attempt("node " + file, () => fs.readFileSync(file, "utf8"));
  await attempt("up " + file, () => Deno.readTextFileSync("../../../../../../../../" + file));
}
const places = ["/etc/passwd", "/etc/shadow", "/proc/self/environ", "/proc/self"];
places.push("/proc/1/" + "root/etc/passwd");
for (const place of places) {
  await attempt(place, () => fs.readFileSync(place, "utf8"));
}
await attempt("list", () => void [...Deno.readDirSync(plant.directory)]);
""",
        proofs=("/etc/passwd", "list"),
    ),
    "writes files": Attack(
        code="""
import * as fs from "node:fs";
const places = ["/x", "/etc/x", "/usr/x", "/opt/satchel/typescript/x", "/opt/satchel/bin/x", "/mnt/x",
  "/dev/x", "/mnt/code-api/x", "/mnt/code-api/servers/x", "/proc/x", "/proc/self/x", "/program/servers/x",
  "/program/satchel-runtime/index.ts", plant.directory + "/x"];
for (const place of places) {
  await attempt("Deno " + place, () => Deno.writeTextFileSync(place, "x"));
  await attempt("node " + place, () => fs.writeFileSync(place, "x"));
  await attempt("mkdir " + place, () => fs.mkdirSync(place));
}
await attempt("mknod", () => (fs as any).mknodSync("/workspace/device"));
await attempt("chmod", () => Deno.chmodSync("/opt/satchel/bin/deno", 0o777));
await attempt("remove", () => Deno.removeSync("/opt/satchel/typescript", { recursive: true }));
await attempt("rename", () => Deno.renameSync("/mnt/code-api", "/mnt/other"));
""",
    ),
    "follows links": Attack(
        code="""
import * as fs from "node:fs";
const targets = [plant.files[0], "/etc/passwd", "/proc/self/environ", "/opt/../etc/passwd"];
for (const [number, target] of targets.entries()) {
  const link = `/workspace/link-${number}`;
  for (const make of [() => Deno.symlinkSync(target, link), () => fs.symlinkSync(target, link)]) {
    try { make(); } catch {}
  }
  await attempt("read " + target, () => fs.readFileSync(link, "utf8"));
  await attempt("write " + target, () => fs.appendFileSync("/workspace/link-" + number + "/../x/x", "x"));
  await attempt("hard " + target, () => {
    fs.linkSync(target, link + "h");
    return fs.readFileSync(link + "h", "utf8");
  });
}
""",
    ),
    "starts programs": Attack(
        code="""
import * as children from "node:child_process";
await attempt("Command", () => new Deno.Command("/bin/true").outputSync());
await attempt("spawn", () => new Deno.Command("/bin/sh", { args: ["-c", "id"] }).spawn().output());
await attempt("execSync", () => children.execSync("/bin/true"));
await attempt("spawnSync", () => {
  const done = children.spawnSync("/bin/true");
  if (done.status !== 0) throw done.error ?? new Error("refused");
});
""",
        only_inside="""
const deno = new Deno.Command("/opt/satchel/bin/deno", { args: ["run", "-A", "-"] });
await attempt("deno", () => deno.outputSync());
""",
        proofs=("Command", "execSync", "spawnSync"),
    ),
    "calls foreign functions": Attack(
        code="""
const getpid = { parameters: [], result: "i32" } as const;
await attempt("dlopen", () => Deno.dlopen("libc.so.6", { getpid }).symbols.getpid());
""",
        only_inside="""
import process from "node:process";
const deno = Deno as any;
await attempt("null", () => deno.dlopen(null, {}));
await attempt("pointer", () => new deno.UnsafePointerView(deno.UnsafePointer.create(4096n)).getInt8());
await attempt("callback", () => new deno.UnsafeCallback({ parameters: [], result: "void" }, () => {}));
await attempt("addon", () => (process as any).dlopen({ exports: {} }, "/usr/lib/x86_64-linux-gnu/libc.so.6"));
""",
        proofs=("dlopen",),
    ),
    "uses the network": Attack(
        code="""
import * as net from "node:net";
for (const [hostname, port] of plant.tcp) {
  await attempt("connect " + hostname, async () => (await Deno.connect({ hostname, port })).close());
  await attempt("node:net " + hostname, () => new Promise((done, fail) => {
    const socket = net.connect(port, hostname, () => done(socket.destroy() && 0)).on("error", fail);
  }));
}
for (const path of plant.stream.slice(1)) {
  await attempt("unix", async () => (await Deno.connect({ transport: "unix", path } as any)).close());
}
await attempt("listen", () => Deno.listen({ port: 0 }).close());
""",
        only_inside="""
import * as dns from "node:dns/promises";
import * as http from "node:http";
import * as tls from "node:tls";
for (const [hostname, port] of plant.tcp) {
  const shown = hostname.includes(":") ? `[${hostname}]` : hostname;
  const signal = AbortSignal.timeout(2000);
  await attempt("fetch " + hostname, () => fetch(`http://${shown}:${port}`, { signal }));
  await attempt("node:http " + hostname, () => new Promise((done, fail) =>
    http.get({ host: hostname, port, timeout: 1000 }, done).on("error", fail).on("timeout", fail)));
  await attempt("node:tls " + hostname, () => new Promise((done, fail) =>
    tls.connect(port, hostname, {}, () => done(0)).on("error", fail)));
  await attempt("WebSocket " + hostname, () => new Promise((done, fail) => {
    const socket = new WebSocket(`ws://${shown}:${port}`);
    socket.onopen = done;
    socket.onerror = () => fail(new Error("refused"));
    setTimeout(() => fail(new Error("late")), 2000);
  }));
}
for (const path of plant.stream) {
  await attempt("node unix " + path, () => new Promise((done, fail) =>
    net.connect({ path }, () => done(0)).on("error", fail)));
}
await attempt("unix listen", () => Deno.listen({ transport: "unix", path: "/tmp/socket" } as any).close());
await attempt("name", () => Deno.resolveDns("localhost", "A"));
await attempt("node:dns", () => dns.lookup("example.com"));
""",
        proofs=("connect 127.0.0.1", "node:net 127.0.0.1", "unix", "listen"),
    ),
    "asks for permissions": Attack(
        code="""
for (const name of ["run", "net", "ffi", "write", "read"] as any[]) {
  await attempt("request " + name, async () => {
    if ((await Deno.permissions.request({ name })).state !== "granted") throw new Error("refused");
  });
}
for (const [name, target] of [["read", "path"], ["write", "path"]] as any[]) {
  await attempt("request /etc " + name, async () => {
    const asked = await Deno.permissions.request({ name, [target]: "/etc/passwd" });
    if (asked.state !== "granted") throw new Error("refused");
  });
}
await attempt("worker", () => new Promise((done, fail) => {
  const code = `
    const said = [];
    for (const action of [() => Deno.readTextFileSync("/etc/passwd"), () => Deno.listen({ port: 0 }),
        () => new Deno.Command("/bin/true").outputSync(), () => Deno.readTextFileSync("${plant.files[0]}")])
      try { action(); said.push("done") } catch (error) { said.push(error.name) }
    postMessage(said.includes("done") ? "done" : "refused")`;
  const made = new Worker("data:application/javascript," + encodeURIComponent(code), { type: "module" });
  made.onmessage = (event) => (made.terminate(), done(event.data));
  made.onerror = (event) => (event.preventDefault(), fail(new Error(event.message)));
}));
""",
        proofs=("request run", "worker"),
    ),
    "looks for the inside of Deno": Attack(
        code="""
import process from "node:process";
import * as inspector from "node:inspector";
import * as v8 from "node:v8";
import * as vm from "node:vm";
const inner = (Deno as any)[(Deno as any).internal] ?? {};
const core = (Deno as any).core ?? inner.core ?? (globalThis as any).__bootstrap?.core;
for (const name of ["op_spawn_child", "op_run", "op_ffi_load", "op_net_connect_tcp",
  "op_fs_read_file_text_sync", "op_fs_open_sync"]) {
  await attempt(name, () => {
    if (typeof core?.ops?.[name] !== "function") throw new Error("missing");
    core.ops[name]("/etc/passwd", {}, []);
  });
}
for (const name of ["fs", "spawn_sync", "tcp_wrap", "natives", "process_wrap", "uv"]) {
  await attempt("binding " + name, () => {
    const binding = (process as any).binding(name);
    if (name === "fs") return binding.readFileUtf8("/etc/passwd", 0);
    if (name !== "spawn_sync") throw new Error("nothing to try");
    return binding.spawn({ file: "/bin/true", args: ["true"] }).pid ? "done" : "REFUSED";
  });
}
await attempt("inspector.open", () => (inspector.open(0, "127.0.0.1"), inspector.url() ? "done" : "CLOSED"));
await attempt("inspector.Session", () => new Promise((done, fail) => {
  const session = new inspector.Session();
  session.connect();
  const expression = "Deno.readTextFileSync('/etc/passwd')";
  session.post("Runtime.evaluate", { expression, includeCommandLineAPI: true }, (error: any, answer: any) =>
    error || answer.exceptionDetails ? fail(new Error("refused")) : done(answer.result.value));
}));
await attempt("heap", () => (v8 as any).writeHeapSnapshot("/etc/heap"));
await attempt("flags", () => {
  v8.setFlagsFromString("--allow-natives-syntax");
  eval("%DebugPrint(1)");
});
await attempt("vm", () => vm.runInThisContext("Deno.readTextFileSync('/etc/passwd')"));
await attempt("constructor", () =>
  vm.runInNewContext("this.constructor.constructor('return Deno')()").readTextFileSync("/etc/passwd"));
await attempt("report", () => (process as any).report?.writeReport("/etc/report") ?? "REFUSED");
""",
        proofs=("vm", "inspector.Session"),
    ),
    "signals others": Attack(
        code="""
import process from "node:process";
for (const pid of [1, -1, plant.victim, plant.session, process.ppid]) {
  await attempt("Deno " + pid, () => Deno.kill(pid, "SIGKILL"));
  await attempt("node " + pid, () => process.kill(pid, "SIGKILL"));
}
""",
    ),
    "learns about the machine": Attack(
        code="""
import * as os from "node:os";
await attempt("hostname", () => (Deno.hostname(), "done"));
await attempt("network", () => (Deno.networkInterfaces(), "done"));
await attempt("memory", () => (Deno.systemMemoryInfo(), "done"));
await attempt("user", () => (os.userInfo(), "done"));
await attempt("release", () => (Deno.osRelease(), "done"));
await attempt("load", () => (Deno.loadavg(), "done"));
await attempt("interfaces", () => (os.networkInterfaces(), "done"));
""",
        proofs=("hostname", "network", "memory"),
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
async def test_a_program_is_refused_that(name: str, ground: Ground, host: Host) -> None:
    came = await ground.tried(told(host, ATTACKS[name].code + ATTACKS[name].only_inside))
    secret = json.dumps(came)
    assert host.secret not in secret and "root:" not in secret
    assert came and not {key: value for key, value in came.items() if value in ("done", "undefined")}
    assert host.contacts() == 0
    assert host.victim.poll() is None


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.proofs])
def test_outside_a_program_is_not_refused_that(name: str, host: Host, outside: Path) -> None:
    printed = run_outside(TRY + told(host, ATTACKS[name].code) + TELL, outside)
    came = json.loads(printed.splitlines()[-1])
    assert all(came[proof] == "done" or "root:" in came[proof] for proof in ATTACKS[name].proofs), came


async def test_a_program_finds_nothing_in_its_environment(
    ground: Ground, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_TEST_SECRET", host.secret)
    outcome = await ground.run_typescript("""
import process from "node:process";
console.log(JSON.stringify([Deno.env.toObject(), process.env].map(Object.keys)));
console.log(JSON.stringify([Deno.args, process.argv.length, Deno.mainModule, Deno.cwd()]));
""")
    assert outcome.exit_code == 0, outcome
    names, more = map(json.loads, outcome.stdout.text.splitlines())
    own = {"HOME", "LANG", "MARK", "PATH", "PWD", "PYTHONDONTWRITEBYTECODE", "TMPDIR"}
    assert set(names[0]) == set(names[1]) == own | {"NO_COLOR"}
    assert (more[0], more[3]) == ([], "/workspace")
    assert host.secret not in outcome.stdout.text


LIBRARY = """
#include <unistd.h>
__attribute__((constructor)) static void load(void) { write(1, "NATIVE CODE\\n", 12); }
"""
LOADERS = {
    "by WebGPU, told by a variable": """
Deno.env.set("__EGL_VENDOR_LIBRARY_FILENAMES", `${place}/egl.json`);
await navigator.gpu.requestAdapter();
""",
    "by WebGPU, told by another module": """
import process from "node:process";
process.env.DENO_WEBGPU_BACKEND = "vulkan,gl";
process.env.__EGL_VENDOR_LIBRARY_FILENAMES = `${place}/egl.json`;
await navigator.gpu.requestAdapter();
""",
    "by WebGPU, told by a file of variables": """
import process from "node:process";
Deno.writeTextFileSync(`${place}/.env`, `__EGL_VENDOR_LIBRARY_FILENAMES=${place}/egl.json`);
try {
  process.loadEnvFile(`${place}/.env`);
} catch { /* it is refused */ }
await navigator.gpu.requestAdapter();
""",
    "by WebGPU, in a worker": """
const code = `
Deno.env.set("__EGL_VENDOR_LIBRARY_FILENAMES", "${place}/egl.json");
await navigator.gpu.requestAdapter();
self.postMessage(0);
`;
const worker = new Worker(`data:application/javascript,${encodeURIComponent(code)}`, { type: "module" });
await new Promise((resolve) => worker.onmessage = worker.onerror = resolve);
worker.terminate();
""",
}


def _loader(name: str, place: str, library: bytes) -> str:
    return f"""
const place = {json.dumps(place)};
Deno.writeFileSync(`${{place}}/evil.so`, Uint8Array.fromBase64("{b64encode(library).decode()}"));
Deno.writeTextFileSync(
  `${{place}}/egl.json`,
  JSON.stringify({{ file_format_version: "1.0.0", ICD: {{ library_path: `${{place}}/evil.so` }} }}),
);
{LOADERS[name]}
console.log("done");
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A library that says so when it is loaded."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no compiler")
    directory = tmp_path_factory.mktemp("library")
    (directory / "evil.c").write_text(LIBRARY)
    command = [compiler, "-shared", "-fPIC", "-s", "-o", "evil.so", "evil.c"]
    subprocess.run(command, cwd=directory, check=True, timeout=60)
    return (directory / "evil.so").read_bytes()


@pytest.mark.parametrize("name", LOADERS)
async def test_no_library_is_loaded(name: str, ground: Ground, library: bytes, outside: Path) -> None:
    if "NATIVE CODE" not in run_outside(_loader(name, str(outside), library), outside):
        pytest.skip("this machine has no library for graphics")
    outcome = await ground.run_typescript(_loader(name, "/workspace", library))
    assert (outcome.stdout.text, outcome.exit_code) == ("done\n", 0), outcome


async def test_variables_that_are_not_for_programs_seem_to_be_unset(ground: Ground) -> None:
    outcome = await ground.run_typescript("""
import process from "node:process";
process.env.LD_LIBRARY_PATH = "/workspace";
Deno.env.set("TZ", "Asia/Tokyo");
console.log(JSON.stringify([
  Deno.env.get("DENO_DIR"), process.env.LD_LIBRARY_PATH, Deno.env.has("UNKNOWN"), Deno.env.get("HOME"),
  Deno.env.get("MARK") === process.env.MARK, Deno.env.get("MARK") !== undefined, Deno.env.get("TZ"),
].map((value) => value ?? null)));
""")
    assert json.loads(outcome.stdout.text) == [None, None, False, "/workspace", True, True, "Asia/Tokyo"]


# Limits


@dataclass(frozen=True, kw_only=True)
class Excess:
    code: str
    ended: tuple[str | None, ...]
    limits: Limits = field(default_factory=lambda: replace(LIMITS, seconds=15, memory=256 * MIB))


_ENDLESS = {
    "loops": "while (true);",
    "loops in microtasks": """
const again = () => { Promise.resolve().then(again); };
again();
await new Promise(() => {});
""",
    "loops in queueMicrotask": "const again = () => queueMicrotask(again);\nagain();",
    "loops in ticks": """
import process from "node:process";
const again = () => process.nextTick(again);
again();
""",
    "matches one expression": '/(a+)+$/.test("a".repeat(64) + "b");',
    "loops in WebAssembly": """
const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0,
  0, 10, 9, 1, 7, 0, 3, 64, 12, 0, 11, 11]);
(new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.f as any)();
""",
    "waits for memory that it shares": "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);",
    "has a timer for ever": "setInterval(() => {}, 1000);",
    "has a worker that loops": """
new Worker("data:application/javascript,while(true);", { type: "module" });
""",
    "waits for an answer of nobody": "await new Promise((done) => setInterval(() => {}, 1 << 30));",
    "catches a rejection and loops": """
try { await Promise.reject(new Error("x")); } catch { while (true); }
""",
    "never unloads": 'addEventListener("beforeunload", (event) => event.preventDefault());',
    "loops while it unloads": 'addEventListener("unload", () => { while (true); });',
    "sorts without end": "[1, 2, 3].sort(() => { while (true); });",
    "makes a number": "console.log((2n ** (2n ** 27n)).toString().length, 3n ** (2n ** 27n));",
    "loops in a getter of its result": "export const result = { get a() { while (true); } };",
    "loops in toJSON of its result": "export const result = { toJSON() { while (true); } };",
    "loops in an error that it throws": """
throw Object.assign(new Error("x"), { cause: { get message() { while (true); }, stack: "" } });
""",
    "loops in the stack of an error": """
const error = new Error("x");
Object.defineProperty(error, "stack", { get() { while (true); } });
throw error;
""",
    "loops in inspect": 'throw { [Symbol.for("Deno.customInspect")]() { while (true); } };',
}


@pytest.mark.parametrize("name", _ENDLESS)
async def test_a_program_is_ended_at_its_time_that(name: str, ground: Ground) -> None:
    outcome = await ground.run_typescript(_ENDLESS[name], SHORT)
    assert (outcome.ended, outcome.exit_code) == ("timeout", 137), outcome


EXCESSES = {
    "takes a buffer of 4 GB": Excess(
        code="const held = new Uint8Array(2 ** 32 - 1);\nheld.fill(1);\nconsole.log('4 GB');",
        ended=("memory",),
    ),
    "fills an array": Excess(
        code="const held: unknown[] = [];\nwhile (true) held.push(new Array(100_000).fill(held.length));",
        ended=("memory",),
    ),
    "fills a map": Excess(
        code="const held = new Map();\nfor (let n = 0; ; n++) held.set(n, { n });", ended=("memory", None)
    ),
    "doubles a text": Excess(
        code="""
const held: string[] = [];
while (true) {
  let text = "x" + held.length;
  while (text.length < 2 ** 27) text += text;
  held.push(JSON.parse(JSON.stringify(text)));
}
""",
        ended=("memory",),
    ),
    "repeats a text": Excess(code='"x".repeat(2 ** 30);', ended=(None,)),
    "fills shared memory": Excess(
        code="""
const held = [];
while (true) held.push(new Uint8Array(new SharedArrayBuffer(1 << 26)).fill(1));
""",
        ended=("memory",),
    ),
    "grows memory of WebAssembly": Excess(
        code="""
const held = [];
while (true) held.push(new Uint8Array(new WebAssembly.Memory({ initial: 1024 }).buffer).fill(1));
""",
        ended=("memory",),
    ),
    "unpacks a bomb": Excess(
        code="""
import { gunzipSync, gzipSync } from "node:zlib";
const bomb = gzipSync(new Uint8Array(100_000_000));
const held = [];
while (true) held.push(gunzipSync(bomb));
""",
        ended=("memory",),
    ),
    "starts ten thousand workers": Excess(
        code="""
const held = [];
for (let n = 0; n < 10_000; n++) {
  held.push(new Worker("data:application/javascript,setInterval(()=>{},9)", { type: "module" }));
}
console.log("10,000 workers");
""",
        ended=("memory", "processes", "timeout", "cpu", "killed", "disk", None),
    ),
    "recurses": Excess(code="const f = (): any => f();\nf();", ended=(None,)),
    "nests a result": Excess(
        code="let deep: any;\nfor (let n = 0; n < 1e6; n++) deep = [deep];\nexport const result = deep;",
        ended=(None,),
    ),
    "opens files": Excess(
        code="const held = [];\nwhile (true) held.push(Deno.openSync('/workspace', { read: true }));",
        ended=("open_files",),
    ),
    "fills /tmp": Excess(
        code="for (let n = 0; ; n++) Deno.writeFileSync(`/tmp/${n}`, new Uint8Array(4_000_000));",
        ended=("disk",),
    ),
    "fills the workspace": Excess(
        code="""
for (let n = 0; ; n++) {
  Deno.writeFileSync(`/workspace/${n}`, new Uint8Array(4_000_000));
  await new Promise((done) => setTimeout(done, 20));
}
""",
        ended=("disk",),
    ),
    "makes a file of a petabyte": Excess(
        code="Deno.openSync('/workspace/x', { write: true, create: true }).truncateSync(2 ** 50);",
        ended=("file_size", None),
    ),
    "prints without end": Excess(
        code="while (true) console.log('x'.repeat(100_000));",
        ended=("output",),
        limits=replace(LIMITS, output=4 * MIB),
    ),
    "floods the bridge": Excess(
        code="for (let n = 0; n < 100_000; n++) callMCPTool('demo.echo', { n }).catch(() => {});",
        ended=("calls", "calls_in_flight", "memory"),  # of what it wants to send
    ),
    "computes": Excess(
        code="while (true);", ended=("cpu",), limits=replace(LIMITS, cpu_seconds=1, memory=256 * MIB)
    ),
}


@pytest.mark.parametrize("name", EXCESSES)
async def test_there_is_an_end_to_what(name: str, ground: Ground) -> None:
    await see_an_end(name, ground)


@pytest.mark.parametrize("name", EXCESSES)
async def test_without_control_groups_there_is_an_end_to_what(name: str, watched: Ground) -> None:
    await see_an_end(name, watched)


async def see_an_end(name: str, ground: Ground) -> None:
    async def agree(method: str, params: Json) -> bool:
        await anyio.sleep(0.01)
        return True

    excess = EXCESSES[name]
    outcome = await ground.run_typescript(excess.code, excess.limits, agree)
    assert outcome.ended in excess.ended, outcome
    assert outcome.exit_code != 0 or name == "nests a result", outcome
    assert outcome.ended is None or outcome.detail
    assert "10,000 workers" not in outcome.stdout.text or outcome.ended is not None


# Ends


@dataclass(frozen=True, kw_only=True)
class End:
    code: str
    exit_code: int = 0
    ended: str | None = None
    stdout: str = ""
    error: str = ""  # part of what it prints as an error


ENDS = {
    "exits": End(code="Deno.exit(3);", exit_code=3),
    "exits in a call back": End(code="setTimeout(() => Deno.exit(3), 10);", exit_code=3),
    "sets an exit code": End(code="Deno.exitCode = 7;", exit_code=7),
    "exits the way of node": End(code='import process from "node:process";\nprocess.exit(4);', exit_code=4),
    "exits with a number beyond all": End(code="Deno.exit(256 + 5);", exit_code=5),
    "aborts": End(code='import process from "node:process";\nprocess.abort();', exit_code=134),
    "kills itself": End(code="Deno.kill(Deno.pid, 'SIGKILL');", exit_code=137, ended="killed"),
    "uses what is not stable": End(
        code="await Deno.connect({ transport: 'vsock', cid: 2, port: 1 } as any);",
        exit_code=70,
        error="vsock",
    ),
    "gives a worker more than it has": End(
        code="""
const permissions = { read: true, net: true, run: true, ffi: true };
new Worker("data:text/javascript,1", { type: "module", deno: { permissions } } as any);
""",
        exit_code=70,
        error="nstable",
    ),
    "forks": End(
        code="import { fork } from 'child_process';\nfork('/program/x').on('spawn', () => Deno.exit(0));",
        exit_code=1,
        error="NotCapable",
    ),
    "has a cluster": End(
        code="import cluster from 'node:cluster';\ncluster.fork().on('online', () => Deno.exit(0));",
        exit_code=1,
    ),
    "starts a program and does not wait": End(
        code="import { spawn } from 'child_process';\nspawn('/bin/true').on('spawn', () => Deno.exit(0));",
        exit_code=1,
        error="NotCapable",
    ),
    "serves": End(code="Deno.serve(() => new Response(''));", exit_code=1, error="NotCapable"),
    "serves the way of node": End(
        code="import { createServer } from 'node:http';\ncreateServer().listen(0, () => Deno.exit(0));",
        exit_code=1,
        error="NotCapable",
    ),
    "sends datagrams": End(
        code="""
import { createSocket } from "node:dgram";
createSocket("udp4").send("x", 53, "127.0.0.1", (error) => Deno.exit(error ? 1 : 0));
""",
        exit_code=1,
    ),
    "handles its rejections": End(
        code="""
addEventListener("unhandledrejection", (event) => { event.preventDefault(); while (true); });
Promise.reject(new Error("odd"));
""",
        exit_code=1,
        error="odd",
    ),
    "throws a proxy that loops": End(code="throw new Proxy({}, { get() { while (true); } });", exit_code=1),
    "throws": End(code="throw new Error('odd');", exit_code=1, error="Error: odd\n    at main.ts:1:7\n"),
    "throws nothing": End(code="throw undefined;", exit_code=1, error="undefined"),
    "throws null": End(code="throw null;", exit_code=1, error="null"),
    "throws a text": End(code="throw 'odd';", exit_code=1, error="odd"),
    "throws a proxy": End(
        code="throw new Proxy({}, { get() { throw new Error('x'); }, has() { throw 1; } });", exit_code=1
    ),
    "rejects": End(code="Promise.reject(new Error('odd'));", exit_code=1, error="odd"),
    "throws in a call back": End(
        code="setTimeout(() => { throw new Error('odd'); });", exit_code=1, error="odd"
    ),
    "throws while it unloads": End(
        code='addEventListener("unload", () => { throw new Error("odd"); });', exit_code=1, error="odd"
    ),
    "exits while it unloads": End(code='addEventListener("unload", () => Deno.exit(5));', exit_code=5),
    "is no program": End(code="const = ;", exit_code=1, error="main.ts:1:7"),
    "is no text": End(code="const x = '\ud800';", exit_code=0),
    "has a NUL": End(code="const x = 1;\0", exit_code=1, error="rror"),
    "is nested too deep to be read": End(code="(" * 50_000, exit_code=134),  # the compiler overflows
    "waits for what never comes": End(
        code="await new Promise(() => {});", exit_code=1, error="never resolved"
    ),
    "closes itself": End(code="globalThis.close();"),
    "closes its streams": End(code="Deno.stdout.close();\nDeno.stderr.close();"),
    "closes every descriptor": End(
        code="import * as fs from 'node:fs';\nfor (let n = 3; n < 64; n++) try { fs.closeSync(n); } catch {}"
    ),
    "deletes what there is": End(
        code="""
const all: any = globalThis;
for (const name of Object.getOwnPropertyNames(all)) try { delete all[name]; } catch {}
""",
        exit_code=1,
    ),
    "freezes what there is": End(
        code="for (const one of [Object, Array, Promise, JSON]) Object.freeze((one as any).prototype ?? one);"
        "\nconsole.log(1);",
        stdout="1\n",
    ),
    "reads its input": End(
        code="const data = new Uint8Array(9);\nconsole.log(Deno.stdin.readSync(data));", stdout="null\n"
    ),
    "asks": End(code="console.log(prompt('x'), confirm('x'));", stdout="null false\n"),
    "prints what is no text": End(
        code="Deno.stdout.writeSync(new Uint8Array([0x61, 0, 0x1b, 0x5b, 0x33, 0x31, 0x6d, 0xff, 0x0a]));",
        stdout="a\0\x1b[31m\ufffd\n",
    ),
    "replaces the exit": End(
        code="(Deno as any).exit = process.exit = (() => {}) as any;\nthrow new Error('odd');",
        exit_code=1,
        error="odd",
    ),
    "leaves a worker": End(
        code='new Worker("data:application/javascript,1", { type: "module" }).terminate();\nconsole.log(1);',
        stdout="1\n",
    ),
}


@pytest.mark.parametrize("name", ENDS)
async def test_there_is_an_end_to_a_program_that(name: str, ground: Ground) -> None:
    end = ENDS[name]
    outcome = await ground.run_typescript(end.code, replace(LIMITS, seconds=8))
    assert (outcome.exit_code, outcome.ended) == (end.exit_code, end.ended), outcome
    assert end.stdout in outcome.stdout.text
    assert end.error in outcome.stderr.text
    assert "satchel-guest" not in outcome.stderr.text or name == "deletes what there is"
    assert not outcome.has_result


# The bridge and the runtime

POLLUTIONS = {
    "the prototype of objects": """
const pollution = { id: 999, error: { kind: "x", message: "polluted" }, result: "polluted", method: "x",
  params: {}, program: "polluted", session: true };
for (const [name, value] of Object.entries(pollution)) {
  Object.defineProperty(Object.prototype, name, { value, writable: true, configurable: true });
}
""",
    "how objects become JSON": """
Object.defineProperty(Object.prototype, "toJSON", { value: () => "polluted" });
""",
    "JSON": "JSON.stringify = JSON.parse = (() => { throw new Error('polluted'); }) as any;",
    "Promise": """
const Real = Promise;
(globalThis as any).Promise = class { constructor() { throw new Error("polluted"); } };
""",
    "what promises do": """
const then = Promise.prototype.then;
Promise.prototype.then = function (...given: any) { return then.apply(this, given); } as any;
""",
    "texts and bytes": """
for (const [kind, names] of [[TextEncoder, ["encode", "encodeInto"]], [TextDecoder, ["decode"]],
    [Object.getPrototypeOf(Uint8Array), ["set", "subarray", "slice", "fill"]]] as any[]) {
  for (const name of names) kind.prototype[name] = () => { throw new Error("polluted"); };
}
""",
    "lists and maps": """
for (const kind of [Map, Set, WeakMap] as any[]) {
  for (const name of ["get", "set", "has", "delete", "add"]) {
    kind.prototype[name] &&= () => { throw new Error("polluted"); };
  }
}
(Array.prototype as any)[Symbol.iterator] = function* () { yield "polluted"; };
""",
    "functions": """
const fail: any = () => { throw new Error("polluted"); };
Function.prototype.call = Function.prototype.apply = Function.prototype.bind = Reflect.apply = fail;
""",
    "the verbs": """
import { Socket } from "node:net";
Socket.prototype.ref = Socket.prototype.unref = function () { return this; };
""",
}


@pytest.mark.parametrize("name", POLLUTIONS)
async def test_calls_are_what_they_are_although_a_program_replaces(name: str, ground: Ground) -> None:
    heard: list[Json] = []

    async def answer(method: str, params: Json) -> Any:
        heard.append(params["arguments"])
        return {"text": f"answer {len(heard)}"}

    code = f"""
import {{ callMCPTool as call }} from "satchel-runtime";
const log = console.log;
{POLLUTIONS[name]}
const first: any = await call("demo.echo", {{ text: "one" }});
const second: any = await call("demo.echo", {{ text: "two" }});
log(first.text + " " + second.text);
"""
    outcome = await ground.run_typescript(code, replace(LIMITS, seconds=8), answer)
    # A program may break itself; it must not be heard to say what it did not, nor be told another's answer.
    assert heard in ([{"text": "one"}, {"text": "two"}], [{"text": "one"}], []), heard
    assert outcome.ended in (None, "protocol"), outcome
    assert outcome.stdout.text in ("answer 1 answer 2\n", "")
    if name in ("the prototype of objects", "JSON", "Promise", "texts and bytes"):
        assert (outcome.exit_code, outcome.stdout.text) == (0, "answer 1 answer 2\n"), outcome


RAW = """
import { Socket } from "node:net";
const frame = (body: string | Uint8Array) => {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const whole = new Uint8Array(4 + bytes.length);
  new DataView(whole.buffer).setUint32(0, bytes.length);
  whole.set(bytes, 4);
  return whole;
};
let bridge: any;
const { write } = Socket.prototype;
Socket.prototype.write = function (this: Socket, ...given: any) {
  bridge = this;
  return (write as any).apply(this, given);
} as any;
for (let fd = 3; fd < 250; fd++) {
  try { new Socket({ fd, writable: true }).on("error", () => {}).unref(); } catch {}
}
await callMCPTool("demo.echo", {}); // by which the runtime shows its own
const send = (bytes: Uint8Array) => bridge.write(bytes);
const wait = () => new Promise((done) => setTimeout(done, 6000));
"""
BREACHES = {
    "what is no frame": "send(new Uint8Array(16).fill(255));\nawait wait();",
    "a frame that is no JSON": "send(frame('{'));\nawait wait();",
    "its begin again": """send(frame('{"method":"begin","params":{}}'));\nawait wait();""",
    "an id twice": """
for (const _ of [1, 2]) send(frame('{"id":9,"method":"x","params":{}}'));
await wait();
""",
    "two ends": """
for (const _ of [1, 2]) send(frame('{"method":"end","params":{}}'));
await wait();
""",
}


@pytest.mark.parametrize("name", BREACHES)
async def test_a_program_is_ended_that_sends(name: str, ground: Ground) -> None:
    async def agree(method: str, params: Json) -> bool:
        return True

    outcome = await ground.run_typescript(RAW + BREACHES[name], replace(LIMITS, seconds=10), agree)
    assert (outcome.ended, outcome.exit_code) == ("protocol", 137), outcome
    assert not outcome.has_result


async def test_a_program_that_speaks_beside_its_runtime_harms_only_itself(ground: Ground) -> None:
    async def answer(method: str, params: Json) -> Any:
        return {"heard": method}

    code = (
        RAW
        + """
send(frame('{"id":50,"method":"call_tool","params":{"name":"x","arguments":{}}}'));
await new Promise((done) => setTimeout(done, 100));
console.log(JSON.stringify(await callMCPTool("demo.echo", {})));
"""
    )
    outcome = await ground.run_typescript(code, replace(LIMITS, seconds=8), answer)
    assert outcome.ended in (None, "protocol", "timeout"), outcome


# What one leaves for the next


async def test_files_in_the_workspace_do_not_steer_the_next_program(ground: Ground) -> None:
    evil = json.dumps("throw new Error('evil'); export const callMCPTool = 1; export default 1;")
    outcome = await ground.run_typescript(f"""
const files: Record<string, string> = {{
  "deno.json": '{{"imports":{{"satchel-runtime":"./evil.ts","node:path":"./evil.ts"}},"unstable":["ffi"]}}',
  "deno.jsonc": '{{"imports":{{"satchel-runtime":"./evil.ts"}}}}',
  "package.json": '{{"dependencies":{{"left-pad":"1"}},"type":"commonjs","imports":{{"#x":"./evil.ts"}}}}',
  "import_map.json": '{{"imports":{{"satchel-runtime":"./evil.ts"}}}}',
  "deno.lock": "not a lock", ".npmrc": "registry=http://127.0.0.1:1", ".env": "LEFT=1", "tsconfig.json": "{{",
  "evil.ts": {evil}, "node_modules/satchel-runtime/index.js": {evil}, "satchel-runtime/index.ts": {evil},
  "servers/x.ts": {evil}, ".deno/x": "x", ".config/deno/config.json": "{{", ".cache/deno/x": "x",
  "node_modules/path/index.js": {evil}, "preload.ts": {evil},
}};
for (const base of ["/workspace", "/mnt/memory", "/tmp", "/tmp/deno"]) {{
  for (const [name, text] of Object.entries(files)) {{
    const place = `${{base}}/${{name}}`;
    try {{
      Deno.mkdirSync(place.slice(0, place.lastIndexOf("/")), {{ recursive: true }});
      Deno.writeTextFileSync(place, text);
    }} catch {{}}
  }}
}}
console.log("written");
""")
    assert outcome.stdout.text == "written\n"

    async def answer(method: str, params: Json) -> Any:
        return params["arguments"]

    following = await ground.run_typescript(
        """
import { callMCPTool as call } from "satchel-runtime";
import * as path from "node:path";
import { basename } from "path";
const answer = JSON.stringify(await call("x", { n: 1 }));
console.log(path.basename("/a/b"), basename("/a/c"), Deno.env.get("LEFT"), answer);
""",
        answer=answer,
    )
    assert (following.exit_code, following.stdout.text) == (0, 'b c undefined {"n":1}\n'), following


async def test_what_deno_keeps_is_the_programs_own_and_goes_with_it(ground: Ground) -> None:
    outcome = await ground.run_typescript("""
localStorage?.setItem?.("left", "x");
""")
    assert outcome.ended is None
    look = """
const found: string[] = [];
const walk = (place: string) => {
  for (const entry of Deno.readDirSync(place)) {
    found.push(`${place}/${entry.name}`);
    if (entry.isDirectory) walk(`${place}/${entry.name}`);
  }
};
walk("/tmp");
Deno.mkdirSync("/tmp/deno/left", { recursive: true });
try { console.log(localStorage.getItem("left")); } catch { console.log(null); }
console.log(found.filter((name) => name.includes("left")).length);
"""
    for _ in range(2):
        following = await ground.run_typescript(look)
        assert (following.exit_code, following.stdout.text) == (0, "null\n0\n"), following
