"""Generate configurations, suites, baselines, waivers, conversations and reports."""

import json
import random

from hostile.values import flip, number, short_text, text, to_json, usually

_DATE = "2030-01-01"


def toml(source: random.Random) -> dict[str, bytes]:
    """Make a configuration."""
    values = {
        "model": usually(source, "sample.gguf", "/etc/passwd", "../x.gguf", "*.gguf", text(source), share=0.1),
        "reference": usually(source, "sample.tokenizer.model", "rebuilt", "/etc/passwd", text(source), share=0.1),
        "cases": usually(source, ["cases.yml"], ["/etc"], [text(source)], ["**/*"], share=0.1),
        "tags": usually(source, ["accents"], [text(source)], share=0.5),
        "baseline": usually(source, "known.yaml", "/dev/zero", text(source), share=0.5),
        "name": usually(source, "a", text(source), share=0.5),
    }
    needed = {"model", "cases"} if source.random() < 0.95 else {"model"}
    chosen = {key: value for key, value in values.items() if key in needed or source.random() < 0.2}
    lines = ["[[models]]", *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in chosen.items())]
    return {"tokverify.toml": flip_sometimes(source, "\n".join(lines).encode("utf-8", "replace"))}


def flip_sometimes(source: random.Random, data: bytes) -> bytes:
    """Damage a few files."""
    return flip(source, data) if source.random() < 0.05 else data


def _yaml(source: random.Random, document: object) -> bytes:
    # JSON is YAML, but for a few characters.
    return flip_sometimes(source, to_json(source, document))


def suite(source: random.Random) -> dict[str, bytes]:
    """Make a suite of cases."""
    cases = [
        {
            "id": usually(source, f"c{at}", text(source), share=0.01),
            "text": _readable(source),
            **({"expect": {"sample": _ids(source)}} if source.random() < 0.5 else {}),
            **({"repeat": usually(source, 2, 10**6, number(source), share=0.1)} if source.random() < 0.2 else {}),
            **({"note": _readable(source)} if source.random() < 0.3 else {}),
            **({"parse_special": source.random() < 0.5} if source.random() < 0.3 else {}),
        }
        for at in range(source.choice((1, 3, 30)))
    ]
    return {"suite.yaml": _yaml(source, {"suite": usually(source, "s", text(source)), "cases": cases})}


def _readable(source: random.Random) -> str:
    """Return a text without the characters that YAML must escape, but for a few cases."""
    words = text(source)
    return words if source.random() < 0.01 else "".join(filter(str.isprintable, words))


def _ids(source: random.Random) -> list[object]:
    return [usually(source, source.randrange(2000), number(source), share=0.005) for _ in range(source.randrange(5))]


def baseline(source: random.Random) -> dict[str, bytes]:
    """Make a baseline by damaging the entries of a real one, or by adding others."""
    from hostile.execution import make_baseline

    entries: list[dict[str, object]] = json.loads(make_baseline())
    digest = usually(source, f"{source.getrandbits(64):016x}", text(source), share=0.05)
    added = {"case": usually(source, "s/a", text(source)), "difference": digest, "reason": _readable(source) or "r"}
    expiry = {"expires": usually(source, _DATE, "0001-01-01", text(source))} if source.random() < 0.3 else {}
    chosen = [*entries, {**added, **expiry}]
    return {"known.yaml": _yaml(source, source.sample(chosen, source.randint(0, len(chosen))))}


def waivers(source: random.Random) -> dict[str, bytes]:
    """Make a file of waivers."""
    entries = [
        {
            "code": usually(source, source.choice(("TV103", "TV107", "TV111", "TV130")), "TV999", text(source)),
            "reason": _readable(source) or "r",
            **({"ids": [_id(source) for _ in range(3)]} if source.random() < 0.5 else {}),
        }
        for _ in range(source.choice((1, 4)))
    ]
    return {"waivers.yaml": _yaml(source, entries)}


def _id(source: random.Random) -> object:
    return usually(source, source.randrange(300), "0-5", "5-0", number(source), "99999999999-1", text(source))


def conversations(source: random.Random) -> dict[str, bytes]:
    """Make conversations for chat templates."""
    entries = [
        {
            "id": usually(source, f"c{at}", text(source)),
            "messages": [_message(source) for _ in range(source.randint(1, 4))],
            **({"add_generation_prompt": source.random() < 0.5} if source.random() < 0.5 else {}),
            **({"variables": {short_text(source): _readable(source)}} if source.random() < 0.2 else {}),
            **(
                {"tools": [{"type": "function", "function": {"name": _readable(source)}}]}
                if source.random() < 0.2
                else {}
            ),
        }
        for at in range(source.choice((1, 3)))
    ]
    return {"conversations.yaml": _yaml(source, entries)}


def _message(source: random.Random) -> dict[str, object]:
    role = usually(source, source.choice(("user", "assistant", "system", "tool")), text(source))
    return {"role": role, "content": usually(source, _readable(source), None, [{"type": "text", "text": "a"}])}


def report(source: random.Random) -> dict[str, bytes]:
    """Make a saved report by damaging a real one."""
    from hostile.execution import make_reports

    return {"report.json": to_json(source, json.loads(source.choice(make_reports())))}
