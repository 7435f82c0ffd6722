"""The live page of `tokverify view`."""
