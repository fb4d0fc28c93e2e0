"""The first hour of a new user, from a wheel in an empty HOME: import, look, call, run, move, undo.

The wheel is built once and installed into a fresh environment without its dependencies: no network is needed,
because a .pth file there names the packages of the environment that runs the tests.
"""

import json
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.servers import raw

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]  # it is one long story

ROOT = Path(__file__).resolve().parents[2]
MARK = "canary"
NEXT_STEP = ("hint:", "next:", "→", "satchel ")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `satchel` program of an installation that has nothing of the checkout."""
    place = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=300,
    )
    (wheel,) = place.glob("*.whl")
    environment = place / "environment"
    venv.create(environment, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(environment), "install", "--quiet"]
    subprocess.run(
        [*pip, "--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)], check=True, timeout=300
    )
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return environment / "bin" / "satchel"


@dataclass(frozen=True)
class User:
    program: Path
    home: Path

    def run(self, *arguments: str, code: int | None = 0, stdin: str = "") -> tuple[str, str]:
        """Standard output and standard error. Nothing secret is in either, and a failure has a next step."""
        path = f"{self.program.parent}:{Path(sys.executable).parent}:/usr/bin:/bin"
        done = subprocess.run(
            [self.program, *arguments],
            cwd=self.home / "work",
            env={"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8"},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        both = done.stdout + done.stderr
        assert MARK not in both, both
        assert "Traceback" not in both, both
        if code is not None:
            assert done.returncode == code, both
        if done.returncode:
            assert any(step in both for step in NEXT_STEP), both
        return done.stdout, done.stderr


def good(number: int) -> dict[str, Any]:
    """Servers that differ in what they are given."""
    return raw("good") | {"env": {"SERVICE_TOKEN": f"{MARK}-{number}-of-good"}}


CLAUDE: Mapping[str, Any] = {f"desk{number}": good(number) for number in range(4)} | {
    "missing": {"command": "no-such-program-anywhere", "args": ["--token", f"{MARK}-missing"]}
}
CURSOR: Mapping[str, Any] = {f"code{number}": good(10 + number) for number in range(3)} | {
    "unset": {"command": "x", "env": {"KEY": "${env:NOT_SET_ANYWHERE}"}}
}
DEAD = "http://127.0.0.1:9/mcp"


def toml_of(servers: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["# mine", 'model = "o9"   # good', ""]
    for name, entry in servers.items():
        lines += [f"[mcp_servers.{name}]"]
        for key, value in entry.items():
            inner = (
                ", ".join(f"{word} = {json.dumps(text)}" for word, text in value.items())
                if key == "env"
                else ""
            )
            lines.append(f"{key} = {{ {inner} }}" if inner else f"{key} = {json.dumps(value)}")
        lines.append("")
    return "\n".join(lines) + "# the end\n"


@pytest.fixture
def user(installed: Path, own_home: Path) -> User:
    (own_home / "work").mkdir()
    crash = raw("crash_start", data=f"postgresql://me:{MARK}@localhost/db")  # run by hand, says doctor
    crash["env"] = {"API_KEY": f"{MARK}-crash"}
    codex = toml_of({"term0": good(20), "crash": crash, "dead": {"url": DEAD}})
    files = {
        ".claude.json": json.dumps({"numStartups": 3, "mcpServers": CLAUDE}, indent=2) + "\n",
        ".cursor/mcp.json": "// mine\n" + json.dumps({"mcpServers": CURSOR}, indent="\t"),
        ".codex/config.toml": codex,
    }
    for name, text in files.items():
        file = own_home / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return User(installed, own_home)


def test_the_first_hour_of_a_new_user(user: User) -> None:
    files = [user.home / name for name in (".claude.json", ".cursor/mcp.json", ".codex/config.toml")]
    before = [file.read_bytes() for file in files]

    assert "init" in user.run()[0]
    assert "hint: satchel init" in user.run("list")[1]
    shown, said = user.run("init", "--dry-run")
    assert shown.count("\n    from ") == 12, shown
    _, said = user.run("init", "--yes")
    assert "wrote 12 servers" in said
    assert "hint: satchel list" in said
    servers = json.loads((user.home / "work/extensions_config.json").read_text())["mcpServers"]
    assert len(servers) == 12

    listed, said = user.run("list")
    assert listed.count("listed") == 8, listed + said
    for name in ("missing", "unset", "crash", "dead"):
        assert f"{name}: " in said
    found, said = user.run("doctor", code=4)
    steps = [line for line in found.splitlines() if line.strip().startswith("→")]
    assert len(steps) >= 4, found
    assert "to do: 4 findings" in said, said
    status, _ = user.run("status")
    assert status.count("→") == 4, status
    assert "DATABASE_URL is not set" in user.run("logs", "crash", "--lines", "2")[0]

    assert "desk0.echo" in user.run("search", "return the text")[0]
    assert user.run("call", "desk0.echo", "text=hello")[0] == "hello\n"
    assert "hint" in user.run("call", "desk0.ehco", "text=hello", code=2)[1]
    for name in ("missing", "unset", "crash", "dead"):
        assert "hint: " in user.run("call", f"{name}.anything", code=None)[1]

    python = "from servers.code0 import add\nprint((await add(a=1, b=2)))"
    assert "3" in user.run("run", "-", stdin=python)[0]
    typescript = (
        "import { add } from './servers/term0';\nconsole.log(JSON.stringify(await add({ a: 2, b: 3 })));"
    )
    assert "5" in user.run("run", "--language", "ts", "-", stdin=typescript)[0]
    assert "2 calls" in user.run("executions")[0] or user.run("executions")[0].count("1 call") == 2

    for client in ("claude-code", "cursor", "codex"):
        _, said = user.run("connect", client, "--move", "--yes")
        assert "moved " in said, said
        assert "next: " in said
    assert user.run("status")[0].count("connected") == 3
    for file in files:
        assert MARK not in file.read_text()
    assert user.run("list")[0].count("listed") == 8
    for client in ("claude-code", "cursor", "codex"):
        user.run("connect", client, "--undo", "--yes")
    assert [file.read_bytes() for file in files] == before
