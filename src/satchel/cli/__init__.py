"""The command line: one file per group of commands; output.py is the only place that prints."""
