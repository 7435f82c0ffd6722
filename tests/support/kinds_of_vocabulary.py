"""One vocabulary as every kind of tokenizer, to compare each with faulty GGUF files in both directions."""

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.faults.table import FAULTS
from support.mutation import MUTATIONS, Mutation
from support.paths import ROOT
from support.server_stand_ins import STAND_INS
from support.stand_in import StandIn
from tokverify.case import Case
from tokverify.cases.loading import load_cases
from tokverify.commands.tasks.opening import open_model, open_subject
from tokverify.commands.tasks.run import verify_model
from tokverify.compare.opened import OpenedReference
from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError, TokverifyError, UnsupportedError
from tokverify.report.run import run_exit_code
from tokverify.sources.gguf.writer import write_gguf
from tokverify.texts.mode import Mode, Modes
from tokverify.tokenizer import Tokenizer

ENCODER_PROGRAM = ROOT / "tests" / "support" / "encoder_program.py"
INTACT = "no fault"
_MAX_SHOWN = 40


def faults_of(vocabulary: str) -> list[Mutation]:
    """Return the faults that were written for a vocabulary, without those of later tables."""
    return [fault for fault in (*MUTATIONS, *FAULTS) if fault.vocabulary == vocabulary and fault.table <= 4]


@contextmanager
def locations_of(gguf: Path, document: Path, folder: Path) -> Iterator[dict[str, str]]:
    """Yield where each kind of tokenizer with a vocabulary is: its file, libraries, programs and servers.

    Args:
        gguf: The file of the vocabulary.
        document: Its tokenizer.json.
        folder: Where to write other files.
    """
    encoder = open_model(gguf).encoder
    program = f"command:{shlex.join([sys.executable, str(ENCODER_PROGRAM), str(gguf)])}"
    (folder / "tokenizer.json").write_bytes(document.read_bytes())
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    with ExitStack() as stack:
        servers = {
            kind: stack.enter_context(server(encoder))
            for kind, server in {"llama-server": StandIn, **STAND_INS}.items()
        }
        yield {
            "gguf": f"gguf:{gguf}",
            "tokenizers": f"tokenizers:{document}",
            "transformers": f"transformers:{folder}",
            "llama.cpp": f"llama.cpp:{gguf}",
            "command": program,
            "command, only ids": f"{program} only-ids",
            **{kind: f"{kind}+{server.address}" for kind, server in servers.items()},
            **_vocab_files(json.loads(document.read_bytes()), folder),
        }


def _vocab_files(document: dict, folder: Path) -> dict[str, str]:
    """Write the vocab.txt of BERT's tokenizer.json; the older files of others lack the tokens added to them."""
    model = document["model"]
    if model["type"] != "WordPiece":
        return {}
    path = folder / "vocab.txt"
    path.write_text("\n".join(sorted(model["vocab"], key=model["vocab"].__getitem__)), encoding="utf-8")
    return {"vocab": f"vocab:{path}"}


@dataclass(frozen=True)
class Verdicts:
    """What `run` says about a fault in both directions."""

    kind: str
    fault: str
    there: int
    """The exit code with the file under test."""
    back: int
    """The exit code with the file as reference."""
    is_shown: bool
    """Whether a case has other ids in the mode in which the two are compared."""

    @property
    def is_false(self) -> bool:
        """Whether the directions disagree, a fault is missed, or a correct file fails."""
        is_expected = self.there == 0 if self.fault == INTACT else self.there == 1 or not self.is_shown
        return self.there != self.back or not is_expected


def try_kind(kind: str, location: str, gguf: Path, faults: Sequence[Mutation], folder: Path) -> Iterator[Verdicts]:
    """Compare one kind with the intact file, and with each faulty one that loads."""
    side, intact = open_subject(location), open_model(gguf)
    cases = _agreeing_cases(side.tokenizer, intact.encoder)
    if kind != "gguf":  # which would be compared with itself
        yield Verdicts(kind, INTACT, *_run_both(side, open_subject(f"gguf:{gguf}"), cases[::6]), is_shown=False)
    for number, fault in enumerate(faults):
        path = folder / f"{number}.gguf"
        write_gguf(path, fault.mutate(intact.spec))
        try:
            faulty = open_subject(f"gguf:{path}")
        except TokverifyError:
            continue
        shown = [case for case in cases if _differs(side.tokenizer, intact.encoder, faulty.tokenizer, case)]
        tried = {case.name: case for case in [*shown[:_MAX_SHOWN], *cases[::20]]}
        codes = _run_both(side, faulty, list(tried.values()))
        yield Verdicts(kind, fault.name, *codes, is_shown=bool(shown))


def _run_both(side: OpenedReference, other: OpenedReference, cases: list[Case]) -> tuple[int, int]:
    there, back = (run_exit_code(verify_model(*sides, cases)) for sides in ((other, side), (side, other)))
    return there, back


def _agreeing_cases(side: Tokenizer, encoder: Encoder) -> list[Case]:
    """Return the cases in which a correct file agrees: llama.cpp differs from some libraries in known texts."""
    return [case for case in load_cases() if not _differs(side, side, encoder, case)]


def _differs(side: Tokenizer, one: Tokenizer, other: Tokenizer, case: Case) -> bool:
    """Whether two tokenizers differ in a case, encoded as it is compared with `side`."""
    mode = Modes(side, other).choose(case.text, Mode(case.add_special, case.parse_special))
    return _encode(one, case.text, mode) != _encode(other, case.text, mode)


def _encode(tokenizer: Tokenizer, text: str, mode: Mode) -> list[int] | None:
    try:
        return tokenizer.encode(text, **mode._asdict())
    except (EncodeError, UnsupportedError):
        return None
