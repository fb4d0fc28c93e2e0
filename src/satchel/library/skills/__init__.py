"""Skills as files: found, read, checked."""
