"""Generate files with hostile values, most of them valid, from a grammar of each format.

Each maker returns names and contents: the first is the file to test, the others belong beside it.
"""

import random
from collections.abc import Callable, Mapping

from hostile.gguf_files import gguf
from hostile.json_files import tokenizer_json
from hostile.model_files import rwkv, sentencepiece, tekken, tiktoken
from hostile.peer_files import SURROUNDINGS
from hostile.project_files import baseline, conversations, report, suite, toml, waivers

MAKERS: Mapping[str, Callable[[random.Random], dict[str, bytes]]] = {
    "gguf": gguf,
    "tokenizer.json": tokenizer_json,
    "sentencepiece": sentencepiece,
    "tiktoken": tiktoken,
    "tekken": tekken,
    "rwkv": rwkv,
    "toml": toml,
    "suite": suite,
    "baseline": baseline,
    "waivers": waivers,
    "conversations": conversations,
    "report": report,
    **SURROUNDINGS,
}
"""Format -> the function that makes a file of it."""
