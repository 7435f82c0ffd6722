"""`tokverify learn` in all formats."""
