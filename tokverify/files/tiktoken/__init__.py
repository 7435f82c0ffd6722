"""Read tiktoken vocabularies."""
