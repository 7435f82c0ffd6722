"""Trace one text through every stage, and describe a tokenizer at a glance."""
