"""Write a first configuration and a workflow for a repository."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tokverify.commands.project.configuration_file import repository_of, require_own
from tokverify.commands.project.installation import Installation, plan_installation
from tokverify.commands.project.start import (
    CONFIGURATION,
    WORKFLOW,
    Start,
    render_configuration,
    render_workflow,
    survey,
)
from tokverify.errors import TokverifyError
from tokverify.system.output_file import require_outside_git, write_files


class Initialization(NamedTuple):
    """What was found, and the files that were written for it."""

    start: Start
    files: tuple[Path, ...]
    installation: Installation
    """How the workflow installs tokverify."""


def init_project(directory: Path, *, force: bool = False) -> Initialization:
    """Write a tokverify.toml and a GitHub workflow for the tokenizers and suites in a directory.

    Args:
        directory: The directory to configure.
        force: Overwrite existing files.

    Returns:
        What was found, and the files that were written.

    Raises:
        TokverifyError: If there is no such directory, no tokenizer in it, or a file exists already.
    """
    if not directory.is_dir():
        raise TokverifyError(f"{directory}: no such directory; create it first")
    start = survey(directory)
    workflow = start.root / WORKFLOW
    installation = plan_installation(start.root)
    texts = {
        directory / CONFIGURATION: render_configuration(start),
        workflow: render_workflow(start, installation.command),
    }
    for path in texts:
        require_own(path, repository_of(directory / CONFIGURATION))
    existing = [str(path) for path in texts if path.exists()]
    if existing and not force:
        verb, object = ("exists", "it") if len(existing) == 1 else ("exist", "them")
        raise TokverifyError(
            f"{', '.join(existing)}: already {verb}; move {object} away, or overwrite {object} with --force"
        )
    require_outside_git(workflow)
    workflow.parent.mkdir(parents=True, exist_ok=True)
    write_files(texts)
    return Initialization(start, tuple(texts), installation)
