"""`tokverify stream` in all formats."""
