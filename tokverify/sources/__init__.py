"""Read tokenizer files into a TokenizerSpec, and write them."""
