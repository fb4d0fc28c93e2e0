"""Skills that agents save: their code read, written, tested, imported."""
