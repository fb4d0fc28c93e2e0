"""One program while it runs, on whatever backend: supervised, watched, in a session, in a workspace."""
