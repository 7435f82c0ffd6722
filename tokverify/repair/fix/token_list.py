"""Compare the complete token lists: what each id represents, its type, and the roles, as far as a reference tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from tokverify.compare.opened import Opened
from tokverify.engine.attribute import SPECIAL, Attribute
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE
from tokverify.engine.family import Settings
from tokverify.engine.settings import resolve
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.errors import answer_or
from tokverify.repair.probed_type_change import patches_by_probing
from tokverify.repair.token_patch import without_padding
from tokverify.repair.type_change import converted_types
from tokverify.sources.gguf.keys import CHAT_TEMPLATE, ROLES_BY_KEY, TYPES
from tokverify.spec import TokenizerSpec
from tokverify.text.wording import plural
from tokverify.texts.token_text import is_padded

_MATCHED = (Attribute.CONTROL | Attribute.USER_DEFINED).value
_AROUND = frozenset(["bos", "eos"])
ROLES = ("bos", "eos", "eot", "eom", "unk", "sep")
"""The roles that change prompts or end generations. Other libraries assign further ones in their own way."""


class TokenList:
    """What a reference tells about all of its tokens."""

    def __init__(self, facts: Opened) -> None:
        self._facts = facts
        self.bytes_of = TokenBytes()
        """Returns the bytes of the tokens of similar tokenizers."""

    @cached_property
    def settings(self) -> Settings | None:
        """What llama.cpp would make of the reference; None if it does not declare types as a GGUF file does."""
        declared = self._declared
        if declared is not None and declared.types is not None:
            declared = replace(declared, types=converted_types(declared, declared.types, self._facts))
        return answer_or(None, resolve, declared) if declared else None

    @property
    def _declared(self) -> TokenizerSpec | None:
        """What the reference declares as a GGUF file does, with the tokens that only the files beside it declare."""
        return self._facts.extended_spec if self._facts.gguf_spec is not None else None

    def not_compared(self, encoder: Encoder | None) -> tuple[str, ...]:
        """Return what the reference does not tell about a tokenizer; None for one that llama.cpp refuses."""
        known = {
            "bytes of tokens": bool(self._facts.token_bytes),
            "types of tokens": self.settings is not None or self._facts.types is not None,
            "ids of special tokens": bool(self._roles),
            "chat template": self._facts.chat_template is not None,
        }
        unknown = [name for name, is_known in known.items() if not is_known]
        if encoder and self._facts.listed_size and not self._facts.lists_all_tokens:
            beyond = self._find_beyond(encoder)
            unknown += [f"{plural(len(beyond), 'token')} from id {beyond[0]} on"] if beyond else []
        return tuple(unknown)

    def declares(self, key: str) -> bool:
        """Whether the reference declares what a metadata key does, if the ids of texts cannot show it."""
        if key in ROLES_BY_KEY:
            return self.settings is not None or ROLES_BY_KEY[key] in self._roles
        if key == TYPES:
            # Of a byte token, only what it decodes to shows the type.
            return self.settings is not None or self._facts.types is not None or bool(self._facts.token_bytes)
        return key != CHAT_TEMPLATE or self._facts.chat_template is not None

    @cached_property
    def _roles(self) -> Mapping[str, int]:
        declared = self._declared
        if self.settings is not None and declared is not None:
            # What llama.cpp takes for BOS and EOS by default is nothing that a .model says.
            unknown = frozenset() if self._facts.lists_all_roles else _AROUND.difference(declared.special_ids)
            return {role: id for role, id in self.settings.special_ids.items() if role not in unknown}
        return {role: id for role, id in self._facts.special_ids.items() if role in ROLES}

    def differing_bytes(self, encoder: Encoder) -> list[int]:
        """Return the ids that represent other bytes than in the reference, or that only one side has."""
        expected = self._facts.token_bytes
        pairs = zip(self.bytes_of(encoder), expected, strict=False)
        differing = [id for id, (ours, theirs) in enumerate(pairs) if ours != theirs]
        if self.settings is None:
            differing = [id for id in differing if not self._has_same_piece(id, encoder.settings.pieces)]
        pieces = encoder.settings.pieces
        differing = [id for id in differing if not self._is_padded(id, pieces) and not self._is_omitted(id, pieces)]
        differing += range(encoder.vocab_size, len(expected))
        if self._facts.lists_all_tokens:
            differing += self._find_beyond(encoder)
        return differing

    def _find_beyond(self, encoder: Encoder) -> list[int]:
        """Return the ids after those of the reference; what only the files beside it list is known, too."""
        after = without_padding(range(self._facts.listed_size, encoder.vocab_size), encoder.spec)
        return [id for id in after if encoder.settings.pieces[id] != self._facts.left_out.get(id)]

    def _has_same_piece(self, id: int, pieces: Sequence[str]) -> bool:
        others = self._facts.pieces
        # A piece such as `<0x0A>` represents a byte only if its type says so.
        return id < len(others) and others[id] == pieces[id] and not BYTE_PIECE.fullmatch(pieces[id])

    def _is_padded(self, id: int, pieces: Sequence[str]) -> bool:
        others = self._facts.pieces
        return id < len(others) and is_padded(pieces[id], others[id])

    def _is_omitted(self, id: int, pieces: Sequence[str]) -> bool:
        return self._facts.omitted.get(id) == pieces[id]

    def differing_types(self, encoder: Encoder) -> list[int]:
        """Return the ids whose types llama.cpp would treat in another way."""
        if self.settings is None:
            return sorted(patches_by_probing(self._facts, encoder.spec))
        unknown = self.settings.special_ids.get("unk")
        open_ids = {*self._facts.contradicted_tokens, *self._facts.left_out}
        pieces = encoder.settings.pieces
        pairs = enumerate(zip(encoder.settings.attributes, self.settings.attributes, strict=False))
        differing = {id: pair for id, pair in pairs if pair[0] != pair[1] and not self._is_omitted(id, pieces)}
        if differing and self._declared and (verbatim := answer_or(None, resolve, self._declared)):
            # A marker may have the type that the reference declares, as well as that of converters.
            differing = {id: pair for id, pair in differing.items() if pair[0] != verbatim.attributes[id]}

        def may_be_either(id: int, ours: int, theirs: int) -> bool:
            # Converters write either of the two for `<unk>`, and publishers for a token on which their files disagree,
            # or which only the files beside the reference list.
            are_matched = bool(ours & _MATCHED and theirs & _MATCHED)
            are_special = bool(ours & SPECIAL and theirs & SPECIAL)
            return (id == unknown and are_special) or (id in open_ids and are_matched)

        return [id for id, pair in differing.items() if not may_be_either(id, *pair)]

    def differing_roles(self, encoder: Encoder) -> list[str]:
        """Return the roles that have another token, or that end a generation on one side only."""
        ours = encoder.settings.special_ids
        roles = [role for role, id in self._roles.items() if ours.get(role) != id and self._matters(role, encoder)]
        if self.settings is None:
            return roles
        ends = encoder.settings.eog_ids
        if self._facts.lists_all_roles:
            roles += [role for role in ROLES if role in ours and role not in self._roles]
        elif "eos" in self._roles:
            # Of tokens that it does not list, the reference says nothing.
            ends = frozenset(id for id in ends if id < len(self.settings.pieces))
        else:
            return roles
        return roles or (["eog"] if ends != self.settings.eog_ids else [])

    def _matters(self, role: str, encoder: Encoder) -> bool:
        """Whether our side has the role, or should: other libraries also name an EOS where no generation ends."""
        if self.settings is not None or role in encoder.settings.special_ids:
            return True
        return role == encoder.settings.family.closing_role


class TokenBytes:
    """The bytes that tokens represent. Tokenizers that differ in few tokens share those of all others."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], bytes] = {}
        self._rule: tuple[object, bool] | None = None
        """What the bytes of a piece with its attributes depend on."""

    def __call__(self, encoder: Encoder) -> Iterable[bytes]:
        """Return the bytes of each token."""
        return encoder.bytes_of_tokens() if encoder.engine.name == NATIVE else self._look_up(encoder.settings)

    def _look_up(self, settings: Settings) -> Iterator[bytes]:
        rule = settings.family, settings.escape_whitespaces
        if rule != self._rule:
            self._rule, self._known = rule, {}
        for token in zip(settings.pieces, settings.attributes, strict=True):
            if token not in self._known:
                self._known[token] = settings.family.token_bytes(*token, settings)
            yield self._known[token]
