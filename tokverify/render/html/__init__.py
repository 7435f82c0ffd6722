"""The `html` format: one page that needs no network, for a person who wants to look closely.

What Python writes is complete without a script, except that failing cases are only named; the scripts draw the tokens
of a case when it is opened, and filter. Every text has passed `visible` before it gets here.
"""
