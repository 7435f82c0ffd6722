"""Showing the way of a text through a tokenizer: `tokverify explain`."""
