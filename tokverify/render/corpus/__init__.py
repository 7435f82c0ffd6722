"""`tokverify corpus` in all formats: counts by cause, source and script, and examples drawn as `run` draws cases."""
