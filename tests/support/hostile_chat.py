"""A report of `tokverify chat` with every kind of content, in which every text is an attack."""

from support.make_golden import MARKUP
from tokverify.chat.conversation import Conversation
from tokverify.chat.rendering import Rendering
from tokverify.report.chat import ChatFinding, ChatReport, Rendered, Template
from tokverify.report.finding import Severity
from tokverify.report.run import Side
from tokverify.tokenizer import Token
from tokverify.verify.alignment import compare

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
    drifting = Rendered(
        own,
        "default",
        Rendering(f"{_LONG}{hostile} same {hostile}\nend"),
        Rendering(f"{_LONG}{hostile} other\n{hostile}\nend\n"),
        actual_ids=(1, 2),
        expected_ids=(2,),
    )
    differing = Rendered(
        shipped,
        "default",
        Rendering(hostile),
        Rendering(hostile),
        actual_ids=(1, 2),
        expected_ids=(2, 2),
        difference=compare([token, other], [other, other]),
    )
    failing = Rendered(own, hostile, Rendering(error=hostile, deliberate=True), Rendering(error=hostile))
    refused = Rendered(shipped, hostile, Rendering(hostile), None, actual_refusal=hostile, expected_refusal=hostile)
    return ChatReport(
        Side("[red]\x1b[31mmodel\u202e", f"models/{hostile}.gguf", fingerprint="0123456789abcdef" * 4),
        Side("fake", hostile, reason=hostile, caveat=hostile),
        (Template("default", hostile, f"{hostile}\nmore"), Template(hostile, "x"), Template("third", None, hostile)),
        (drifting, differing, failing, refused),
        (
            ChatFinding(Severity.ERROR, "drift", hostile, "default", (hostile,)),
            ChatFinding(Severity.ERROR, "ids", hostile, "default", ("shipped",)),
            ChatFinding(Severity.ERROR, "missing", hostile, "third"),
            ChatFinding(Severity.WARNING, "lost-content", hostile, hostile, (hostile, "shipped")),
            ChatFinding(Severity.INFO, "double-bos", hostile, "default", (hostile, "shipped")),
            ChatFinding(Severity.INFO, "missing", hostile, hostile),
        ),
        (hostile, "the reference's ids"),
        options={"model": hostile, "reference": None, "conversations": "my[1].yaml"},
        versions={"tokverify": "1.2.3", "jinja2": hostile},
    )
