"""How the files of a memory are taken apart into entries, and changed: JSON, YAML, Markdown, other text."""
