from pathlib import Path

import pytest

from support.hub_fixtures import hub, pauses

__all__ = ["hub", "pauses"]


@pytest.fixture
def files(tmp_path) -> Path:
    """A directory for the files in repositories."""
    directory = tmp_path / "files"
    directory.mkdir()
    return directory
