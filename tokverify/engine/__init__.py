"""Encode and decode exactly like llama.cpp."""
