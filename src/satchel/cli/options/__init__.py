"""The options of commands by subject, for cli/parser.py, which has those of the rest."""
