"""Encode and decode like the C++ hybrid tokenizer."""
