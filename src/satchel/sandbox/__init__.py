"""Where programs run: a box with one door. `guest/` has the files that run inside it."""
