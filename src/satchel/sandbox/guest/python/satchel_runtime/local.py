"""The connection to a `satchel bridge` on this machine, for scripts that run outside of the sandbox."""

import json
import socket

from satchel_runtime.channel import Channel
from satchel_runtime.errors import NotConnectedError

VARIABLE = "SATCHEL_BRIDGE"


def connect_to_bridge(address: str) -> Channel:
    """`address` is what `satchel bridge` prints: the token, an @ and the path of the socket."""
    token, _, path = address.partition("@")
    way = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        way.connect(path)
        body = json.dumps({"method": "hello", "params": {"token": token}}).encode()
        way.sendall(len(body).to_bytes(4, "big") + body)
        answer = b""
        while len(answer) < 6:
            data = way.recv(6 - len(answer))
            if not data:
                way.close()
                raise NotConnectedError(f"the bridge at {path} did not accept the token in {VARIABLE}")
            answer += data
    except OSError as error:
        way.close()
        raise NotConnectedError(
            f"no bridge answers at {path}: {error.strerror}; start one with: satchel bridge"
        ) from error
    return Channel(way.detach())
