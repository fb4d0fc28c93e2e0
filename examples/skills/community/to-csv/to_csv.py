import csv
import io
import json


def to_csv(rows: list, columns: list | None = None) -> str:
    """Records as CSV, with a heading. What is nested gets a column for each value: `owner.name`.

    Without `columns`, there is one for each key, in the order in which keys appear. Lists become JSON.
    """
    flat = [_flat(row) for row in rows]
    columns = columns or list(dict.fromkeys(key for row in flat for key in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return out.getvalue()


def _flat(row: dict, before: str = "") -> dict:
    found: dict = {}
    for key, value in row.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = json.dumps(value) if isinstance(value, list) else value
    return found
