"""The rules: one a file."""
