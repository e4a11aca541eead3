"""Formats: one a file, reader and writer together."""
