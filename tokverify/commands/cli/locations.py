"""Types of arguments and options: files to read and write, and tokenizers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class FilePath(click.Path):
    """A path that must not be empty, since Python treats the empty path as the current directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """Reject an empty name."""
        if value == "":
            self.fail("the name is empty; name a file or a directory", param, ctx)
        return super().convert(value, param, ctx)


class _ProductPath(FilePath):
    """The path of a file to write that is not a report."""

    def __init__(self, content: str, suffix: str) -> None:
        super().__init__(path_type=Path)
        self._content = content
        self._suffix = suffix

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """Reject a name that promises another kind of file."""
        from tokverify.render.kinds import SUFFIXES

        suffix = Path(value).suffix
        if suffix.lower() in SUFFIXES:
            self.fail(
                f"{Path(value)} will be {self._content}; end its name in {self._suffix} instead of {suffix}", param, ctx
            )
        return super().convert(value, param, ctx)


class _Location(FilePath):
    """The path of a model, or the location of a tokenizer that is not a file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """Keep a location such as the address of a server as it is, since a path would drop one of its slashes."""
        from tokverify.references import is_location

        return value if isinstance(value, str) and is_location(value) else super().convert(value, param, ctx)


class _Model(_Location):
    """The path or location of a model, or the name of a configured one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """Replace the name of a configured model, unless there is such a file, by the path of the model."""
        path = super().convert(value, param, ctx)
        is_name = not isinstance(path, str) and Path(value).name == str(value) and not Path(value).exists()
        if not is_name or (ctx and ctx.resilient_parsing):
            return path
        from tokverify.commands.cli.configured import find_configured  # takes longer than reading a small file

        configured = find_configured(Path(value), allow_outside=True)
        if configured and not (ctx and any(option.name == "allow_outside" for option in ctx.command.params)):
            # A command with that option checks this itself, once it knows all options.
            configured = find_configured(Path(value))
        return configured.model if configured else path


PATH = FilePath(path_type=Path)
GGUF_PATH = _ProductPath("a GGUF file", ".gguf")
SUITE_PATH = _ProductPath("a YAML suite", ".yaml")
LOCATION = _Location(path_type=Path)
MODEL = _Model(path_type=Path)
