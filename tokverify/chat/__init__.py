"""Render conversations with a file's chat templates and the reference's, and compare texts and ids."""
