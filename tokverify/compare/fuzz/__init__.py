"""Fuzzing: generate thousands of texts, find those that two tokenizers encode differently, and shrink them."""
