"""Read sentencepiece models."""
