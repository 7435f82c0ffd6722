"""Make the picture in README.md: run `PYTHONPATH=tests python tests/support/make_svg.py` in the root of the checkout.

It shows the end of the real output of the command in its title, as a terminal of 100 columns would.
"""

import re
from contextlib import chdir
from io import StringIO

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from support.paths import ROOT, SAMPLE
from tokverify.cases.loading import select_cases
from tokverify.commands.tasks.run import verify_model
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions

PICTURE = ROOT / "docs/images/run.svg"
MODEL, REFERENCE, CASE = "sample-broken.gguf", "sample.tokenizer.json", "spaces/hello-three"
WIDTH = 100

# The fonts of rich's own format come from the network.
_FORMAT = re.sub(r"\s*@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def draw() -> str:
    """Return the picture."""
    options = {"model": MODEL, "reference": REFERENCE, "patterns": [CASE]}
    with chdir(SAMPLE):
        report = verify_model(MODEL, REFERENCE, select_cases(patterns=[CASE]), diagnose=True, options=options)
        shown = FORMATS["run"]["table"](report, RenderOptions(width=WIDTH, color=True))
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    lines = Text.from_ansi(shown).split("\n")
    start = next(index for index, line in enumerate(lines) if line.plain.startswith("MISMATCH"))
    console.print(Text("\n").join(lines[start:]))
    title = f"tokverify run {MODEL} -r {REFERENCE} -k {CASE}"
    return console.export_svg(title=title, theme=DIMMED_MONOKAI, code_format=_FORMAT, unique_id="run") + "\n"


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
