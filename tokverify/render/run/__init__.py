"""Showing what `tokverify run` found, alone and as a part of what other commands did; its page is in html/."""
