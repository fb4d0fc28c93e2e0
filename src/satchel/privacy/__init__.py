"""Personal data: what is found in text and JSON, and the tokens that stand for it. Pure functions, no I/O."""
