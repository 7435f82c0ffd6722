"""Changes: what is different in a tokenizer from one version of it to the next, in its parts and in what it does."""
