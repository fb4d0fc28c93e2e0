"""Writes what mem0 leaves behind into a folder, in the environment that has mem0; without network and model.

Makes `FOLDER/qdrant`, `FOLDER/history.db` and three exports: `all.json`, `list.json`, which is a bare list,
and `default.json`, without `top_k`. Prints the ids of memories by their names, as JSON. With `stay` as second
argument it keeps the stores open, and adds a memory for each line that it is sent.
"""

import json
import os
import sys
import warnings
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
SIZE = 8  # of vectors


class Embedder:
    """Stands in for the service that makes vectors."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return [float(ord(character)) for character in text[:SIZE].ljust(SIZE)]


def opened() -> Any:
    os.environ |= {
        "HOME": str(FOLDER),
        "MEM0_DIR": str(FOLDER / "home"),
        "MEM0_TELEMETRY": "False",
        "OPENAI_API_KEY": "none",  # the client wants one, and is never used
    }
    warnings.simplefilter("ignore")
    store = {"path": str(FOLDER / "qdrant"), "collection_name": "mem0", "embedding_model_dims": SIZE}
    configuration = {
        "vector_store": {"provider": "qdrant", "config": store | {"on_disk": True}},
        "history_db_path": str(FOLDER / "history.db"),
    }
    memory = import_module("mem0").Memory.from_config(configuration)
    memory.embedding_model = Embedder()
    return memory


memory = opened()
ids: dict[str, str] = {}


def add(name: str, text: str, **options: Any) -> None:
    ids[name] = memory.add(text, infer=False, **options)["results"][0]["id"]


def save(name: str, value: object) -> None:
    (FOLDER / name).write_text(json.dumps(value, indent=2))


add(
    "changed",
    "Deploys need a ticket.",
    agent_id="worker_a",
    metadata={"category": "deploy", "score": 0.5, "nested": {"list": [1, None, True, -70000]}},
)
add("deleted", "Nobody needs this.", agent_id="worker_a")
add("expired", "The office is closed this week.", agent_id="worker_a", expiration_date="2020-01-01")
add("elsewhere", "Invoices go to Kim.", agent_id="elsewhere")
add("user", "Alice likes tea ☕.", user_id="alice")
memory.update(ids["changed"], "Deploys need a ticket, from Friday on.")
memory.delete(ids["deleted"])
memory._upsert_entity("Deploys", "NOUN", ids["changed"], {"agent_id": "worker_a"})
for number in range(25):
    add(f"rule {number}", f"Rule {number} of worker_b.", agent_id="worker_b")

results: list[object] = []
for owner in (
    {"agent_id": "worker_a"},
    {"agent_id": "worker_b"},
    {"agent_id": "elsewhere"},
    {"user_id": "alice"},
):
    results += memory.get_all(filters=owner, top_k=1000)["results"]
save("all.json", {"results": results})
save("list.json", results)
save("default.json", memory.get_all(filters={"agent_id": "worker_b"}))
# What JSON does not have can be stored, but not be exported.
add("dated", "The lease ends soon.", agent_id="worker_a", metadata={"ends": datetime(2027, 1, 1)})
print(json.dumps(ids), flush=True)

if sys.argv[2:] == ["stay"]:
    for line in sys.stdin:
        add(line.strip(), line.strip(), agent_id="worker_a")
        print(ids[line.strip()], flush=True)
memory.close()
memory.vector_store.client.close()
