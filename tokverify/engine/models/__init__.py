"""The models, one encoding algorithm per file; each family builds its own (`tokverify.engine.families`)."""
