"""Read cases from YAML suites."""
