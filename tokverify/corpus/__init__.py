"""Verify whole corpora, in units that workers process independently of each other."""
