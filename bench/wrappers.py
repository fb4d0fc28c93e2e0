"""How long wrappers are, in o200k tokens and in characters; of this checkout and of another one.

    python -m bench.wrappers [DIRECTORY]      the other checkout, with its src/

Generates the wrappers of every recorded server with each and prints a table.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from bench.listing import DATA, _fill_cache
from bench.surroundings import PYTHON, ROOT, Home, temporary_home
from bench.tokens import _count
from satchel.languages import LANGUAGES, Language

LONG = 4_000  # characters
HEADINGS = ("wrappers", "median", "p95", "worst", "all", f"over {LONG:,} characters", "longest")


def main(arguments: Sequence[str]) -> int:
    if not DATA.is_dir():
        sys.exit(f"the recorded tools of public servers are not in ../{DATA.relative_to(ROOT.parent)}")
    checkouts = [("before", Path(arguments[0]).resolve())] if arguments else []
    checkouts.append(("now", ROOT))
    rows: list[Sequence[str]] = [HEADINGS, ["---"] * len(HEADINGS)]
    with temporary_home() as home:
        _fill_cache(home, home.project / "started")
        for label, checkout in checkouts:
            output = home.project / f"wrappers-{label}"
            _generate(home, checkout, output)
            rows += [_row(f"{language}, {label}", output, language) for language in LANGUAGES]
    print("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return 0


def _generate(home: Home, checkout: Path, output: Path) -> None:
    environment = {**home.environment, "PYTHONPATH": os.fspath(checkout / "src")}
    command = [PYTHON, "-m", "satchel", "generate", "--output", os.fspath(output)]
    subprocess.run(command, cwd=home.project, env=environment, stdout=subprocess.DEVNULL, check=True)


def _row(label: str, output: Path, language: Language) -> list[str]:
    texts = list(_wrappers(output / language))
    tokens = sorted(map(_count, texts))
    longest = max(map(len, texts))
    p95 = tokens[round(0.95 * (len(tokens) - 1))]
    numbers = (median(tokens), p95, tokens[-1], sum(tokens), sum(len(text) > LONG for text in texts))
    return [f"{len(texts)} in {label}", *(f"{number:,.0f}" for number in numbers), f"{longest:,} characters"]


def _wrappers(tree: Path) -> Iterator[str]:
    for index in sorted(tree.glob("servers/*/index.json")):
        for row in json.loads(index.read_bytes())["tools"]:
            yield (index.parent / row["file"]).read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
