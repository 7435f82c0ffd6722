"""All kinds of reports that can be presented in several formats, by the name of the command that writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokverify.render.presentation import Presentation


def _present_run(report: Any) -> Presentation:  # noqa: ANN401 - the type of the report depends on its kind
    from tokverify.render import present

    return present(report)


def _present_fuzz(report: Any) -> Presentation:  # noqa: ANN401
    from tokverify.render.fuzz import present

    return present(report)


def _present_diff(report: Any) -> Presentation:  # noqa: ANN401
    from tokverify.render.diff import present

    return present(report)


def _present_audit(report: Any) -> Presentation:  # noqa: ANN401
    from tokverify.render.audit import present

    return present(report)


def _present_chat(report: Any) -> Presentation:  # noqa: ANN401
    from tokverify.render.chat import present

    return present(report)


def _present_stats(report: Any) -> Presentation:  # noqa: ANN401
    from tokverify.render.stats import present

    return present(report)


PRESENTERS: Mapping[str, Callable[[Any], Presentation]] = {
    "run": _present_run,
    "fuzz": _present_fuzz,
    "diff": _present_diff,
    "audit": _present_audit,
    "chat": _present_chat,
    "stats": _present_stats,
}
"""Kind of a report -> the function that binds one to its formats."""
