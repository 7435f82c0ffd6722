"""`tokverify fuzz` in all formats: those of `run`, plus what was tried and how frequent each cause is."""
