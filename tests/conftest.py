"""Fixtures for real data, which lives outside the repository (see CONTRIBUTING.md)."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("TOKVERIFY_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    if not (SHARED / "vocabs").is_dir():
        pytest.skip(f"no real vocabularies: {SHARED} is absent; set TOKVERIFY_SHARED")
    return SHARED


@pytest.fixture(scope="session")
def vocabs(shared: Path) -> Path:
    return shared / "vocabs"
