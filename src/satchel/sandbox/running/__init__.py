"""One program while it runs, on any backend: supervised, watched, in a session, in a workspace."""
