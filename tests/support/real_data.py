"""The location of the real vocabularies, outside the repository (see CONTRIBUTING.md)."""

import os
from pathlib import Path

from support.paths import ROOT

SHARED = Path(os.environ.get("TOKVERIFY_SHARED", ROOT.parent / "shared"))
