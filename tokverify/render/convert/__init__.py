"""`tokverify convert` in all formats."""
