"""A PostgreSQL server for tests, of Debian's programs: reached over a socket, gone with who started it."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

WAIT = 30  # seconds; only a hang reaches it


def find_programs() -> Path | None:
    """The directory of initdb and postgres, of the newest version that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return found[-1].parent if found and shutil.which("setpriv") else None


@contextmanager
def running_server(programs: Path) -> Generator["Server"]:
    """A server in a directory of its own. It ends with whoever started it, by kill -9 too."""
    directory = Path(tempfile.mkdtemp(prefix="satchel-postgresql-", dir="/tmp"))  # a socket's path is short
    directory.chmod(0o711)
    try:
        data = directory / "data"
        data.mkdir(mode=0o700)
        as_whom = _unprivileged([data, directory])
        options = ["-U", "satchel", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", "-D", str(data)]
        subprocess.run(
            [*as_whom, programs / "initdb", *options], check=True, capture_output=True, timeout=WAIT, cwd="/"
        )
        settings = {"listen_addresses": "", "unix_socket_directories": str(directory), "fsync": "off"}
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(
                [
                    *as_whom,
                    *("--pdeathsig", "INT"),
                    *(programs / "postgres", "-D", str(data)),
                    *(part for name, value in settings.items() for part in ("-c", f"{name}={value}")),
                ],
                stdout=log,
                stderr=log,
                cwd="/",
            )
        try:
            server = Server(directory)
            server.wait_until_ready(process)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:  # someone is still connected
                process.kill()
                process.wait(WAIT)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _unprivileged(directories: list[Path]) -> list[str]:
    """PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return ["setpriv"]
    nobody = pwd.getpwnam("nobody")
    for directory in directories:
        os.chown(directory, nobody.pw_uid, nobody.pw_gid)
    return ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]


class Server:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._schemas = 0

    def url(self, **query: str) -> str:
        shown = {"host": str(self._directory), **query}
        return "postgresql://satchel@/postgres?" + "&".join(
            f"{name}={quote(value, safe='')}" for name, value in shown.items()
        )

    def empty_url(self) -> str:
        """The URL of a place without tables."""
        self._schemas += 1
        name = f"journal_{self._schemas}"
        self.execute(f"CREATE SCHEMA {name}")
        return self.url(options=f"-csearch_path={name}")

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def wait_until_ready(self, process: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + WAIT
        while True:
            try:
                return self.execute("SELECT 1")
            except psycopg.OperationalError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
