"""Serve a live page on which people type a text and see both tokenizations of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from threading import Lock

from tokverify.case import Case
from tokverify.cases.loading import load_cases
from tokverify.cases.suite_writer import render_suite
from tokverify.commands.tasks.demo import BROKEN, REFERENCE, SAMPLE_DIRECTORY
from tokverify.commands.tasks.opening import ModelSource, ReferenceSource, open_model, open_reference
from tokverify.compare.comparison import compare_case, compare_cases
from tokverify.compare.opened import OpenedModel, OpenedReference
from tokverify.errors import TokverifyError
from tokverify.explain.explanation import explain
from tokverify.render.explain.table import render as draw_explanation
from tokverify.render.kinds import FORMATS, SHOWN_KINDS
from tokverify.render.options import RenderOptions
from tokverify.render.view import comparison_data, render
from tokverify.report import codec
from tokverify.report.run import Report, Status
from tokverify.system.json_input import JsonError, parse_json
from tokverify.system.local_server import Answer, LocalServer
from tokverify.text.visible import visible_message
from tokverify.texts.mode import Mode, Modes
from tokverify.tokenizer import pairs_for_display
from tokverify.version import __version__

MAX_EXPLAINED = 2_000
"""In characters; a trace of more takes long, and nothing else is answered meanwhile."""
MAX_TEXT = 100_000
"""In characters; longer texts are rejected, since nobody could read the result."""

_MAX_REPORTS = 8
_STAGES = RenderOptions(width=96)


class View:
    """Two opened tokenizers, and what the live page asks about them. Threads can share it."""

    def __init__(self, model: OpenedModel, reference: OpenedReference) -> None:
        self._model, self._reference = model, reference
        self._sides = model.description, reference.description
        self._modes = Modes(model.encoder, reference.tokenizer)
        # Not every library can be called by several threads at once.
        self._lock = Lock()
        self._reports: dict[str, bytes] = {}

    def compare(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> Report:
        """Encode a text on both sides; the report has one case, named `live/text`.

        Raises:
            TokverifyError: If the text is too long.
        """
        _require_short(text, MAX_TEXT, "the page shows")
        case = Case(id="text", suite="live", text=text, add_special=add_special, parse_special=parse_special)
        actual, expected = self._model.encoder, self._reference.tokenizer
        with self._lock:
            result = compare_case(actual, expected, case, self._sides)
            return Report(
                *self._sides,
                vocabulary=None,
                results=(result,),
                tokens=pairs_for_display(actual, expected, result.actual),
            )

    def stages(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> str:
        """Explain how a text becomes tokens on both sides, as a table, with the options of the comparison.

        Raises:
            TokverifyError: If the text is too long, or one side cannot encode it.
        """
        _require_short(text, MAX_EXPLAINED, "the page explains")
        mode = self._modes.choose(text, Mode(add_special, parse_special))
        with self._lock:
            explained = explain(self._model.encoder, text, self._reference.tokenizer, **mode._asdict())
        return draw_explanation(explained, _STAGES)

    def changed_options(self, text: str, *, add_special: bool, parse_special: bool) -> list[str]:
        """Say with which other options a text is compared, and why; empty if with those that are asked for."""
        asked = Mode(add_special, parse_special)
        chosen = self._modes.choose(text, asked)
        changed = [name for name in Mode._fields if getattr(asked, name) != getattr(chosen, name)]
        return [f"compared with {self._modes.reason(name, text)}" for name in changed]

    def page(self) -> str:
        """Return the page, which opens with the first shipped text that differs."""
        report = Report(*self._sides, vocabulary=None, results=(), versions={"tokverify": __version__})
        return render(report, self._first_case)

    @cached_property
    def _first_case(self) -> Case:
        """The first shipped case that differs; any if none does."""
        # subtle: HTML changes these characters in a text area.
        cases = [case for case in load_cases() if not {"\r", "\0"} & {*case.text}]
        with self._lock:
            results = compare_cases(self._model.encoder, self._reference.tokenizer, cases)
        return next((result.case for result in results if result.status is Status.MISMATCH), cases[0])

    def add_report(self, data: bytes) -> str:
        """Render a saved report as a page and return its path; only the latest few are kept.

        Raises:
            TokverifyError: If it is not a saved report.
        """
        saved = codec.decode(_parse(data, "the report"), SHOWN_KINDS, "the report")
        page = FORMATS[saved.kind]["html"](saved.report, RenderOptions())
        with self._lock:
            path = f"report/{len(self._reports) + 1}"
            self._reports[path] = page.encode("utf-8", "backslashreplace")
            for old in list(self._reports)[:-_MAX_REPORTS]:
                self._reports[old] = b""
        return path

    def respond(self, method: str, path: str, body: bytes) -> Answer | None:
        """Answer a request of the page; None if the path is unknown."""
        if method == "GET":
            page = self.page().encode() if path == "" else self._reports.get(path)
            return Answer(page, "text/html") if page else None
        match path:
            case "tokens":
                return self._answer_tokens(body)
            case "stages":
                text, options = _parse_request(body)
                return _answer(stages=self.stages(text, **options))
            case "report":
                return _answer(path=self.add_report(body))
        return None

    def _answer_tokens(self, body: bytes) -> Answer:
        text, options = _parse_request(body)
        report = self.compare(text, **options)
        case = replace(report.results[0].case, note="typed on the live page")
        changed = list(map(visible_message, self.changed_options(text, **options)))
        return _answer(
            **comparison_data(report), changed=changed, yaml=render_suite([case], note="Cases from the live page.")
        )


def serve_view(model: ModelSource | None = None, reference: ReferenceSource = None, *, port: int = 0) -> LocalServer:
    """Open both tokenizers and return a server of the live page on 127.0.0.1; call its `serve`.

    Without a model, the bundled sample that is broken is shown. The port is any that is free if it is 0.

    Raises:
        TokverifyError: If a tokenizer cannot be opened, or the port cannot be used.
    """
    if model is None:
        model, reference = SAMPLE_DIRECTORY / BROKEN, reference or SAMPLE_DIRECTORY / REFERENCE
    opened = open_model(model)
    view = View(opened, open_reference(opened, reference))
    # Some libraries load tables on first use, which takes as long as a second for a large vocabulary.
    view.compare("a b")
    return LocalServer(view.respond, port)


def _parse_request(body: bytes) -> tuple[str, dict[str, bool]]:
    """Return the text and the options of a request.

    Raises:
        TokverifyError: If it is not a request of the page.
    """
    request = _parse(body, "the request")
    if not isinstance(request, Mapping) or not isinstance(request.get("text"), str):
        raise TokverifyError("the request has no text")
    options = {name: request.get(name) is True for name in ("add_special", "parse_special")}
    return request["text"], options


def _require_short(text: str, limit: int, what: str) -> None:
    if len(text) > limit:
        raise TokverifyError(f"the text has {len(text):,} characters; {what} at most {limit:,}")


def _parse(data: bytes, what: str) -> object:
    try:
        return parse_json(data)
    except JsonError as error:
        raise TokverifyError(f"{what} is not JSON: {error}") from None


def _answer(**values: object) -> Answer:
    return Answer(json.dumps(values).encode())
