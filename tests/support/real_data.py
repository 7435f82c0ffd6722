"""The location of the real vocabularies, outside the repository (see CONTRIBUTING.md)."""

import os
from pathlib import Path

from support.paths import ROOT

SHARED = Path(os.environ.get("TOKVERIFY_SHARED", ROOT.parent / "shared"))
REAL = Path(os.environ.get("TOKVERIFY_REAL", "/nowhere"))
"""The tokenizers that shared/real fetches, with the files that llama.cpp's converter makes of them in `gguf`."""
