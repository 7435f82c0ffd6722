"""`tokverify stats` in all formats."""
