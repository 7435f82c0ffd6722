"""Call the compiled module directly, with hostile tables, bytes and lengths, and check everything it returns.

`python tests/hostile/native_boundary.py --seconds 60` prints the number of rounds; each has its own seed, which the
error names. A panic, a crash or a result that contradicts another one ends it.
"""

import argparse
import dataclasses
import random
import struct
import sys
import time
from array import array
from itertools import pairwise
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from hostile.values import LONE_BYTES, number, score, text  # noqa: E402
from tokverify.engine.engine_choice import native_module  # noqa: E402
from tokverify.engine.native import Declaration, NativeEncoder, rule_name  # noqa: E402
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS  # noqa: E402
from tokverify.sources.gguf.cursor import split_strings  # noqa: E402

FAMILIES = ("llama", "gpt2", "gemma4", "bert", "t5", "rwkv", "plamo2", "plamo3", "hybriddna", "whitespace", "new")
MOST_PIECES = 60
REFUSED = (ValueError, OverflowError, TypeError, BufferError)
"""What the binding may raise for arguments of a wrong type or range."""


def some_bytes(source: random.Random) -> bytes:
    """Return bytes without NUL, mostly the UTF-8 of a text."""
    if source.random() < 0.2:
        return bytes(source.randint(1, 255) for _ in range(source.randint(0, 20)))
    return text(source, lone_bytes=True).encode("utf-8", "surrogateescape").replace(b"\0", b"")


def declare(source: random.Random) -> Declaration:
    """Return a declaration whose tables have the right sizes, and anything in them."""
    count = source.randint(0, MOST_PIECES)
    pieces = [some_bytes(source) for _ in range(count)]
    pre_tokenizer = PRE_TOKENIZERS[source.choice(list(PRE_TOKENIZERS))]
    rules = [rule_name(rule) for rule in pre_tokenizer.patterns]
    merges = [b" ".join(some_bytes(source) for _ in range(source.choice((1, 2, 2, 2, 3)))) for _ in range(count)]
    ids = range(count)
    affix = [source.choice(ids)] if count and source.random() < 0.5 else []
    flag = lambda: source.random() < 0.5  # noqa: E731
    return Declaration(
        model=source.choice(FAMILIES),
        pieces=native_module().Pieces(b"\0".join(pieces), count),
        displayed=b"\0".join(some_bytes(source) for _ in ids) if source.random() < 0.2 else None,
        piece_count=count,
        scores=array(source.choice("fd"), (score(source) for _ in ids)),
        types=array("i", source.randbytes(4 * count) if flag() else (source.randint(1, 6) for _ in ids)),
        attributes=source.randbytes(count),
        merges=b"\0".join(merges),
        merge_count=len(merges),
        charsmap=charsmap(source),
        rules=[*rules, "a rule"] if source.random() < 0.05 else rules,
        byte_level=pre_tokenizer.byte_level if flag() else flag(),
        ignore_merges=flag(),
        newline_pieces=flag(),
        unknown_id=source.choice(ids) if count and flag() else None,
        added_tokens=[(id, flag(), flag(), flag()) for id in sorted(ids, key=lambda id: -len(pieces[id])) if flag()],
        prefix=source.choice((affix, None)),
        suffix=source.choice((affix, None)),
        add_space_prefix=flag(),
        prefixes_space=flag(),
        escape_whitespaces=flag(),
        escapes_in_encoder=flag(),
        remove_extra_whitespaces=flag(),
        clean_spaces=flag(),
        lowercase=flag(),
        strip_accents=flag(),
        nfc=flag(),
        in_background=flag(),
    )


def charsmap(source: random.Random) -> bytes:
    """Return a charsmap, or what is damaged in any place: the size of the trie, its units, the replacements."""
    if source.random() < 0.5:
        return b""
    units = source.randint(0, 300)
    size = source.choice((units * 4, number(source) & 0xFFFF_FFFF))
    return struct.pack("<I", size) + source.randbytes(units * 4) + source.randbytes(source.randint(0, 20))


