"""Handle files, processes, HTTP and git."""
