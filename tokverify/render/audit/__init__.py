"""`tokverify audit` in all formats."""
