"""The settings about personal data."""
