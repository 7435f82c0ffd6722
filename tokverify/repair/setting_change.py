"""Generate changes to single settings: flags, special ids, the pre-tokenizer and the model's name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

from tokverify.compare.contradiction import LOWERCASE
from tokverify.compare.damage.lost_pattern import find_foreign_splits
from tokverify.compare.inner_end import why_no_end
from tokverify.compare.marker import read_template
from tokverify.compare.repair import key_of, set_flag, set_special_id
from tokverify.compare.repair import set_pre_tokenizer as pre_tokenizer_command
from tokverify.compare.role_difference import both_end
from tokverify.engine.build import known_since
from tokverify.engine.deviation import Deviation
from tokverify.engine.families import find_family
from tokverify.engine.family import Affixes, Settings
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer, splitter
from tokverify.engine.settings import NAMES_THAT_STRIP
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import DecodingEvidence, Evidence
from tokverify.sources.gguf.keys import KEYS_BY_ROLE
from tokverify.sources.gguf.values import FIELDS
from tokverify.sources.huggingface.telling_name import with_telling_name
from tokverify.spec import TokenizerSpec
from tokverify.text.visible import visible_message
from tokverify.text.wording import list_tokens, quote
from tokverify.tokenizer import EndListing, why_hidden

AFFIX_FLAGS = ("add_bos", "add_eos")
_COMMON = ("gpt-2", "llama-bpe", "qwen2", "tekken", "gpt-4o", "deepseek-v3", "default")
COMMON_FIRST = tuple(dict.fromkeys([*_COMMON, *PRE_TOKENIZERS]))
"""The names of pre-tokenizers; of several that ids cannot tell apart, the one that most models use comes first."""
_GUESSES = 3
"""How many of the most frequent missing ids are tried for the token of a role."""


def flags(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Toggle each flag that has an effect."""
    if evidence.encoder is None:
        return
    settings = evidence.encoder.settings
    yield from _toggle(evidence, settings, settings.family.flags)
    if evidence.adds_special:
        yield from affix_flags(evidence)


