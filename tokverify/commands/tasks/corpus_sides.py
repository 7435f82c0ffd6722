"""Open what a corpus is verified with: a model and its reference, or only the model if the corpus contains ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from tokverify.commands.tasks.opening import open_model, open_reference
from tokverify.compare.limits.explaining import Explainer, explainer_of
from tokverify.compare.opened import OpenedModel, OpenedReference, engine_version, python_version
from tokverify.corpus.cause import Classifier
from tokverify.corpus.check import Checker, TokenizerChecker
from tokverify.corpus.example import Comparison
from tokverify.corpus.observe import Observation
from tokverify.corpus.tokenized import TokenizedChecker
from tokverify.corpus.work import Worker
from tokverify.errors import TokverifyError
from tokverify.report.diagnosis import Diagnosis
from tokverify.report.run import CaseResult, Side
from tokverify.texts.mode import Mode, Modes
from tokverify.tokenizer import Tokenizer
from tokverify.version import __version__

if TYPE_CHECKING:
    from tokverify.corpus.plan import Plan, Request


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Both sides of a comparison, and what is asked of them."""

    request: Request
    model: OpenedModel
    reference: OpenedReference | None
    """None if the corpus contains the ids to compare with those of the model."""

    @property
    def mode(self) -> Mode:
        """The options to encode with."""
        return Mode(self.request.add_special, self.request.parse_special)

    @property
    def expected(self) -> Tokenizer:
        """The tokenizer that is assumed to be right."""
        return self.reference.tokenizer if self.reference else self.model.encoder

    def identity(self) -> dict[str, str]:
        """Return everything besides the files that the results depend on, by names for the user."""
        return {
            "the model": self.model.encoder.fingerprint,
            "the reference": self._describe_reference(),
            "the engine": engine_version(self.model.encoder)["engine"],  # the Python engine examines less
            "the version of tokverify": __version__,
            **self._versions(),
            "--text-column": self.request.columns.text or "",
            "--ids-column": self.request.columns.ids or "",
            "--bos-eos": str(self.request.add_special),
            "--parse-special": str(self.request.parse_special),
            "--sample": str(self.request.rate),
            "--distill": str(self.request.keeps_excerpts),
        }

    def make_worker(self) -> Worker:
        """Return what processes the units."""
        observation = Observation(self.model.encoder, self.mode, self.request.keeps_excerpts)
        return Worker(self._make_checker(), self.request.columns, self.request.rate, observation)

    def compare(self, plan: Plan, judge: str | None = None) -> Comparison:
        """Describe what was compared, for a report; `judge` is the location of a third tokenizer.

        Raises:
            TokverifyError: If the third tokenizer cannot be opened.
        """
        encoder = self.model.encoder
        modes = Modes(encoder, self.expected)
        return Comparison(
            actual=encoder,
            expected=self.expected,
            sides=self._sides(),
            mode=modes.choose("", self.mode),
            judge=open_reference(self.model, judge).tokenizer if judge else None,
            explain=self._explain,
            limits=self._limits(),
            reads_ids=self.reference is None,
            notes=(*plan.notes, *modes.summary),
            options=msgspec.to_builtins(plan.request, enc_hook=lambda location: location.text),
            versions={**engine_version(encoder), **(self.reference.versions if self.reference else python_version())},
        )

    def _make_checker(self) -> Checker:
        encoder, expected = self.model.encoder, self.expected
        classifier = Classifier(encoder, expected)
        if self.reference is None:
            return TokenizedChecker(encoder, self.mode, classifier)
        return TokenizerChecker(encoder, expected, self.mode, classifier.classify, self._limits())

    def _limits(self) -> Explainer:
        return explainer_of(self.model.encoder, self.reference) if self.reference else Explainer()

    def _describe_reference(self) -> str:
        if self.reference is None:
            return "the model itself, as the corpus contains ids"
        side = self.reference.description
        return f"{side.name} {side.fingerprint or side.sha256 or side.source}"

    def _versions(self) -> Mapping[str, str]:
        versions = self.reference.found.versions if self.reference else {}
        return {f"version of {name}": version for name, version in versions.items()}

    def _sides(self) -> tuple[Side, Side]:
        if self.reference:
            return self.model.description, self.reference.description
        column = self.request.columns.ids
        ids = Side("ids", f"the column {column}" if column else "the ids in the corpus")
        return ids, self.model.description

    def _explain(self, results: Sequence[CaseResult]) -> Diagnosis | None:
        from tokverify.commands.tasks.fuzz import explain_results

        return explain_results(self.model, self.reference, results).diagnosis if self.reference else None


def open_request(request: Request) -> Opened:
    """Open both sides.

    Raises:
        TokverifyError: If a file cannot be read, no reference is found, or one is given for ids.
    """
    model = open_model(request.model)
    if not request.reads_ids:
        return Opened(request=request, model=model, reference=open_reference(model, request.reference))
    if request.reference is not None:
        raise TokverifyError("ids in a corpus are compared with those of MODEL itself; omit --reference")
    return Opened(request=request, model=model, reference=None)


def start_worker(request: Request, identity: Mapping[str, str]) -> Worker:
    """Open both sides in the process of a worker, which may run on another machine.

    Raises:
        TokverifyError: If they are not those of the plan.
    """
    opened = open_request(request)
    changed = [name for name, value in opened.identity().items() if identity.get(name) != value]
    if changed:
        raise TokverifyError(f"{request.model.text}: a worker has other files or versions: {', '.join(changed)}")
    return opened.make_worker()
