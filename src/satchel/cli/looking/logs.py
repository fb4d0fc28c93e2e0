"""logs: what servers wrote to standard error."""

import argparse
from datetime import datetime

from satchel.cli import output
from satchel.cli.running import note_no_servers, paths_of
from satchel.names import in_shell
from satchel.verbs.looking.logs import find_log, follow_lines, last_lines, list_logs


def logs_command(options: argparse.Namespace) -> int:
    paths = paths_of(options)
    if not options.server:
        return _list(options)
    log = find_log(paths, options.server)
    if options.follow:
        for line in follow_lines(log, options.lines):
            output.show_now(line)
    lines = last_lines(log, options.lines)
    for line in lines:
        output.show(line)
    if not lines:
        output.note(
            f"{log.server} has written nothing yet: {output.from_home(log.file)} is made when it starts"
        )
        output.note(
            f"hint: satchel refresh {in_shell(log.server)} starts it; --follow waits for what it writes"
        )
    return 0


def _list(options: argparse.Namespace) -> int:
    logs = list_logs(paths_of(options))
    if not logs:
        note_no_servers()
        return 0
    rows = [[log.server, _when(log.changed_at), _size(log.size), output.from_home(log.file)] for log in logs]
    output.show_table(rows, headings=("server", "last written", "size", "file"), optional=("size",))
    output.note("hint: satchel logs SERVER shows one, --follow what comes")
    return 0


def _when(moment: float | None) -> str:
    return "-" if moment is None else datetime.fromtimestamp(moment).strftime("%Y-%m-%d %H:%M:%S")


def _size(size: int) -> str:
    return f"{size:,} bytes" if size < 1024 else f"{size / 1024:,.0f} KiB"
