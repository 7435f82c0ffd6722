"""Trace one text through every stage, and summarize a tokenizer."""
