"""Repair a GGUF file so that its tokenizer agrees with a reference."""
