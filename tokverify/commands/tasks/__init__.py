"""Perform user-level operations: open files, call the packages below, return a report."""
