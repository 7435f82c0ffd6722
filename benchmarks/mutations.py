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
`python benchmarks/mutations.py` writes this page. The reference is the vocabulary's own (`.model`, `.json`), or
tokverify's encoder of the intact file.

- **audit**: the rules that report an error or a warning without a reference, and do not for the intact file.
- **run**: how many of the shipped cases fail, or if none fails, how many decode differently (which is not a failure);
  "refused" if the file does not load.
- **fuzz**: after how many generated texts and seconds of processor time the first one fails; fuzzing stops after
  {seconds:.0f} seconds. A file that does not load cannot be fuzzed. With the intact file as the reference, decoding is
  compared, too, as by `tokverify fuzz --decode`.
- **diagnosed**: whether the first explanation names the fault and explains every failing case.
- **fixed**: whether `tokverify fix` writes a file for which all shipped cases match and decode as with the intact file.
- **by ids alone**: the same as "diagnosed", with a reference that returns only ids and the bytes of its tokens, as a
  llama-server does. If that fails, the cell counts the cases that the explanation covers.
- **diagnosis**: the first explanation, with the full reference.

What the figures do not show:

- Four other changes were tried first and replaced, because neither the shipped cases nor thousands of texts made for
  the purpose showed a changed id: GPT-2's first two merges swapped, T5's `add_space_prefix` off (llama.cpp adds the
  space anyway when it removes extra ones), RWKV's `<s>` and PLaMo 2's `[P]` with the type NORMAL.
- T5 is compared with its intact file. Compared with its `.model`, even the intact file fails three cases, so the
  diagnosis names a second change besides the injected one, and not every case matches after the repair.
- Qwen 2 with the pre-tokenizer `llama-bpe` counts as diagnosed by "turning add_bos off": no token of its vocabulary
  contains two digits, so BOS is the only visible effect of that name.
- If the reference is the intact file, or a file that declares its own types, merges and scores, the diagnosis can look
  up what differs. That is why the column "by ids alone" exists. Without such a file the diagnosis tries merges, scores,
  a charsmap and further tokens as trainers and converters usually write them: merges and scores in the order of the
  ids, and sentencepiece's own charsmaps. These attempts were written after it was known which of these faults had no
  diagnosis. So 19 further faults were made afterwards, in `mpt`, `qwen2`, `gemma-3`, `gemma-4`, `llama-spm`, `xlnet`,
  `bert-bge` and `nomic-bert-moe`: 15 of them show in the cases, of which 12 are diagnosed by ids alone and 3 partly
  (merges of `gemma-4`, where time runs out, and a charsmap). Scores that follow no order, as in the invented `plamo2`,
  cannot be inferred from ids, and today's sentencepiece has another charsmap than in T5's time, when U+200D became a
  space.
- Without such a file, the type of a token is changed only if the texts show it and it looks special (together with all
  runs of the same character), so a repair may miss other tokens. Two pre-tokenizers that split all failing texts alike
  cannot be distinguished: for Qwen 2, `dbrx` is named.

"""

SUMMARY = """\
Of {faults} faults, {found} are found by audit, run or fuzz, {right} are diagnosed, and
{repaired} are fixed. Of the {loading} in files that load, fuzzing alone finds {fuzzed}.

By ids alone, {bare} are diagnosed; for {other} the explanation covers only some of the cases,
and for {silent} there is none.
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
    return f"{fuzzed.strings:,} strings, {fuzzed.seconds:.1f} s" if fuzzed.strings > 1 else "first string"


def by_ids(outcome: Outcome) -> str:
    if outcome.right_bare or outcome.bare is None:
        return yes(outcome.right_bare)
    answer = "partly" if outcome.named_bare else "no"
    return f"{answer} ({outcome.bare.explained} of {outcome.bare.failing})"


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
    TARGET.write_text(table(outcomes), encoding="utf-8")


if __name__ == "__main__":
    main()
