"""Measure how many tokens a tokenizer needs for different kinds of text, and how it handles numbers and spaces."""
