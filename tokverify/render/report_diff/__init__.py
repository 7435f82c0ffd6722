"""`tokverify report diff` in all formats."""
