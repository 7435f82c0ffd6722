"""Number the pieces of a .model as the class of its tokenizer does.

Models that were trained with fairseq have other ids than the .model file that they were published with: XLM-RoBERTa
has `<s>`, `<pad>`, `</s>` and `<unk>` first and `<mask>` last. The class of the tokenizer does this, which the files
beside the .model name, or its own name if there are none. Sources: transformers' `XLMRobertaTokenizer` and
`_xlmroberta_set_vocab` in llama.cpp's conversion/bert.py.
"""

from __future__ import annotations

from pathlib import Path

from tokverify.errors import UnsupportedError
from tokverify.sources.config import class_of, model_type
from tokverify.sources.sentencepiece.message import Message
from tokverify.spec import TokenType

_XLM_ROBERTA = frozenset(["XLMRobertaTokenizer", "LayoutXLMTokenizer"])
_OTHERS = frozenset(
    [
        "BarthezTokenizer",
        "BartphoTokenizer",
        "CamembertTokenizer",
        "ErnieMTokenizer",
        "M2M100Tokenizer",
        "MarianTokenizer",
        "MLukeTokenizer",
        "MBartTokenizer",
        "MBart50Tokenizer",
        "NllbTokenizer",
        "PegasusTokenizer",
        "PLBartTokenizer",
        "SeamlessM4TTokenizer",
        "Speech2TextTokenizer",
        "XGLMTokenizer",
        "XLMProphetNetTokenizer",
    ]
)
"""The classes that number the pieces in ways of their own; llama.cpp has no model with them."""
_FAIRSEQ_NAME = "sentencepiece.bpe.model"
_ASSUMED = (
    "no file beside it names the class of the tokenizer; because of its name, the ids of XLM-RoBERTa were taken, which "
    "are not those of the file itself"
)

_FIRST = (
    (b"<s>", TokenType.CONTROL),
    (b"<pad>", TokenType.CONTROL),
    (b"</s>", TokenType.CONTROL),
    (b"<unk>", TokenType.UNKNOWN),
)
_LAST = ((b"<mask>", TokenType.CONTROL),)
_REPLACED = [b"<unk>", b"<s>", b"</s>"]
"""The first pieces of the file, which become those of `_FIRST`."""


def is_xlm_roberta(path: Path) -> bool:
    """Check whether the class that numbers a .model is XLM-RoBERTa's, which also adds `<s>` and `</s>` around a text.

    Raises:
        UnsupportedError: If the files beside it name a class that numbers the pieces in another way.
        BrokenFileError: If one of the files is not a JSON object.
    """
    name = class_of(path)
    if name in _OTHERS:
        raise UnsupportedError(
            f"{path}: the tokenizer is a {name}, which does not use the ids of its .model file; name its tokenizer.json"
        )
    return name in _XLM_ROBERTA or _is_named_only(path)


def caveat_of(path: Path) -> str:
    """Say that the class was assumed, if only the name of the file says which it is."""
    return _ASSUMED if _is_named_only(path) else ""


def _is_named_only(path: Path) -> bool:
    return path.name.endswith(_FAIRSEQ_NAME) and not (class_of(path) or model_type(path))


def renumber(path: Path, message: Message) -> None:
    """Give a model the pieces that XLM-RoBERTa's tokenizer makes of it.

    Raises:
        UnsupportedError: If it begins with other pieces, or contains one of those to be added.
    """
    texts = [piece.piece for piece in message.pieces]
    added = {text for text, _ in (*_FIRST, *_LAST)}
    if texts[: len(_REPLACED)] != _REPLACED or added.intersection(texts[len(_REPLACED) :]):
        raise UnsupportedError(
            f"{path}: its pieces do not fit XLM-RoBERTa's tokenizer, as which its name or the files beside it mark it; "
            "name its tokenizer.json"
        )
    kept = [(piece.piece, piece.score, piece.type) for piece in message.pieces][len(_REPLACED) :]
    first = [(text, 0.0, int(type)) for text, type in _FIRST]
    last = [(text, 0.0, int(type)) for text, type in _LAST]
    del message.pieces[:]
    for text, score, type in [*first, *kept, *last]:
        message.pieces.add(piece=text, score=score, type=type)
    trainer = message.trainer_spec
    trainer.bos_piece, trainer.pad_piece, trainer.eos_piece, trainer.unk_piece = (text for text, _ in _FIRST)
