"""Draw an inspection, or a list of tokens, for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, JustifyMethod, RenderableType
from rich.text import Text

from tokverify.render.layout import DIM, Columns, bulleted, draw, exact, exact_or_folded, labeled, words
from tokverify.render.options import RenderOptions
from tokverify.report.inspect import CategorySummary, Inspection, TokenDetails, TokenList, TokenRun
from tokverify.text.visible import visible
from tokverify.text.wording import overrides_title, plural

_MAX_RUNS = 15
_MAX_TOKENS = 1000
_MAX_SENTENCE = 300
_MAX_PIECE = 20
"""Characters shown of a piece."""


def render(inspection: Inspection, options: RenderOptions) -> str:
    """Draw an inspection as tables."""
    sections = [
        labeled(_heading(inspection)),
        _types(inspection, verbose=options.verbose),
        *([_categories(inspection.categories)] if inspection.categories else []),
        _special(inspection),
        _flags(inspection),
    ]
    if inspection.overrides:
        title = Text(f"{overrides_title(len(inspection.overrides))}:", "yellow")
        lines = bulleted(words(_fold(override.sentence)) for override in inspection.overrides)
        sections.append(Group(title, lines))
    return draw(sections, options)


def render_tokens(listed: TokenList, options: RenderOptions) -> str:
    """Draw a list of tokens, one per line, and their number."""
    tokens = listed.tokens
    has_categories = any(token.category for token in tokens)
    shown = Columns(*_columns(has_categories=has_categories))
    for token in tokens[:_MAX_TOKENS]:
        bytes = token.token_bytes
        shown.add_row(
            str(token.id),
            exact_or_folded(token.piece, fold=not options.verbose) if token.piece else Text("(no piece)", DIM),
            Text("(unknown)", DIM) if bytes is None else exact_or_folded(bytes, fold=not options.verbose),
            Text("" if bytes is None else _format_bytes(bytes, verbose=options.verbose), DIM, overflow="fold"),
            _type(token),
            "" if token.score is None else f"{token.score:g}",
            *([token.category] if has_categories else []),
        )
    left_out = len(tokens) - _MAX_TOKENS
    more = [Text(f"... {left_out:,} more, shown with --json ...", DIM)] if left_out > 0 else []
    return draw([shown, *more, Text(plural(len(tokens), "token"), "bold")], options)


def _columns(*, has_categories: bool) -> Iterator[tuple[str, JustifyMethod]]:
    yield "id", "right"
    yield from ((name, "left") for name in ("piece", "stands for", "bytes", "type"))
    yield "score", "right"
    if has_categories:
        yield "category", "left"


def _format_bytes(bytes: bytes, *, verbose: bool) -> str:
    most = len(bytes) if verbose else 2 * _MAX_PIECE
    return bytes[:most].hex(" ") + ("…" if len(bytes) > most else "")


def _type(token: TokenDetails) -> Text:
    declared = token.declared or "undeclared"
    if token.effective in {None, declared}:
        return Text(declared)
    return Text(f"{declared}, effective {token.effective}", "yellow", overflow="fold")


def _heading(inspection: Inspection) -> Iterator[tuple[str, Text]]:
    yield "file", words(inspection.source, "bold")
    if inspection.refusal is not None:
        yield "not loaded", words(_fold(inspection.refusal), "bold red")
        yield "", Text("below is what the file declares, as far as it can be read")
    algorithm = f", algorithm {inspection.algorithm}" if inspection.algorithm else ""
    yield "model", words(f"{_value(inspection.model)}{algorithm}")
    if not inspection.in_llama_cpp:
        yield "", Text("supported by tokverify only; llama.cpp cannot load this file", "yellow")
    if inspection.needs:
        yield "needs", words(inspection.needs, "yellow")
    if inspection.changes:
        yield "other ids", words(inspection.changes)
    yield "pre-tokenizer", words(_pre_tokenizer(inspection))
    yield "sizes", words("; ".join(_sizes(inspection)))
    if worst := inspection.worst_case:
        example = f", as {', '.join(f'U+{ord(each):04X}' for each in worst.text)} needs" if worst.text else ""
        most = f"at most {plural(worst.per_byte, 'token')} per byte and {worst.per_character} per character{example}"
        yield "worst case", Text(f"{most}; {worst.around} more for the whole text" if worst.around else most)
    else:
        yield "worst case", Text("not proven: how many tokens a character can need is not known of this tokenizer")
    if inspection.fingerprint:
        yield "fingerprint", Text(inspection.fingerprint, DIM)
    length = inspection.chat_template_length
    yield "chat template", Text("none" if length is None else f"{length:,} characters")
    if inspection.has_huggingface_json:
        yield "embedded", Text("the model's tokenizer.json, as tokenizer.huggingface.json")
    label = "sources"
    for key, value in inspection.sources.items():
        yield label, words(f"{_value(key)}: {_value(value)}", DIM)
        label = ""


def _pre_tokenizer(inspection: Inspection) -> str:
    declared = "not declared" if inspection.pre_declared is None else f"declared {_value(inspection.pre_declared)}"
    if inspection.pre_effective is None:
        return declared
    return f"{declared}, effective {inspection.pre_effective or 'none, because the model uses none'}"


def _sizes(inspection: Inspection) -> Iterator[str]:
    yield plural(inspection.tokens, "token")
    if inspection.refusal is None:
        yield plural(inspection.added_tokens, "added token")
    yield "no merges" if inspection.merges is None else plural(inspection.merges, "merge")
    yield (
        "no scores"
        if inspection.scores is None
        else f"scores from {inspection.scores[0]:g} to {inspection.scores[1]:g}"
    )
    if inspection.charsmap_bytes is not None:
        entries = inspection.charsmap_entries
        of_entries = "" if entries is None else f" ({plural(entries, 'entry', 'entries')})"
        yield f"a charsmap of {plural(inspection.charsmap_bytes, 'byte')}{of_entries}"


def _types(inspection: Inspection, *, verbose: bool) -> RenderableType:
    shown = Columns(("type", "left"), ("ids", "left"), ("tokens", "right"), ("pieces", "left"))
    for summary in inspection.types:
        runs = summary.runs if verbose or len(summary.runs) <= _MAX_RUNS + 1 else summary.runs[:_MAX_RUNS]
        if len(summary.runs) > 1:
            shown.add_row(words(summary.name, "bold"), Text("all", DIM), Text(f"{summary.count:,}", "bold"), "")
        for run in runs:
            name = words(summary.name, "bold") if len(summary.runs) == 1 else Text("")
            ids = str(run.first) if _count(run) == 1 else f"{run.first}-{run.last}"
            shown.add_row(name, ids, f"{_count(run):,}", _draw_pieces(run))
        left_out = len(summary.runs) - len(runs)
        if left_out:
            shown.add_row("", Text(f"... {left_out:,} more runs, shown with -v ...", DIM), "", "")
    return shown


def _categories(categories: Sequence[CategorySummary]) -> RenderableType:
    shown = Columns(("category", "left"), ("ids", "left"), ("tokens", "right"))
    for category in categories:
        shown.add_row(Text(category.name), f"{category.first}-{category.last}", f"{category.count:,}")
    return shown


def _count(run: TokenRun) -> int:
    return run.last - run.first + 1


def _draw_pieces(run: TokenRun) -> Text:
    if _count(run) == 1:
        return _draw_run_piece(run.first_piece, run)
    return Text.assemble(
        _draw_run_piece(run.first_piece, run), (" to ", DIM), _draw_run_piece(run.last_piece, run), overflow="fold"
    )


def _draw_run_piece(piece: str, run: TokenRun) -> Text:
    if run.repeated is not None and len(piece) > 1:
        return Text.assemble(exact(run.repeated), (f" × {len(piece):,}", DIM))
    if not piece:
        return Text("(no piece)", DIM)
    if len(piece) <= _MAX_PIECE:
        return exact(piece)
    return Text.assemble(exact(piece[:_MAX_PIECE]), (f"… ({len(piece):,} characters)", DIM))


def _special(inspection: Inspection) -> RenderableType:
    shown = Columns(("role", "left"), ("id", "right"), ("piece", "left"), ("", "left"))
    for token in inspection.special:
        origin = Text("declared") if token.declared else words(_fold(token.reason) or "found by its text", "yellow")
        piece = _draw_piece(token.piece) if token.id < inspection.tokens else Text("(no such token)", "bold red")
        shown.add_row(token.role, str(token.id), piece, origin)
    if inspection.refusal is not None:
        return shown if inspection.special else Text("no special tokens are declared")
    ends = Text.assemble("ends generation: ", overflow="fold")
    for index, ending in enumerate(inspection.eog):
        ends.append_text(Text.assemble(", " if index else "", f"{ending.id} ", _draw_piece(ending.piece)))
    return Group(shown, Text(), ends if inspection.eog else Text("no token ends generation", "yellow"))


def _draw_piece(piece: str) -> Text:
    return exact_or_folded(piece, fold=True)


def _flags(inspection: Inspection) -> RenderableType:
    shown = Columns(("flag", "left"), ("declared", "left"), ("effective", "left"), ("", "left"))
    for flag in inspection.flags:
        differs = flag.effective is not None and bool(flag.declared) != flag.effective
        shown.add_row(
            flag.name,
            _format_flag(flag.declared),
            Text(_format_flag(flag.effective), "yellow" if differs else ""),
            words(_fold(flag.reason), DIM),
        )
    return shown


def _fold(text: str) -> str:
    return text if len(text) <= _MAX_SENTENCE else f"{text[:_MAX_SENTENCE]}… ({len(text):,} characters)"


def _value(text: str) -> str:
    """Quote a value from the file."""
    return visible(_fold(text), mark_spaces=False)


def _format_flag(value: bool | None) -> str:
    return "-" if value is None else str(value).lower()
