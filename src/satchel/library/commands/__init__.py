"""Commands: prompts that a person invokes by their names. Nothing in them is ever run on this machine."""
