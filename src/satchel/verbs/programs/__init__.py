"""One run of a program, with what is recorded of it."""
