"""`tokverify chat` in all formats."""
