"""Texts: which text shows how two tokenizers differ?"""
