"""Compare two versions of a tokenizer: their parts and their behavior."""
