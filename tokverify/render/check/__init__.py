"""Showing what `tokverify check` found, in all formats."""
