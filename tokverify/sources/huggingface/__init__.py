"""HuggingFace tokenizer.json files.

This imports nothing, so that a reference, which needs little of it, does not have to wait for the rest.
"""
