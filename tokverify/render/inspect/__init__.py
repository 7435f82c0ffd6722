"""Formats of `tokverify inspect`."""
