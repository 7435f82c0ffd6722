"""A report of `tokverify chat` with every kind of content, in which every text is an attack."""

from support.make_golden import MARKUP
from tokverify.chat.text_difference import compare_texts, to_text_difference
from tokverify.report.chat import (
    ChatFinding,
    ChatReport,
    Conversation,
    RenderedConversation,
    Rendering,
    Template,
    TextDifference,
)
from tokverify.report.finding import Severity
from tokverify.report.side import Side
from tokverify.texts.alignment import compare
from tokverify.tokenizer import Token

HOSTILE = f"{MARKUP}\x1b[31m\u202e\0\udc80[/INST][red]"
_LONG = "equal\n" * 20


def hostile_chat(hostile: str = HOSTILE) -> ChatReport:
    """Make a report with a result and a finding of every kind, and a hostile text wherever possible."""
    own = Conversation(
        id=hostile,
        messages=[{"role": hostile, "content": hostile}, {"role": "user", "content": [{"type": "text", "text": "x"}]}],
        note=hostile,
        needs=hostile,
        tools=[{"function": {"name": hostile}}],
        add_generation_prompt=True,
        variables={hostile: [hostile, 1, None, True]},
        file="my[1].yaml",
        line=7,
    )
    shipped = Conversation(id="shipped", messages=[{"role": "user", "content": None}], line=3)
    token, other = Token(1, hostile, hostile.encode("utf-8", "surrogateescape")), Token(2, "a", b"a")
    texts = f"{_LONG}{hostile} same {hostile}\nend", f"{_LONG}{hostile} other\n{hostile}\nend\n"
    drifting = RenderedConversation(
        template="default",
        conversation=own.id,
        actual=Rendering(texts[0]),
        expected=Rendering(texts[1]),
        text_difference=text_difference(*texts),
        actual_ids=(1, 2),
        expected_ids=(2,),
    )
    differing = RenderedConversation(
        template="default",
        conversation=shipped.id,
        actual=Rendering(hostile),
        expected=Rendering(hostile),
        actual_ids=(1, 2),
        expected_ids=(2, 2),
        difference=compare([token, other], [other, other]),
    )
    failing = RenderedConversation(
        template=hostile,
        conversation=own.id,
        actual=Rendering(error=hostile, deliberate=True),
        expected=Rendering(error=hostile),
    )
    refused = RenderedConversation(
        template=hostile,
        conversation=shipped.id,
        actual=Rendering(hostile),
        actual_refusal=hostile,
        expected_refusal=hostile,
    )
    sources = hostile, f"{hostile}\nmore"
    return ChatReport(
        actual=Side("[red]\x1b[31mmodel\u202e", f"models/{hostile}.gguf", fingerprint="0123456789abcdef" * 4),
        expected=Side("fake", hostile, reason=hostile, caveat=hostile),
        findings=(
            ChatFinding(Severity.ERROR, "drift", "default", hostile, (hostile,)),
            ChatFinding(Severity.ERROR, "ids", "default", hostile, ("shipped",)),
            ChatFinding(Severity.ERROR, "missing", "third", hostile),
            ChatFinding(Severity.WARNING, "lost-content", hostile, hostile, (hostile, "shipped")),
            ChatFinding(Severity.INFO, "double-bos", "default", hostile, (hostile, "shipped")),
            ChatFinding(Severity.INFO, "missing", hostile, hostile),
        ),
        not_checked=(hostile, "the reference's ids"),
        templates=(
            Template("default", *sources, text_difference(*sources)),
            Template(hostile, "x"),
            Template("third", None, hostile),
        ),
        conversations=(own, shipped),
        results=(drifting, differing, failing, refused),
        options={"model": hostile, "reference": None, "conversations": "my[1].yaml"},
        versions={"tokverify": "1.2.3", "jinja2": hostile},
    )


def text_difference(actual: str, expected: str) -> TextDifference:
    """Align two texts for a report."""
    return to_text_difference(compare_texts(actual, expected))
