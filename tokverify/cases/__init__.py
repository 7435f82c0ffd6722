"""Read YAML suites into cases."""
