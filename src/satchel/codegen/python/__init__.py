"""One server as a Python package."""
