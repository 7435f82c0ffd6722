"""Repair: which change makes two tokenizers agree?"""
