"""`tokverify diff` in all formats."""
