"""Write the report of `tokverify canonical`."""
