"""Formats of `tokverify explain`."""
