"""The texts that a model reads."""
