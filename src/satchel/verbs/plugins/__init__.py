"""The verbs for what plugins bring: commands, and plugins as Python reads them."""
