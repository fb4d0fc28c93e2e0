"""Where programs run. `guest/` has the files that run inside."""
