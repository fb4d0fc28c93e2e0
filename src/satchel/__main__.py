"""`python -m satchel`."""

from satchel.cli.main import run

run()
