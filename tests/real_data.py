"""Where the real vocabularies are, which lie outside the repository (see CONTRIBUTING.md)."""

import os
from pathlib import Path

SHARED = Path(os.environ.get("TOKVERIFY_SHARED", Path(__file__).parents[2] / "shared"))
