"""Assemble a page: one file that holds its styles, scripts and data, and can neither load nor send anything.

A page is complete without scripts, except that the page of `run` then only names failing cases. Only a page that
tokverify itself serves may send requests, and only to where it came from. Every text has passed `visible`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from markupsafe import Markup

from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from jinja2 import Environment

_IN_SCRIPT = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def page(template: str, scripts: Iterable[str], context: Mapping[str, object], *, is_served: bool = False) -> str:
    """Fill in a template; it escapes the texts in `context`, which must have passed `visible`.

    The template and the scripts are named relative to `tokverify/render/`. A page that is served may send requests.
    """
    style, script = _resource("html/page.css"), Markup("\n").join(map(_resource, scripts))
    policy = _policy(style, script, is_served=is_served)
    return _environment().get_template(template).render(context, style=style, script=script, policy=policy)


@cache
def _environment() -> Environment:
    """Make the environment, which keeps the compiled templates."""
    # Here, as a report in another format needs no templates.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        autoescape=True,
        loader=FunctionLoader(lambda name: str(_resource(name))),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page_top(name: str, verdict: str, exit_code: int, outcome: tuple[str, str]) -> dict[str, object]:
    """Return the top of a page about `name`, which has passed `visible`; `outcome` is a word, and what it means."""
    first, _, others = verdict.partition("; ")
    return {
        "title": f"{name}: {outcome[0].lower()}",
        "outcome": outcome[0],
        "exit_code": exit_code,
        "exit_meaning": outcome[1],
        "verdict": visible_message(first),
        "reservations": visible_message(others),
    }


def entries(values: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return names and values as texts that have passed `visible`."""
    shown = {
        name: ", ".join(map(str, each)) if isinstance(each, list | tuple) else each for name, each in values.items()
    }
    return [(visible_message(name), visible_message(str(value))) for name, value in shown.items()]


def version_list(versions: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the names and versions of libraries as texts that have passed `visible`."""
    return sorted((visible_message(name), visible_message(version)) for name, version in versions.items())


def script_json(data: object) -> Markup:
    """Write data as JSON that can neither end nor change the script element around it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.translate(_IN_SCRIPT))  # noqa: S704 - nothing is left in it that HTML would act on


def _resource(name: str) -> Markup:
    """Read a file of ours, which needs no escaping; `name` is relative to `tokverify/render/`."""
    return Markup(files("tokverify.render").joinpath(name).read_text(encoding="utf-8"))  # noqa: S704 - it is our own


def _policy(style: str, script: str, *, is_served: bool) -> str:
    """Return a policy that allows the browser this style and this script only."""
    allowed = [f"script-src {_source(script)}", f"style-src {_source(style)}", "img-src data:"]
    if is_served:
        allowed.append("connect-src 'self'")
    return "; ".join(["default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"])


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
