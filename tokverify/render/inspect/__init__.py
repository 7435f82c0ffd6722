"""Showing what a tokenizer file holds: `tokverify inspect`."""
