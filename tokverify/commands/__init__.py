"""Commands: what the user wants."""