def check_encoding(source: random.Random, encoder: NativeEncoder, piece_count: int) -> list[int]:
    """Compare batches with single texts, and return the ids of all texts."""
    flags = source.random() < 0.5, source.random() < 0.5
    texts = [text(source) for _ in range(source.randint(0, 8))]
    single = [encoder.encode(text, *flags) for text in texts]
    batch = tuple(text.encode() if source.random() < 0.5 else text for text in texts)
    ids, offsets, failed = encoder.encode_batch(batch, *flags, source.choice((0, 1, 3)))
    assert failed == next((index for index, ids in enumerate(single) if ids is None), None)
    if failed is None:
        bounds = memoryview(offsets).cast("q").tolist()
        all_ids = memoryview(ids).cast("I").tolist()
        assert [all_ids[start:end] for start, end in pairwise(bounds)] == single
    known = [id for ids in single for id in ids or ()]
    assert all(id < piece_count for id in known)
    return known


def check_decoding(source: random.Random, encoder: NativeEncoder, ids: list[int], piece_count: int) -> None:
    """Decode ids at once, in a batch and one by one; refuse others."""
    clean_up = source.random() < 0.5
    decoded = encoder.decode(ids, clean_up)
    assert decoded is not None
    if ids:  # an empty array can be at an address that the module refuses
        bounds = array("q", (0, len(ids)))
        joined, _, failed = encoder.decode_batch(memoryview(array("I", ids)), memoryview(bounds), clean_up, 2)
        assert (joined, failed) == (decoded, None)
    stream = encoder.stream_decoder()
    assert None not in [*map(stream.push, ids), stream.finish()]
    for unknown in (piece_count, number(source) | piece_count):
        is_known = 0 <= unknown < piece_count
        assert is_known or (encoder.decode([unknown], False), stream.push(unknown)) == (None, None)


def check_refusals(source: random.Random, encoder: NativeEncoder) -> None:
    """Call with lengths and bytes that cannot be right: an exception or a result, and no panic."""
    offsets = array("q", (max(-(1 << 63), min(number(source), (1 << 63) - 1)) for _ in range(source.randint(0, 4))))
    ids = array("I", (source.randrange(1 << 32) for _ in range(source.randint(0, 4))))
    calls = (
        lambda: encoder.decode_batch(memoryview(ids), memoryview(offsets), False, abs(number(source))),
        lambda: encoder.encode_batch((source.randbytes(source.randint(0, 30)),), False, True, number(source)),
        lambda: encoder.encode_batch((source.choice(LONE_BYTES), b"", None), False, True, 1),  # type: ignore[arg-type]
        lambda: encoder.encode(source.choice(LONE_BYTES), False, True),
    )
    for call in calls:
        try:
            call()
        except REFUSED:
            continue


def check_strings(source: random.Random) -> None:
    """Compare with what Python reads from the same bytes."""
    strings = [some_bytes(source) for _ in range(source.randint(0, 5))]
    order = source.choice("<>")
    window = b"".join(struct.pack(f"{order}Q", len(string)) + string for string in strings)
    if source.random() < 0.5:
        length = struct.pack(f"{order}Q", number(source) & ((1 << 64) - 1))
        window = window[: source.randint(0, len(window))] + length + source.randbytes(source.randint(0, 9))
    position = source.choice((0, source.randint(0, len(window))))
    count = source.choice((len(strings), 1 << 40))
    end, taken, found = split_strings(window, position, order == ">", count)
    module = native_module()
    assert module.join_strings(window, position, order == ">", count) == (end, taken, b"\0".join(found))
    table = module.Pieces(b"\0".join(strings), len(strings))
    found_ids = [table.id(string) for string in strings]
    assert all(id is None or table.piece(id) is not None for id in found_ids)
    differing = module.find_differing(window, b"\0".join(strings))
    assert differing == sorted(set(differing))
    assert module.pack_strings(b"\0".join(strings), order == ">").endswith(strings[-1] if strings else b"")
    module.read_tables(b'{"model": {"vocab": {"%b": %d}}}' % (source.randbytes(3), number(source) % 10**20))


