"""Escape and phrase what people read."""
