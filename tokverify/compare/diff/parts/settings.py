"""Compare the settings, added tokens and chat templates of two tokenizers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokverify.compare.diff.parts.declared import Declared, compare_entries, compare_values, digest
from tokverify.compare.template_difference import quote_first_difference
from tokverify.report.diff import PartChange


def compare_settings(old: Declared, new: Declared) -> Iterator[PartChange]:
    """Yield the settings that changed, by name."""
    yield from compare_values(_list_settings(old), _list_settings(new), ignored="added_tokens")


def _list_settings(declared: Declared) -> dict[str, object]:
    from tokverify.compare.side import describe_settings

    spec = declared.spec
    values: dict[str, object] = {"model": spec.model, "charsmap": spec.charsmap and digest(spec.charsmap)}
    if declared.settings is not None:
        values |= _flatten(describe_settings(declared.settings))
    # What ends a generation follows from these roles.
    hidden = {f"special_ids.{role}" for role in declared.unnamed} | ({"eog_ids"} if declared.unnamed else set())
    return {name: value for name, value in values.items() if name not in hidden}


def _flatten(settings: Mapping[str, object]) -> dict[str, object]:
    """Turn `{"special_ids": {"bos": 1}}` into `{"special_ids.bos": 1}`."""
    flat: dict[str, object] = {}
    for name, value in settings.items():
        flat |= {f"{name}.{key}": each for key, each in value.items()} if isinstance(value, dict) else {name: value}
    return flat


def compare_added_tokens(old: Declared, new: Declared) -> Iterator[PartChange]:
    """Yield the added tokens that were added, removed or changed."""
    yield from compare_entries(_list_added(old), _list_added(new))


def _list_added(declared: Declared) -> dict[str, object]:
    """Map the text of each added token to a description."""
    described: dict[str, object] = {}
    for token in declared.settings.added_tokens if declared.settings else ():
        flags = ["control" if token.special else "user-defined"]
        flags += [flag for flag in ("lstrip", "rstrip") if getattr(token, flag)]
        described[token.text] = ", ".join(flags)
    return described


def hides_templates(old: Declared, new: Declared) -> bool:
    """Check whether one version is a file without those that would contain its EOS and its chat templates."""
    return "eos" in old.unnamed and not (old.spec.templates and new.spec.templates)


def compare_templates(old: Declared, new: Declared) -> Iterator[PartChange]:
    """Yield the chat templates that changed."""
    if not hides_templates(old, new):
        templates = old.spec.templates, new.spec.templates
        yield from compare_values(_describe_templates(*templates), _describe_templates(*reversed(templates)))


def _describe_templates(templates: Mapping[str, str], others: Mapping[str, str]) -> dict[str, object]:
    """Describe each template by its length, a digest, and where it first differs from the other one of its name."""
    described: dict[str, object] = {}
    for name, text in templates.items():
        size = f"{len(text):,} characters, {digest(text.encode('utf-8', 'surrogatepass'))}"
        other = others.get(name, text)
        line, quoted, _ = quote_first_difference(text, other)
        described[name] = size if other == text else f"{size}; line {line}: {quoted}"
    return described
