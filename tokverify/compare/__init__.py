"""Compare two tokenizers over cases."""
