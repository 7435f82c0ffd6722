"""Showing what `tokverify run` found, alone and as a part of what other commands did; html/ and json.py do, too."""
