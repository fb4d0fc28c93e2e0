"""A box that was made, and waits for the word to begin. Where one comes from is a backend's business."""

from dataclasses import dataclass, field

from satchel.sandbox.bridge.bridge import START
from satchel.sandbox.bridge.frames import encode
from satchel.sandbox.jobs import Job
from satchel.sandbox.running.budget import Held
from satchel.sandbox.running.cgroups import Group
from satchel.sandbox.running.supervise import Started
from satchel.sandbox.sandbox import Program


@dataclass(frozen=True, kw_only=True)
class Box:
    """A box that waits for the word to begin."""

    started: Started
    group: Group | None
    has_program: bool  # or it comes with the word to begin
    lingers: bool = False  # has ended before all of it has gone
    held: Held = field(default_factory=Held)  # its part in the budget of all boxes

    def start(self, program: Program, job: Job, *, session: bool = False) -> bytes:
        """The word to begin."""
        if self.has_program and not session:
            return START
        asked = {"program": program.code, "file": job.file, "session": session}
        return encode(asked if job.speaks else {**asked, "command": job.command})
