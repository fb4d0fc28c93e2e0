"""The model for the search with semantic vectors, if there is one here.

`SATCHEL_EMBEDDINGS` names a directory, or an installed package, that has the model in it.
"""

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from bench.rows import Skipped

Compare = Callable[[str], list[float]]
"""The cosine of a query with each of the texts."""


def comparison(texts: Sequence[str]) -> Compare:
    directory = _find_model(os.environ.get("SATCHEL_EMBEDDINGS"))
    if find_spec("numpy") is None:
        raise Skipped("numpy is not installed")
    embed = import_module("satchel.search.minilm").MiniLM(directory).embed
    vectors = embed(texts)  # of length one each
    return lambda query: (vectors @ embed([query])[0]).tolist()


def _find_model(name: str | None) -> Path:
    if not name:
        raise Skipped("SATCHEL_EMBEDDINGS names no model")
    places = [Path(name)] if Path(name).is_dir() else _directories_of(name)
    for place in places:
        for weights in sorted(place.rglob("model.safetensors")):
            return weights.parent
    raise Skipped(f"there is no model.safetensors in {name}")


def _directories_of(package: str) -> list[Path]:
    specification = find_spec(package) if package.isidentifier() else None
    return [Path(place) for place in (specification and specification.submodule_search_locations) or ()]