def check_marks(source: random.Random) -> None:
    """Mark the pairs of classes in a text of any characters; refuse tables of another size, and ids outside of one."""
    mark_pairs, mark_ids = native_module().mark_class_pairs, native_module().mark_ids
    characters = "".join(chr(source.randrange(0xD800)) for _ in range(source.randint(0, 20)))
    pairs = bytearray(1 << 16)
    is_new, unknown, incomplete = mark_pairs((characters,), bytearray(b"\xff") * 0x110000, pairs)
    assert is_new == any(pairs) == bool(incomplete) == (characters != "")
    assert {ord(character) for character in characters if not character.isascii()} <= {*unknown}
    ids = array("I", (source.randrange(1 << 32) for _ in range(source.randint(1, 4))))
    for call in (
        lambda: mark_pairs((characters,), bytearray(abs(number(source)) % 99), pairs),
        lambda: mark_ids(ids, pairs),
    ):
        try:
            call()
            assert max(ids) < len(pairs)
        except REFUSED:
            continue


def contradict(source: random.Random, declaration: Declaration) -> Declaration:
    """Return a declaration some of whose counts, ids or tables do not fit the others."""
    number = lambda: source.choice((0, 1, 2, 63, 1000, 1 << 24, (1 << 32) - 1, 1 << 40, (1 << 63) - 1))  # noqa: E731
    strings = lambda: b"\0".join(some_bytes(source) for _ in range(source.randint(0, 9)))  # noqa: E731
    changes: dict[str, object] = {
        "piece_count": number(),
        "merge_count": number(),
        "unknown_id": number(),
        "prefix": [number()],
        "suffix": [0, number()],
        "added_tokens": [(number(), True, False, True)],
        "displayed": strings(),
        "merges": strings(),
        "scores": source.choice((None, declaration.scores[:3])) if declaration.scores else None,
        "types": source.choice((None, declaration.types[:3])) if declaration.types else None,
        "attributes": declaration.attributes[: source.randint(0, 5)],
        "pieces": None,
        "charsmap": None,
    }
    chosen = source.sample(list(changes), source.randint(1, 3))
    return dataclasses.replace(declaration, **{name: changes[name] for name in chosen})


def check_contradiction(source: random.Random) -> None:
    """Build an encoder, perhaps based on another one, from a contradiction: refused, or as good as any other."""
    module = native_module()
    try:
        module.Pieces(some_bytes(source), source.choice((2, 1 << 24, 1 << 40, (1 << 63) - 1)))
    except REFUSED:
        pass
    else:
        raise AssertionError("a count of strings that are not there was taken")
    declaration, previous = contradict(source, declare(source)), None
    try:
        if source.random() < 0.5:
            previous = module.Encoder(declare(source), None)
        encoder = module.Encoder(declaration, previous)
    except (*REFUSED, module.NotSupportedError):
        return
    ids = check_encoding(source, encoder, declaration.piece_count)
    check_decoding(source, encoder, ids, declaration.piece_count)


def run(source: random.Random) -> None:
    """Do one round; a failure is an assertion, or an exception that is not expected."""
    check_strings(source)
    check_marks(source)
    check_contradiction(source)
    declaration = declare(source)
    module = native_module()
    try:
        encoder = module.Encoder(declaration, None)
    except module.NotSupportedError:
        return
    ids = check_encoding(source, encoder, declaration.piece_count)
    check_decoding(source, encoder, ids, declaration.piece_count)
    check_refusals(source, encoder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first round")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    seed = arguments.seed
    while time.monotonic() < end:
        try:
            run(random.Random(seed))  # noqa: S311
        except BaseException:
            print(f"the round with the seed {seed} failed", file=sys.stderr)
            raise
        seed += 1
    print(f"{seed - arguments.seed:,} rounds")


if __name__ == "__main__":
    main()