def affix_flags(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Toggle the flags for BOS and EOS."""
    settings = evidence.encoder.settings if evidence.encoder else None
    if settings and settings.family.affixes is Affixes.BY_FLAG:
        yield from _toggle(evidence, settings, AFFIX_FLAGS)


def _toggle(evidence: Evidence, settings: Settings, names: Iterable[str]) -> Iterator[TokenizerChange]:
    for name in names:
        if not is_in_doubt(evidence, name):
            yield _flag(evidence, name, value=not getattr(settings, name))


def is_in_doubt(evidence: Evidence | DecodingEvidence, flag: str) -> bool:
    """Whether the reference contradicts itself about what it adds to a text, so that it cannot show a fault of ours.

    Two names for the token that it adds, as in the files of Qwen3-Embedding, are no doubt that it adds one.
    """
    # By default, accents are stripped if texts are lowercased.
    subject = LOWERCASE if flag == "strip_accents" else flag.removeprefix("add_")
    return any(each.subject == subject and each.is_done is not None for each in evidence.facts.contradictions)


def decoding_flags(evidence: DecodingEvidence) -> Iterator[TokenizerChange]:
    """Toggle each flag that may change how ids are decoded, unless the reference declares something else.

    Of all families, one drops a first space.
    """
    settings, facts = evidence.encoder.settings, evidence.facts
    for name in dict.fromkeys((*settings.family.flags, "add_space_prefix")):
        value = not getattr(settings, name)
        if is_in_doubt(evidence, name):
            continue
        # Another flag than those of its family is declared by no reference but a GGUF file.
        wanted = {value} if name in settings.family.flags else {value, None}
        if facts.spec is None or facts.gguf_spec is not None or getattr(facts.spec, name) in wanted:
            yield _flag(evidence, name, value=value)


def _flag(evidence: Evidence | DecodingEvidence, name: str, *, value: bool) -> TokenizerChange:
    confirmed = evidence.facts.spec is not None and getattr(evidence.facts.spec, name) is value
    declared = getattr(evidence.spec, name) is not None
    fields: dict[str, Any] = {name: value}
    key, _ = FIELDS[name]
    return TokenizerChange(
        kind=name,
        sentence=f"turning {name} {'on' if value else 'off'}",
        cost=cost.discount(cost.FLAG, confirmed=confirmed),
        transform=lambda spec: replace(spec, **fields),
        gguf_command=set_flag(key, value=value, declared=declared) if declared else None,
    )


def declared_flags(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Set each flag that the reference declares and that has another value here."""
    reference, family = evidence.facts.spec, find_family(evidence.spec.model)
    if reference is None or family is None:
        return
    ours = evidence.encoder.settings if evidence.encoder else evidence.spec
    for name in (*family.flags, *AFFIX_FLAGS):
        value = getattr(reference, name)
        if value is not None and value is not getattr(ours, name) and not is_in_doubt(evidence, name):
            yield _flag(evidence, name, value=value)


def declared_special_ids(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Assign each role that the reference declares to the same token."""
    current = evidence.encoder.settings.special_ids if evidence.encoder else evidence.spec.special_ids
    # Whether EOS is exchanged with another role is seen only until that one is corrected.
    for role, id in sorted(evidence.facts.special_ids.items(), key=lambda item: item[0] != "eos"):
        if role == "eos" and _is_end_anyway(evidence, current.get(role), id):
            continue
        is_assignable = id != current.get(role) and 0 <= id < len(evidence.spec.tokens) and role in KEYS_BY_ROLE
        if is_assignable and not evidence.facts.is_contradicted(f"{role} token"):
            yield assign_role(evidence.spec, role, id, confirmed=True, pieces=evidence.facts.pieces)


def _is_end_anyway(evidence: Evidence, ours: int | None, theirs: int) -> bool:
    """Whether a generation ends at both tokens, whichever is EOS, as in chat models with the EOS of the base model.

    A GGUF file as the reference tells which it is, unless the template says that ours is that of a chat model.
    """
    actual, expected, facts = evidence.encoder, evidence.facts.tokenizer, evidence.facts
    if actual is None or expected is None or ours is None or ours == theirs:
        return False
    exchanged = (role for role, id in evidence.spec.special_ids.items() if id == theirs)
    if any(facts.special_ids.get(role) == ours for role in exchanged):
        return False
    turn_ends = read_template(evidence.spec.chat_template).turn_ends
    if facts.lists_all_roles and actual.piece(ours) not in turn_ends:
        return False
    return both_end(actual, expected, ours, theirs)


def undeclared_special_ids(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Remove each role that the reference does not have, if it declares roles as a GGUF file does."""
    if not evidence.facts.lists_all_roles:
        return
    for role in evidence.spec.special_ids:
        if role in KEYS_BY_ROLE and role not in evidence.facts.special_ids:
            yield unassign_role(role)


def declared_ends(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Give EOT or EOM to tokens that end a generation in the reference only, and take it from those that do not."""
    expected = evidence.facts.tokenizer
    if evidence.encoder is None or evidence.facts.gguf_spec is not None or not isinstance(expected, EndListing):
        return
    ends, settings = expected.generation_ends(), evidence.encoder.settings
    eos = evidence.facts.special_ids.get("eos")
    others = {*settings.eog_ids, *evidence.facts.contradicted_ends, eos}
    template = evidence.spec.chat_template or evidence.facts.chat_template
    lost = sorted(
        id for id in ends.ids - others if id < len(evidence.spec.tokens) if not why_no_end(expected.piece(id), template)
    )
    changes: list[TokenizerChange] = []
    for role in ("eot", "eom"):
        is_declared, current = role in evidence.spec.special_ids, settings.special_ids.get(role)
        # A token that llama.cpp knows by its text ends a generation without the role, and so does EOS.
        is_needed = is_declared and current in ends.ids and current != settings.special_ids.get("eos")
        if lost and not is_needed:
            changes.append(assign_role(evidence.spec, role, lost.pop(0), confirmed=True))
        elif is_declared and current not in ends.ids and ends.are_all:
            changes.append(unassign_role(role))
    if changes:
        # One difference: a generation that still ends at the wrong tokens is no progress.
        yield reduce(TokenizerChange.then, changes)


def unassign_role(role: str) -> TokenizerChange:
    """Return the change that leaves a role without a token."""
    return TokenizerChange(
        kind=f"{role}_id",
        sentence=f"leaving the role {role} without a token ({key_of(role)})",
        cost=cost.SPECIAL_ID,
        transform=lambda spec: replace(
            spec, special_ids={other: id for other, id in spec.special_ids.items() if other != role}
        ),
    )


def special_ids(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Assign the role of BOS, EOS, SEP or unknown to the token that has it in the reference, or is likely to."""
    if evidence.encoder is None:
        # All ids of a refused file are missing, so they are no hint: any id in range may make it load.
        yield from declared_special_ids(evidence)
        return
    current, declared = evidence.encoder.settings.special_ids, evidence.facts.special_ids
    yield from _exchanged_ids(evidence, current)
    yield from _lost_affixes(evidence, current)
    for role, observed in _observed_ids(evidence).items():
        if role in declared:
            candidates = [_id_here(evidence, declared[role])]
        else:
            candidates = [id for id, _ in evidence.missing.most_common(_GUESSES) if id in observed]
        for id in candidates:
            if id != current.get(role) and 0 <= id < len(evidence.spec.tokens):
                # If ids are shifted, the text in the reference is that of another token.
                pieces = evidence.facts.pieces if id == declared.get(role) else ()
                yield assign_role(evidence.spec, role, id, confirmed=role in declared, pieces=pieces)


def _id_here(evidence: Evidence, id: int) -> int:
    """Return the id that the file has for a token of the reference, which is another one if ids are shifted."""
    tokens, pieces = evidence.spec.tokens, evidence.facts.pieces
    # A damaged tekken.json can give a role to -1.
    piece = pieces[id] if 0 <= id < len(pieces) else None
    if piece is None or (id < len(tokens) and tokens[id] == piece) or piece not in tokens:
        return id
    return list(tokens).index(piece)


def _exchanged_ids(evidence: Evidence, current: Mapping[str, int]) -> Iterator[TokenizerChange]:
    """Exchange the tokens of two roles if the token that is expected for one of them has the other.

    A reference may also add another token than the one that it gives the role, as that of Qwen3-Embedding.
    """
    declared = evidence.facts.special_ids
    for role, observed in _observed_ids(evidence).items():
        if observed and role in {"bos", "eos"} and role in declared and declared[role] not in observed:
            id = next(iter(observed))
            if len(observed) == 1 and id != current.get(role) and 0 <= id < len(evidence.spec.tokens):
                yield assign_role(evidence.spec, role, id, confirmed=False)
            continue
        for other, id in current.items():
            # A token may have several roles, but not one that is expected elsewhere.
            if other != role and role in current and id != current[role] and observed == {id}:
                first, second = assign_role(evidence.spec, role, id, confirmed=False), current[role]
                then = assign_role(evidence.spec, other, second, confirmed=False)
                yield replace(first.then(then), cost=cost.EXCHANGED_IDS)


def _lost_affixes(evidence: Evidence, current: Mapping[str, int]) -> Iterator[TokenizerChange]:
    """Turn on a flag and give its role to the token around all texts; neither has an effect without the other."""
    settings = evidence.encoder.settings if evidence.encoder else None
    if settings is None or settings.family.affixes is not Affixes.BY_FLAG:
        return
    observed = _observed_ids(evidence)
    for name, role in zip(AFFIX_FLAGS, ("bos", "eos"), strict=True):
        if is_in_doubt(evidence, name):
            continue
        for id in observed[role] if len(observed[role]) == 1 else ():
            if not getattr(settings, name) and id != current.get(role) and 0 <= id < len(evidence.spec.tokens):
                flag = _flag(evidence, name, value=True)
                confirmed = evidence.facts.special_ids.get(role) == id
                yield flag.then(assign_role(evidence.spec, role, id, confirmed=confirmed))


def _observed_ids(evidence: Evidence) -> dict[str, set[int]]:
    """Return, by role, the ids at the positions where the token of that role would be."""
    surrounded = [target.expected for target in evidence.targets if target.add_special and target.expected]
    observed = {
        "bos": {ids[0] for ids in surrounded},
        "eos": {ids[-1] for ids in surrounded},
        "sep": {ids[-1] for ids in surrounded},
        "unk": set(evidence.missing),
    }
    # A reference whose own files disagree about a role shows nothing about it.
    in_doubt = [role for role in observed if evidence.facts.is_contradicted(f"{role} token")]
    return {**observed, **{role: set() for role in in_doubt}}


def assign_role(
    spec: TokenizerSpec, role: str, id: int, *, confirmed: bool, pieces: Sequence[str] = ()
) -> TokenizerChange:
    """Return the change that gives a role to a token.

    Given the tokens of the reference, it also names the text there, which another change may restore.
    """
    text = quote(spec.tokens[id])
    if id < len(pieces) and pieces[id] != spec.tokens[id]:
        text = f"{text} ({quote(pieces[id])} in the reference)"
    return TokenizerChange(
        kind=f"{role}_id",
        sentence=f"making token {id} {text} the {role} token ({key_of(role)})",
        cost=cost.discount(cost.SPECIAL_ID, confirmed=confirmed),
        transform=lambda spec: replace(spec, special_ids={**spec.special_ids, role: id}),
        gguf_command=set_special_id(role, id),
    )


def pre_tokenizers(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Try each other pre-tokenizer once per behavior, unless it splits all failing texts as the current one does."""
    family = find_family(evidence.spec.model)
    if family and (family.pre or not family.uses_pre_tokenizer):
        return
    declared = evidence.facts.spec.pre if evidence.facts.spec else None
    if evidence.facts.gguf_spec is not None and declared == evidence.spec.pre:
        return
    old = PRE_TOKENIZERS[evidence.encoder.settings.pre] if evidence.encoder else None
    declared = _keep_bos(declared, old)
    texts = [target.text for target in evidence.targets]
    splits = dict(zip(texts, map(splitter(old), texts), strict=True)) if old else {}
    # Beside a reference that adds no special tokens, nothing shows that a name has another default for BOS.
    adds_bos = evidence.encoder.settings.add_bos if evidence.encoder and not evidence.adds_special else None
    architecture = evidence.spec.general.get("architecture")
    for name in _distinct_pre_tokenizers(old, declared, architecture, adds_bos=adds_bos):
        if old is None or not _acts_alike(PRE_TOKENIZERS[name], old, splits):
            yield _foreign_pattern(name, evidence) or set_pre_tokenizer(name, evidence.spec, confirmed=name == declared)


def _foreign_pattern(name: str, evidence: Evidence) -> TokenizerChange | None:
    """Return the change that blames a reference that shows only ids, if its pattern splits pieces of the model."""
    encoder, expected = evidence.encoder, evidence.facts.tokenizer
    if encoder is None or expected is None or not why_hidden(expected) or not encoder.settings.family.is_bpe:
        return None
    new = PRE_TOKENIZERS[name]
    lost = find_foreign_splits(encoder, new)
    if not lost:
        return None
    return TokenizerChange(
        kind="pre",
        sentence=f"splitting texts like {name} (as the reference seems to do, and is wrong: that splits pieces that the"
        f" model was trained with, such as {list_tokens(lost, encoder.settings.pieces)})",
        cost=cost.RUNTIME,
        deviation=Deviation(split_pre_tokens=splitter(new), ignore_merges=new.ignore_merges),
    )


def declared_pre_tokenizer(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Set the pre-tokenizer that the reference declares."""
    reference = evidence.facts.spec
    name = _keep_bos(reference.pre if reference else None, PRE_TOKENIZERS.get(evidence.spec.pre or ""))
    family = find_family(reference.model) if reference else None
    # The name that a model has by itself goes with this model only.
    if name in PRE_TOKENIZERS and name != evidence.spec.pre and not (family and family.pre):
        yield set_pre_tokenizer(name, evidence.spec, confirmed=True)


def _keep_bos(name: str | None, old: PreTokenizer | None) -> str | None:
    """Return a name with the same ids that, like the old one, leaves a model without BOS, as GLM-4's does, or with it.

    With `llama-bpe` in place of `chatglm-bpe`, llama.cpp would take token 11 for the BOS of a file that declares none.
    """
    wanted = PRE_TOKENIZERS.get(name or "")
    if wanted is None or old is None or wanted.has_bos == old.has_bos:
        return name
    others = {replace(wanted, has_bos=old.has_bos, add_bos=add_bos) for add_bos in (False, True)}
    return next((other for other, pre_tokenizer in PRE_TOKENIZERS.items() if pre_tokenizer in others), name)


def set_pre_tokenizer(name: str, spec: TokenizerSpec, *, confirmed: bool) -> TokenizerChange:
    """Return the change that names a pre-tokenizer instead of the one in `spec`."""
    since = known_since("pre_tokenizers").get(name, 0)
    needs = f", known to llama.cpp since b{since}" if since else ""

    def describe(spec: TokenizerSpec) -> str:
        instead = f" instead of {visible_message(spec.pre)}" if spec.pre else ""
        return f"setting the pre-tokenizer to {name}{instead} (tokenizer.ggml.pre{needs})"

    return TokenizerChange(
        kind="pre",
        sentence=describe(spec),
        describe=describe,
        cost=cost.discount(cost.PRE_TOKENIZER, confirmed=confirmed),
        transform=partial(replace, pre=name),
        gguf_command=pre_tokenizer_command(name),
    )


def _distinct_pre_tokenizers(
    old: PreTokenizer | None, first: str | None, architecture: str | None, *, adds_bos: bool | None
) -> Iterator[str]:
    """Yield one name for each behavior other than the old one; `first` takes precedence.

    Those with another default for BOS than `adds_bos` come last, unless that is None. Of names with the same ids, only
    some remove spaces when they decode, which no ids show: one that is also that of the architecture is right.
    """
    seen = {_behavior(old)} if old else set()
    late = {name for name in COMMON_FIRST if adds_bos is not None and PRE_TOKENIZERS[name].add_bos != adds_bos}
    for name in sorted(COMMON_FIRST, key=lambda name: (name != first, name in late, name != architecture)):
        behavior = _behavior(PRE_TOKENIZERS[name])
        if behavior not in seen:
            seen.add(behavior)
            yield name


def _behavior(pre_tokenizer: PreTokenizer) -> PreTokenizer:
    """Return the part that determines ids; how decoded text is cleaned up does not."""
    return replace(pre_tokenizer, clean_spaces=True, keeps_case=False)


def _acts_alike(new: PreTokenizer, old: PreTokenizer, splits: Mapping[str, list[str]]) -> bool:
    """Whether two pre-tokenizers imply the same settings, and split all texts in the same way.

    `splits` contains the texts, and how the old one splits them.
    """
    if (new.ignore_merges, new.add_bos, new.always_bos) != (old.ignore_merges, old.add_bos, old.always_bos):
        return False
    split = splitter(new)
    return all(split(text) == old_split for text, old_split in splits.items())


def names(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Rename the model if llama.cpp strips whitespace around added tokens because of its name, or would by another."""
    spec, document = evidence.spec, evidence.facts.document
    name = spec.general.get("name", "")
    named = with_telling_name(spec, document.added_tokens) if document else spec
    if named is not spec:
        yield _renaming(
            named.general["name"], "only by such a general.name, llama.cpp strips spaces around added tokens"
        )
    parts = [part for part in NAMES_THAT_STRIP if part in name.lower()]
    added = evidence.encoder.settings.added_tokens if evidence.encoder else ()
    if not parts or (evidence.encoder and not any(token.lstrip or token.rstrip for token in added)):
        return
    new = name
    for part in parts:
        new = _break_up(new, part)
    yield _renaming(new, "because of its general.name, llama.cpp strips spaces around added tokens")


def _renaming(name: str, reason: str) -> TokenizerChange:
    return TokenizerChange(
        kind="name",
        sentence=f"renaming the model to {quote(name)} ({reason})",
        cost=cost.MODEL_NAME,
        transform=lambda spec: replace(spec, general={**spec.general, "name": name}),
    )


def _break_up(name: str, part: str) -> str:
    """Insert a space into a part of a name: `phi-3` becomes `phi 3`."""
    start = name.lower().find(part)
    matched = name[start : start + len(part)]
    broken = matched.replace("-", " ") if "-" in matched else f"{matched[:-1]} {matched[-1]}"
    return f"{name[:start]}{broken}{name[start + len(part) :]}"
