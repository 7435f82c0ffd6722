"""Fuzzing: make texts by the thousand, find those that two tokenizers encode otherwise, and shrink them."""
