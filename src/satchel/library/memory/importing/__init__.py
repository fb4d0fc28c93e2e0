"""Reading what other programs remember, above all mem0, without them and without running anything."""
