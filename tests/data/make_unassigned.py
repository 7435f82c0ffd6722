"""Print the code points that Unicode 15.1 leaves unassigned, as kept in `tokverify/engine/unassigned.txt`.

Run it with Python 3.13, whose `unicodedata` is of that version: `python3.13 tests/data/make_unassigned.py`.
"""

import itertools
import sys
import textwrap
import unicodedata


def unassigned_ranges() -> str:
    if unicodedata.unidata_version != "15.1.0":
        sys.exit(f"this Python has Unicode {unicodedata.unidata_version}; 15.1.0 is needed")
    code_points = (point for point in range(sys.maxunicode + 1) if unicodedata.category(chr(point)) == "Cn")
    ranges = []
    for _, group in itertools.groupby(enumerate(code_points), key=lambda pair: pair[1] - pair[0]):
        points = [point for _, point in group]
        ranges.append(f"{points[0]:X}" if len(points) == 1 else f"{points[0]:X}-{points[-1]:X}")
    return "\n".join(textwrap.wrap(" ".join(ranges), 100, break_on_hyphens=False))


if __name__ == "__main__":
    print(unassigned_ranges())
