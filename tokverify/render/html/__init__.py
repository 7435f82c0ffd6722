"""The `html` format: one page that needs no network, for a close look.

The page is complete without scripts, except that failing cases are only named; the scripts draw the tokens of a case
when it is opened, and filter cases. Every text has passed `visible` before it gets here.
"""
