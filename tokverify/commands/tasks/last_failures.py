"""Remember the cases that failed, so that `--lf` can run only those."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokverify.case import Case
from tokverify.location import Location
from tokverify.report.run import Report
from tokverify.system.cache import CacheFile

_VERSION = 1


@dataclass(frozen=True, slots=True)
class LastFailures:
    """The cached names of the failing cases of one model and one reference."""

    file: CacheFile

    @classmethod
    def of(cls, model: Location, reference: Location | None) -> LastFailures:
        """Return those of a model and a reference, by location; None stands for the one that is found."""
        return cls(CacheFile.of("failures", model.text, reference.text if reference else ""))

    def select(self, cases: Sequence[Case]) -> list[Case]:
        """Return the cases that failed when they were last run; all cases if none of them did."""
        names = self._read()
        return [case for case in cases if case.name in names] or list(cases)

    def update(self, report: Report) -> None:
        """Remember which cases of a report fail; those that were not run keep their last outcome."""
        failing = {result.case.name for result in report.results if result.fails}
        not_run = self._read().difference(result.case.name for result in report.results)
        names = sorted(failing | not_run)
        self.file.write(_VERSION, {"cases": names} if names else {})

    def _read(self) -> frozenset[str]:
        names = self.file.read(_VERSION).get("cases")
        return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
