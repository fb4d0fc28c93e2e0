"""Stores as a local Qdrant has them, with points and with what points must not be."""

import base64
import pickle
import sqlite3
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

MODULE = "qdrant_client.http.models.models"


class _Model:
    """Pickled like a model of Pydantic 2, of which nothing is installed here."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __getstate__(self) -> object:
        return {
            "__dict__": self.__dict__,
            "__pydantic_extra__": None,
            "__pydantic_fields_set__": set(self.__dict__),
            "__pydantic_private__": None,
        }


def pickled_point(monkeypatch: pytest.MonkeyPatch, id: object, vector: object, payload: object) -> bytes:
    """As qdrant-client pickles a point; a vector that is a pair of lists is a sparse one."""
    module: Any = ModuleType(MODULE)
    for name in ("PointStruct", "SparseVector"):
        setattr(module, name, type(name, (_Model,), {"__module__": MODULE}))
    if isinstance(vector, tuple):
        indices, values = vector  # pyright: ignore[reportUnknownVariableType]
        vector = {"": [0.5], "bm25": module.SparseVector(indices=indices, values=values)}
    for parent in (MODULE, "qdrant_client", "qdrant_client.http", "qdrant_client.http.models"):
        monkeypatch.setitem(sys.modules, parent, module)
    return pickle.dumps(module.PointStruct(id=id, vector=vector, payload=payload), protocol=4)


def make_collection(folder: Path, points: Iterable[bytes | str | int | None]) -> Path:
    """The folder of one collection, with these values for points."""
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "storage.sqlite") as storage:
        storage.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        for number, point in enumerate(points):
            key = base64.b64encode(pickle.dumps(str(number), protocol=4)).decode()
            storage.execute("INSERT INTO points VALUES (?, ?)", (key, point))
    storage.close()
    return folder
