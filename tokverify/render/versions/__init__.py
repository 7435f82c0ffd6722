"""`tokverify versions` in all formats."""
