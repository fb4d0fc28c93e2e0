"""A host with things worth stealing: what hostile programs are told about, and whether they got at it."""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Host:
    """Everything is live: the files can be read, the sockets accept, the process sleeps."""

    secret: str
    plant: dict[str, Any]
    listeners: tuple[socket.socket, ...]
    victim: subprocess.Popen[bytes]

    @property
    def environment(self) -> dict[str, str]:
        return {"SATCHEL_TEST_SECRET": self.secret}

    def told(self, code: str) -> str:
        """The program, told where everything is."""
        return f"import json\nplant = json.loads({json.dumps(self.plant)!r})\n{code}"

    def contacts(self) -> int:
        """How many listeners have heard from somebody since the last time."""
        heard = 0
        for listener in self.listeners:
            with contextlib.suppress(BlockingIOError):
                if listener.type == socket.SOCK_STREAM:
                    listener.accept()[0].close()
                else:
                    listener.recv(100)
                heard += 1
        return heard


@contextlib.contextmanager
def open_host(directory: Path) -> Generator[Host]:
    secret = secrets.token_hex(16)
    files = [directory / name for name in (".ssh/id_ed25519", ".aws/credentials", "satchel.yaml")]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text(secret)
        file.chmod(0o600)
    name = f"satchel-{secret[:12]}"
    with contextlib.ExitStack() as stack:

        def listen(family: int, kind: int, address: Any) -> Any:
            listener = stack.enter_context(socket.socket(family, kind))
            listener.bind(address)
            if kind == socket.SOCK_STREAM:
                listener.listen(8)
            listener.setblocking(False)
            listeners.append(listener)
            return listener.getsockname()

        listeners: list[socket.socket] = []
        plant: dict[str, Any] = {
            "files": [str(file) for file in files],
            "tcp": [listen(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))],
            "udp": listen(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "stream": [
                listen(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{name}-stream").decode(),
                listen(socket.AF_UNIX, socket.SOCK_STREAM, str(directory / "s")),
            ],
            "datagram": [
                listen(socket.AF_UNIX, socket.SOCK_DGRAM, f"\0{name}-datagram").decode(),
                listen(socket.AF_UNIX, socket.SOCK_DGRAM, str(directory / "d")),
            ],
            "directory": str(directory),
        }
        with contextlib.suppress(OSError):  # a host without IPv6
            plant["tcp"].append(listen(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))[:2])
        victim = stack.enter_context(
            subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
        )
        stack.callback(victim.kill)
        plant["victim"] = victim.pid
        plant["session"] = os.getpid()
        yield Host(secret=secret, plant=plant, listeners=tuple(listeners), victim=victim)
