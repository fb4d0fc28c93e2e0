"""Writes Satchel into the files of clients that are to use it, for `satchel connect`, and takes it out again.

Of a file it changes one entry, as text, and checks the result before it writes it. What the file has besides
is not laid out anew, and its values are not shown.
"""

from satchel.config.clients.connecting.changes import Change, apply_change, plan_connection, plan_undo
from satchel.config.clients.connecting.clients import TARGETS, Target, entry_for, option_of, own_command
from satchel.config.clients.connecting.moving import moved_file, plan_move, plan_move_back
from satchel.config.clients.connecting.obstacles import find_obstacles

__all__ = [
    "TARGETS",
    "Change",
    "Target",
    "apply_change",
    "entry_for",
    "find_obstacles",
    "moved_file",
    "option_of",
    "own_command",
    "plan_connection",
    "plan_move",
    "plan_move_back",
    "plan_undo",
]
