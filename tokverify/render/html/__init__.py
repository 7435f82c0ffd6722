"""What all pages of the `html` format share; the templates and scripts of a kind of report are in its package.

A page needs no network. It is complete without scripts, except that failing cases are only named; the scripts draw the
tokens of a case when it is opened, and filter cases. Every text has passed `visible` before it gets here.
"""
