"""What all pages of the `html` format share, and the template of every page but those of `run` and `view`.

A page needs no network. It is complete without scripts, except that the page of `run` then only names failing cases.
Every text has passed `visible` before it gets here.
"""
