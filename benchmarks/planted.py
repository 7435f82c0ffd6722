"""Plant wrong ids in a large corpus, and check that `tokverify corpus` finds them, with their causes, and nothing else.

    python benchmarks/planted.py llama-spm.gguf data/ --megabytes 1000 -j 2

Half of the files are Parquet, the others JSON Lines. One document in each has ids that are wrong, in turn for another
Unicode form, a marker that was not recognized, a doubled BOS, and a missing BOS. The model must add BOS, and have the
marker `<s>`. The exit code is 1 if anything is missed, has another cause, or is reported in another place.
"""

import argparse
import sys
from pathlib import Path

from corpus_data import WRITERS, write_corpus

from tokverify import open_model
from tokverify.commands.tasks.corpus import verify_corpus
from tokverify.report.corpus import CorpusReport


def list_found(report: CorpusReport) -> set[tuple[str, str]]:
    """Return the cause and the place of each example."""
    places = {example.case: example.place for example in report.examples}
    return {(str(cause.cause), places[case]) for cause in report.causes for case in cause.cases}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("directory", type=Path, help="where to write the corpus")
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--files", type=int, default=8, help="at most 20, as a report has five examples of each cause")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    options = parser.parse_args()
    encoder = open_model(options.model).encoder
    planted = write_corpus(options.directory, options.megabytes, options.files, list(WRITERS), encoder)
    wanted = {(each.cause, f"{options.directory / each.file}: {each.place}") for each in planted}
    report = verify_corpus(options.model, None, [options.directory], text="text", ids="ids", jobs=options.jobs)
    found = list_found(report)
    for cause, place in sorted(wanted | found):
        state = "found" if (cause, place) in wanted & found else "MISSED" if (cause, place) in wanted else "WRONG"
        print(f"{state:7} {cause:14} {place}")
    print(f"{report.documents:,} documents, {report.bytes:,} bytes: {report.differing} differ, {len(wanted)} planted")
    sys.exit(0 if wanted == found and report.differing == len(wanted) and not report.unreadable else 1)


if __name__ == "__main__":
    main()
