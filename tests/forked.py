"""A process in place of `satchel`: has the server of tests.commands fork one that needs not load its modules.

    python -I -S forked.py SOCKET ARGUMENT…

It hands over its streams, directory and environment, passes signals on, and ends as that process does, which
is killed if this one is. Tests that look at the process itself, or at how Python starts, don't use it.
"""

import json
import os
import signal
import socket
import sys

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(place: str, arguments: list[str]) -> int:
    early: list[int] = []
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: early.append(number))
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(place)
        request = json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode()
        socket.send_fds(connection, [len(request).to_bytes(4, "big")], [0, 1, 2])
        connection.sendall(request)
        for number in (0, 1, 2):
            os.close(number)
        answers = connection.makefile()
        process = int(answers.readline())
        for number in PASSED_ON:
            signal.signal(number, lambda number, _: os.kill(process, number))
        for number in early:
            os.kill(process, number)
        code = int(answers.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    os._exit(main(sys.argv[1], sys.argv[2:]))
