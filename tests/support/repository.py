"""Make git repositories that contain versions of a tokenizer."""

import shutil
import subprocess
from pathlib import Path

from support.paths import SAMPLE

ODD = "a dir/日本/mödel é.gguf"


def git(*arguments: str, directory: Path | None = None) -> str:
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout


def make_versions(work: Path, origin: Path, attributes: str = "") -> None:
    git("init", "-q", "--bare", "-b", "main", str(origin))
    git("clone", "-q", origin.as_uri(), str(work))
    git("checkout", "-q", "-b", "main", directory=work)
    if attributes:
        git("lfs", "install", "--local", directory=work)
        (work / ".gitattributes").write_text(attributes)
    (work / ODD).parent.mkdir(parents=True)
    shutil.copy(SAMPLE / "sample.tokenizer.model", work / "tokenizer.model")
    for name in ("sample.gguf", "sample-broken.gguf"):
        for place in ("model.gguf", ODD):
            shutil.copy(SAMPLE / name, work / place)
        git("add", ".", directory=work)
        git("commit", "-qm", name, directory=work)
    git("push", "-q", "origin", "main", directory=work)
