"""Scenarios: files and references as people have them, with the words that a report of them should contain.

Other than the faults, they are about both sides: a reference can be damaged, contradict itself, or belong to another
model. Each was written down with its words before it was tried.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner, Result

from support.faults.tokens import reordered
from support.made_vocabulary import CONTROL, CORPUS, UNUSED, USER_DEFINED, bpe, spm, wordpiece
from support.mutation import fields, retype, special, swapped
from tokverify.commands.cli import main
from tokverify.compare.convert.json_writer import write_json
from tokverify.sources.gguf.writer import write_gguf
from tokverify.spec import TokenizerSpec
from tokverify.train.trainer import TrainingPlan
from tokverify.train.wordpiece import train as train_wordpiece

Document = dict[str, Any]
Family = Callable[[], TokenizerSpec]
REPAIRS, LEAVES, REFUSES = "repairs", "leaves", "refuses"
"""What `fix` should do: write a file that agrees, find nothing to repair in the model, or refuse the reference."""


def unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Scenario:
    """A file, its reference, and what should be said."""

    name: str
    family: Family
    words: tuple[str, ...]
    """What the report of `run` should say."""
    fix: str
    model: Callable[[TokenizerSpec], TokenizerSpec] = unchanged
    """What is wrong with the file."""
    reference: Callable[[Document], Document] = unchanged
    """What is wrong with the tokenizer.json."""
    beside: tuple[tuple[str, Document], ...] = ()
    """The other files in the folder of the reference."""
    unwanted: tuple[str, ...] = ()
    """What the report must not say."""

    def write(self, directory: Path) -> tuple[Path, Path]:
        """Write both sides, and return where."""
        folder = directory / "reference"
        folder.mkdir()
        document = self.reference(_document_of(self.family))
        for name, content in (("tokenizer.json", document), *self.beside):
            (folder / name).write_text(json.dumps(content), "utf-8")
        write_gguf(directory / "model.gguf", self.model(self.family()))
        return directory / "model.gguf", folder


@cache
def _document_of(family: Family) -> Document:
    """Return the tokenizer.json of a vocabulary."""
    if family is wordpiece:
        return json.loads(train_wordpiece(TrainingPlan(corpus=(CORPUS,), vocab_size=1000)).data)
    with TemporaryDirectory() as directory:
        write_json(Path(directory, "tokenizer.json"), family())
        return json.loads(Path(directory, "tokenizer.json").read_text("utf-8"))


def without(key: str) -> Callable[[Document], Document]:
    return lambda document: {**document, key: None}


def with_key(key: str, value: object) -> Callable[[Document], Document]:
    return lambda document: {**document, key: value}


def sorted_ids(document: Document) -> Document:
    """Number the tokens in the order of their texts, as a table that is sorted does; added tokens keep their ids."""
    vocab = document["model"]["vocab"]
    added = {token["content"] for token in document["added_tokens"]}
    ids = sorted(id for token, id in vocab.items() if token not in added)
    ordinary = dict(zip(sorted(token for token in vocab if token not in added), ids, strict=True))
    return {**document, "model": {**document["model"], "vocab": {**vocab, **ordinary}}}


def renamed_added(old: str, new: str) -> Callable[[Document], Document]:
    """Give an added token another text, as a later version of a model does."""
    return lambda document: json.loads(json.dumps(document).replace(json.dumps(old)[1:-1], new))


def with_added(content: str, **flags: bool) -> Callable[[Document], Document]:
    def add(document: Document) -> Document:
        ids = [*document["model"]["vocab"].values(), *(token["id"] for token in document["added_tokens"])]
        usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
        token = {"id": max(ids) + 1, "content": content, **usual, **flags}
        return {**document, "added_tokens": [*document["added_tokens"], token]}

    return add


def with_token(text: str, type: int) -> Callable[[TokenizerSpec], TokenizerSpec]:
    return lambda spec: replace(
        spec,
        tokens=[*spec.tokens, text],
        types=[*spec.types, type],
        scores=None if spec.scores is None else [*spec.scores, 0.0],
    )


def without_case(spec: TokenizerSpec) -> list[int]:
    """Read the tokens from a table that does not distinguish case: of two, the later is at the end."""
    seen: set[str] = set()
    late: list[int] = []
    first: list[int] = []
    for id, token in enumerate(spec.tokens):
        (late if token.lower() in seen else first).append(id)
        seen.add(token.lower())
    return [*first, *late]


def uncased(document: Document) -> Document:
    normalizer = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": False, "lowercase": True}
    return {**document, "normalizer": {"type": "BertNormalizer", **normalizer}}


TEMPLATE = str(bpe().chat_template)
BPE_CONFIG = {"bos_token": "<|endoftext|>", "eos_token": "<|end|>", "pad_token": "<|pad|>"}
SPM_CONFIG = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<|pad|>"}

SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        "the decoder of the reference is lost", bpe, ("the reference is at fault", "has no decoder"), LEAVES,
        reference=without("decoder"),
    ),
    Scenario(
        "the reference is sorted by text", bpe, ("the reference", "belongs to another model"), REFUSES,
        reference=sorted_ids,
    ),
    Scenario(
        "the file is read from a table without case", bpe, ("makes",), REPAIRS,
        model=reordered(without_case), unwanted=("belongs to another model",),
    ),
    Scenario(
        "BOS is only in tokenizer_config.json", spm, ("the reference is at fault", "add_bos_token"), REFUSES,
        reference=without("post_processor"),
        beside=(("tokenizer_config.json", {**SPM_CONFIG, "add_bos_token": True}),),
    ),
    Scenario(
        "special_tokens_map.json has another EOS", bpe, ("special_tokens_map.json", "<|endoftext|>"), LEAVES,
        beside=(
            ("tokenizer_config.json", BPE_CONFIG),
            ("special_tokens_map.json", {**BPE_CONFIG, "eos_token": "<|endoftext|>"}),
        ),
    ),
    Scenario(
        "a generation ends at three tokens", bpe, ("end a generation in the reference only", "<|image|>"), REPAIRS,
        beside=(
            ("tokenizer_config.json", BPE_CONFIG),
            ("generation_config.json", {"eos_token_id": [1158, 1157, 1160]}),
        ),
    ),
    Scenario(
        "a merge copied the base model's EOS", bpe, ("<|end|>", "generation_config.json", "chat template"), LEAVES,
        model=special(eos=1156),
        beside=(
            ("tokenizer_config.json", {**BPE_CONFIG, "eos_token": "<|endoftext|>", "chat_template": TEMPLATE}),
            ("generation_config.json", {"eos_token_id": 1156}),
        ),
    ),
    Scenario(
        "a converter added a token that only tokenizer_config.json names", bpe,
        ('in the model only: 1170 "<sep>"', "tokenizer_config.json"), REPAIRS,
        model=with_token("<sep>", CONTROL),
        beside=(("tokenizer_config.json", {**BPE_CONFIG, "sep_token": "<sep>"}),),
    ),
    Scenario(
        "an added token is also matched in other case", wordpiece, ("cool-token", "normaliz"), LEAVES,
        model=lambda spec: replace(with_token("cool-token", USER_DEFINED)(spec), lowercase=True),
        reference=lambda document: uncased(with_added("cool-token", normalized=True)(document)),
    ),
    Scenario(
        "padding over a token added in training", bpe, ("<|new|>", "PAD"), REPAIRS,
        model=with_token("[PAD1170]", UNUSED), reference=with_added("<|new|>"),
    ),
    Scenario(
        "the reference cuts texts off", bpe, ("match",), LEAVES,
        reference=with_key(
            "truncation", {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
        ),
        unwanted=("MISMATCH",),
    ),
    Scenario(
        "the reference pads texts", bpe, ("match",), LEAVES,
        reference=with_key("padding", {
            "strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 1159,
            "pad_type_id": 0, "pad_token": "<|pad|>",
        }),
        unwanted=("MISMATCH",),
    ),
    Scenario(
        "the reference is an older version without the file's turn markers", bpe,
        ("the reference", "<|turn|>", "another version"), REFUSES,
        reference=renamed_added("<|turn|>", "<|reserved_0|>"),
    ),
    Scenario(
        "turn markers exchanged in the file", bpe, ("swapped", "<|turn|>", "<|end|>"), REPAIRS,
        model=swapped(("<|turn|>", "<|end|>")),
    ),
    Scenario(
        "an ordinary word is padding and hidden", bpe, ('"the"', "control token"), REPAIRS,
        model=lambda spec: special(pad=1154)(retype("the", CONTROL)(spec)),
    ),
    Scenario(
        "BOS off by hand, and the template does not write it", spm, ("<s>", "add_bos"), REPAIRS,
        model=fields(add_bos=False),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class ScenarioTrial:
    """What became of a scenario."""

    scenario: Scenario
    report: str
    """What `run` says, on one line."""
    fix: str
    """What `fix` did."""
    said: str
    """What `fix` said."""

    @property
    def missing(self) -> list[str]:
        """The words that `run` does not say, and those that it should not have said."""
        said = [word for word in self.scenario.words if word not in self.report]
        return said + [f"not {word}" for word in self.scenario.unwanted if word in self.report]

    @property
    def is_right(self) -> bool:
        return not self.missing and self.fix == self.scenario.fix


def try_scenario(scenario: Scenario, directory: Path) -> ScenarioTrial:
    """Verify the file of a scenario, and repair it."""
    model, reference = scenario.write(directory)
    fixed = directory / "fixed.gguf"
    report, result = _invoke("run", model, reference), _invoke("fix", model, reference, "-o", str(fixed))
    if not fixed.exists():
        outcome = REFUSES if result.exit_code else LEAVES
    else:
        is_clean = result.exit_code == 0 and _invoke("run", fixed, reference).exit_code == 0
        outcome = REPAIRS if is_clean else "repairs in part"
    return ScenarioTrial(scenario, _on_one_line(report), outcome, _on_one_line(result))


def _invoke(command: str, model: Path, reference: Path, *options: str) -> Result:
    return CliRunner().invoke(main, [command, str(model), "-r", str(reference), *options])


def _on_one_line(result: Result) -> str:
    return " ".join(result.output.split())
