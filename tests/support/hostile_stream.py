"""A report of `tokverify stream` with every fault, in which every text is an attack."""

from support.hostile_finding import HOSTILE
from tokverify.report.side import Side
from tokverify.report.stream import Reach, StreamedSide, StreamFailure, StreamFault, StreamMethod, StreamReport


def hostile_stream(text: str = HOSTILE) -> StreamReport:
    """Make a report in which everything goes wrong on both sides; every text in it is `text`."""
    failures = tuple(
        StreamFailure(
            case=f"suite/{fault}",
            fault=fault,
            resumed_at=None if fault is StreamFault.ERROR else 1,
            ids=(1, 2, 3),
            expected=text,
            streamed=text[::-1],
            others=2,
            extended_to=2 if fault is StreamFault.EXTENDED else None,
        )
        for fault in StreamFault
    )
    sides = tuple(
        StreamedSide(
            side=Side(name=text, source=text),
            method=method,
            texts=1000,
            ids=50_000,
            resumptions=77,
            failures=failures,
            skipped={text: 3},
            extensions=900,
            sessions=True,
            reaches=(Reach(text, text, text, len(text), 3),),
        )
        for method in StreamMethod
    )
    return StreamReport(sides=sides, options={"cases": text})
