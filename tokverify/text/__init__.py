"""Escape and phrase text for people."""
