"""Write valid and invalid suites to files, and collect the error messages about them."""

from pathlib import Path

import pytest

from tokverify.cases.loading import load_cases
from tokverify.errors import TokverifyError

ONE_CASE = "cases: [{id: a, text: x}]\n"


def write(directory: Path, text: str, name: str = "suite.yaml") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def complaints(path: Path) -> list[str]:
    with pytest.raises(TokverifyError) as caught:
        load_cases([path])
    return str(caught.value).splitlines()
