"""Compare two tokenizers on a corpus of any size, in units that workers process independently."""
