"""Read, patch and write GGUF metadata."""
