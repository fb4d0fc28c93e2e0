"""Makes src/satchel/search/word_vectors.bin: what some thousand words mean, as vectors of 64 numbers.

    python scripts/word_vectors.py DIRECTORY

DIRECTORY has the weights of all-MiniLM-L6-v2 (Apache-2.0): model.safetensors, vocab.txt, config.json. Each
whole word of its vocabulary is embedded by itself; the principal components that tell most are kept. A word
counts the less the more common it is, by its place in the vocabulary, which is sorted by that. Words with the
same stem are one. Needs numpy; nothing else than the vocabulary decides which words there are.
"""

import sys
import zlib
from pathlib import Path

import numpy as np

from satchel.search.minilm import MiniLM
from satchel.search.word_senses import SIZE
from satchel.search.words import is_common, stem

FILE = Path(__file__).resolve().parents[1] / "src" / "satchel" / "search" / "word_vectors.bin"
_FIRST_PLACE = 1000  # where whole words begin in the vocabulary
_COMMON = 1e-4  # the share of all text below which a word is rare


def main(directory: Path) -> None:
    vocabulary = (directory / "vocab.txt").read_text(encoding="utf-8").split("\n")
    words = [
        word
        for word in vocabulary
        if word.isalpha() and word.isascii() and len(word) >= 3 and not is_common(word)
    ]
    vectors = np.asarray(MiniLM(directory).embed(words), dtype=np.float64)
    vectors -= vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(vectors, full_matrices=False)
    share = 1 / (np.arange(len(words)) + _FIRST_PLACE)
    share /= share.sum()
    vectors = vectors @ axes[:SIZE].T * (_COMMON / (_COMMON + share))[:, None]
    by_stem: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        by_stem.setdefault(stem(word), []).append(place)
    means = np.array([vectors[places].mean(axis=0) for places in by_stem.values()])
    largest = np.percentile(np.abs(means), 99.9)
    numbers = np.clip(np.round(means * (127 / largest)), -127, 127).astype(np.int8)
    data = zlib.compress("\n".join(by_stem).encode() + b"\0" + numbers.tobytes(), 9)
    FILE.write_bytes(data)
    sys.stdout.write(f"{len(by_stem):,} stems of {len(words):,} words, {len(data):,} bytes\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
