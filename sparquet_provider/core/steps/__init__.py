"""The transformations: one a file; fields, documentation and behaviour together."""
