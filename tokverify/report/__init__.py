"""Hold every kind of report as plain data."""
