"""Chat templates: render conversations with a file's template and the reference's, and compare texts and ids."""
