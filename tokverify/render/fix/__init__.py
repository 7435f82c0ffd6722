"""Describe the reports of `tokverify fix`."""
