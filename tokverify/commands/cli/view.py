"""`tokverify view`: serve a live page that compares two tokenizers while you type."""

from __future__ import annotations

from pathlib import Path

import click

from tokverify.commands.cli.locations import PATH
from tokverify.commands.cli.options import reference_option
from tokverify.commands.cli.parameters import argument, named, option
from tokverify.commands.cli.stream import write_stderr


@click.command()
@named(
    model=argument(type=PATH, required=False),
    reference=reference_option("to compare with", "; detected by default"),
    port=option(
        "--port", type=click.IntRange(0, 65535), default=0, metavar="PORT", help="Serve on this port of 127.0.0.1."
    ),
    no_browser=option("--no-browser", is_flag=True, help="Only print the address, and open no browser."),
)
def view(*, model: Path | None, reference: str | None, port: int, no_browser: bool) -> int:
    """Compare two tokenizers in the browser while you type.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN; without
    it, a bundled sample with a fault is shown. The page opens with the first text that differs, and also opens saved
    reports. It is served on this machine only, at a secret address. Press Ctrl-C to stop.
    """
    from tokverify.commands.tasks.view import serve_view

    server = serve_view(model, reference, port=port)
    click.echo(server.url)
    write_stderr("Press Ctrl-C to stop.")
    if not no_browser:
        click.launch(server.url)
    try:
        server.serve()
    except KeyboardInterrupt:
        # This is how the page is meant to end.
        return 0
    return 0
