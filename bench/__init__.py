"""Measurements, each against a yardstick taken in the same run, so that a slow machine changes no verdict.

    python -m bench              all of them
    python -m bench list call    some
    python -m bench.versions DIRECTORY    this checkout beside another one

Not tests: a busy machine can make one fall short, so the exit code is 0 unless `--strict` asks otherwise.
"""
