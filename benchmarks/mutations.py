"""Try every mutation whose vocabulary is available, and write docs/mutations.md.

Run as `python benchmarks/mutations.py`; it takes about ten minutes.
"""

import argparse
import tempfile
from pathlib import Path

import checkout  # noqa: F401

from support.mutation import MUTATIONS
from support.mutation_trial import FUZZ_SECONDS, Outcome, is_here, try_mutation
from support.paths import ROOT
from tokverify.text.visible import visible_message

TARGET = ROOT / "docs" / "mutations.md"
HEADS = ("vocabulary", "fault", "reference", "audit", "run", "fuzz", "diagnosed", "fixed", "by ids alone", "diagnosis")
HEAD = """\
# Injected faults, and what finds and repairs them

Each row is one fault, injected into a correct vocabulary. `tests/support/mutation.py` defines the faults, and
`python benchmarks/mutations.py` writes this page. The reference is the vocabulary's own (`model`, `json`), or
tokverify's encoder with the intact file (`intact`).

- **audit**: the rules that report an error or a warning without a reference, but not for the intact file.
- **run**: how many of the shipped cases fail. If none fails, how many decode differently, which alone is not a failure.
  "refused" if the file does not load.
- **fuzz**: after how many generated texts, and seconds of CPU time, the first one fails. The limit is {seconds:.0f}
  seconds. A file that does not load cannot be fuzzed. With the intact file as reference, decoding is also compared, as
  by `tokverify fuzz --decoding`.
- **diagnosed**: whether the first explanation names the fault and explains every failing case.
- **fixed**: whether `tokverify fix` writes a file with which all shipped cases match and decode as with the intact
  file.
- **by ids alone**: the same as "diagnosed", but with a reference that returns only ids and the bytes of its tokens,
  like a llama-server. If that fails, the cell says how many cases the named cause explains.
- **diagnosis**: the first explanation, with the reference that exposes everything.

What the numbers do not show:

- Four faults were replaced by others, because neither the shipped cases nor thousands of texts written for the purpose
  showed a changed id: GPT-2's first two merges swapped, T5's `add_space_prefix` off (llama.cpp adds the space anyway if
  it removes extra ones), RWKV's `<s>` and PLaMo 2's `[P]` typed NORMAL.
- T5 is compared with its intact file. Compared with its `.model`, even the intact file fails three cases, so the
  diagnosis names a second change in addition to the injected one, and not every case matches after the repair.
- Qwen 2 with the pre-tokenizer `llama-bpe` counts as correctly diagnosed by "turning add_bos off": no token of its
  vocabulary contains two digits, so BOS is the only effect of that name that shows.
- If the reference is the intact file, or a file with its own types, merges and scores, the diagnosis can look up the
  differences. "By ids alone" measures how well it works without. It then tries merges, scores, a charsmap and
  additional tokens as trainers and converters usually write them: merges and scores in the order of the ids, and the
  charsmaps that come with sentencepiece. That list was written after it was known which of these faults could not be
  named. To check it, 19 other faults were injected afterwards, into `mpt`, `qwen2`, `gemma-3`, `gemma-4`, `llama-spm`,
  `xlnet`, `bert-bge` and `nomic-bert-moe`: 15 show in the cases, and of these, 12 are diagnosed correctly by ids alone
  and 3 in part (a charsmap, and merges of `gemma-4`, for which that version ran out of time). Scores in no order, like
  those of the invented `plamo2`, cannot be recovered from ids. The charsmap of today's sentencepiece is not that of
  T5's time, which turned U+200D into a space.
- Without such a file, the types of tokens are found by probing the reference. Two pre-tokenizers that split all failing
  texts in the same way cannot be distinguished; the one that most models use is named.

"""

SECTION = "## New faults"
"""The part of the page that benchmarks/new_faults.py updates."""

SUMMARY = """\
Of {faults} faults, {found} are found by at least one of the three, {right} are diagnosed correctly, and {repaired}
are fixed. Of the {loading} in files that load, {fuzzed} are found by fuzzing alone.

By ids alone, {bare} are diagnosed correctly; for {other}, the named cause explains only some of the cases, and for
{silent}, no cause is found.
"""


def line(outcome: Outcome) -> str:
    mutation = outcome.mutation
    best = outcome.best.sentence if outcome.best else ""
    cells = [
        mutation.vocabulary,
        mutation.name,
        (mutation.reference or "intact").rpartition(".")[2],
        ", ".join(outcome.audit),
        run(outcome),
        fuzz(outcome),
        yes(outcome.right),
        yes(outcome.repaired),
        by_ids(outcome),
        visible_message(best).replace("|", "\\|"),
    ]
    return f"| {' | '.join(cells)} |"


def run(outcome: Outcome) -> str:
    before = outcome.before
    if before.refusal:
        return "refused"
    return f"{before.fail} fail" if before.fail else f"{before.decoded_differently} decode differently"


def fuzz(outcome: Outcome) -> str:
    fuzzed = outcome.fuzz
    if fuzzed is None:
        return ""
    if not fuzzed.found:
        return f"no ({fuzzed.strings:,} strings, {fuzzed.seconds:.0f} s)"
    return f"{fuzzed.strings:,} strings, {fuzzed.seconds:.1f} s" if fuzzed.strings > 1 else "the first string"


def by_ids(outcome: Outcome) -> str:
    if outcome.right_bare or outcome.bare is None:
        return yes(outcome.right_bare)
    named = "partly, for" if outcome.named_bare else "no; another cause for"
    return f"{named} {outcome.bare.explained} of {outcome.bare.failing}"


def yes(value: bool) -> str:
    return "yes" if value else "no"


def summary(outcomes: list[Outcome]) -> str:
    def share(count: int) -> str:
        return f"{count} ({count / len(outcomes):.0%})"

    fuzzed = [outcome.fuzz for outcome in outcomes if outcome.fuzz]
    found, right, repaired, bare = (
        share(sum(getattr(outcome, name) for outcome in outcomes))
        for name in ("found", "right", "repaired", "right_bare")
    )
    return SUMMARY.format(
        faults=len(outcomes),
        found=found,
        right=right,
        repaired=repaired,
        loading=len(fuzzed),
        fuzzed=sum(one.found for one in fuzzed),
        bare=bare,
        other=sum(outcome.bare is not None and not outcome.right_bare for outcome in outcomes),
        silent=sum(outcome.bare is None for outcome in outcomes),
    )


def table(outcomes: list[Outcome]) -> str:
    lines = [f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}", *map(line, outcomes)]
    return HEAD.format(seconds=FUZZ_SECONDS) + summary(outcomes) + "\n" + "\n".join(lines) + "\n"


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    outcomes = []
    with tempfile.TemporaryDirectory() as directory:
        for mutation in MUTATIONS:
            if is_here(mutation.vocabulary):
                outcomes.append(try_mutation(mutation, Path(directory)))
                print(line(outcomes[-1]), flush=True)
    kept = TARGET.read_text(encoding="utf-8").partition(SECTION)
    TARGET.write_text(table(outcomes) + "\n" + "".join(kept[1:]), encoding="utf-8")


if __name__ == "__main__":
    main()
