"""The yardstick of `bench.generate`: parse the JSON files of a directory, write given bytes to given files.

python writing.py DATA MANIFEST BYTES OUTPUT
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

Layout = Sequence[tuple[str, int]]
"""The path and size of every file, in the order in which their bytes follow one another."""


def write_tree(data: str, layout: Layout, content: memoryview, output: str) -> None:
    for name in sorted(os.listdir(data)):
        with open(os.path.join(data, name), encoding="utf-8") as file:
            json.load(file)
    made: set[str] = set()
    start = 0
    for path, size in layout:
        folder = os.path.join(output, os.path.dirname(path))
        if folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        with open(os.path.join(output, path), "wb") as file:
            file.write(content[start : start + size])
        start += size


if __name__ == "__main__":
    data, manifest, content, output = sys.argv[1:]
    write_tree(data, json.loads(Path(manifest).read_bytes()), memoryview(Path(content).read_bytes()), output)
