"""The offer of every configured server: one immutable snapshot, cached on disk, so that nobody waits."""

from satchel.catalog.catalog import Catalog
from satchel.catalog.snapshot import Snapshot

__all__ = ["Catalog", "Snapshot"]
