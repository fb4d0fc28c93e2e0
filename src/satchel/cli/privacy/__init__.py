"""The commands about personal data."""
