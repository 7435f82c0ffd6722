"""Options that several commands share mean the same in each, as seen by inspecting the program itself."""

import re
from collections import defaultdict

import click
import pytest

from support.program import list_commands

SHARED_MEANING = {
    "--add-special": "Add BOS and EOS as (the file declares|each side does)",
    "--parse-special": "Recognize control tokens in the text",
    "--cases": "a suite or a directory of suites, or `shipped`",
    "--corpus": "file",
    "--diagnose": "Search for the cause of failures",
    "--force": "^(Overwrite (.* if it exists|existing files|files in DIR)|Let --save overwrite a file)",
    "--jobs": "N (models|processes|workers)",
    "--output": "[Ww]rite",
    "--quiet": "Show only the verdict",
    "--reference": "as (for|by) `tokverify run`|Compare with this tokenizer|this reference|What to compare with",
    "--stop-at-eos": "top before the first token that ends a generation",
    "--texts": "N (generated )?texts",
    "--thorough": "try twenty times as much before it gives up",
    "--verbose": "[Ss]how|no effect",
    "--vocab-size": "The number of tokens in total",
    "--jsonl": "Each line of the input is a JSON .*; write one object for each",
}
"""Option -> what its help says in every command, where the rest differs with what the command does."""

EXCEPTIONS = {("encode", "--ids")}
"""Where a command writes ids, `--ids` selects them; where a command reads ids, `--ids NAME` says where they are."""


def options() -> dict[str, list[tuple[str, click.Option]]]:
    """Return all options by their longest name, each with the commands that have it."""
    found = defaultdict(list)
    for name, command in list_commands():
        for option in command.params:
            longest = max(option.opts, key=len)
            if isinstance(option, click.Option) and (name, longest) not in EXCEPTIONS:
                found[longest].append((name, option))
    return dict(found)


SHARED = {name: uses for name, uses in options().items() if len(uses) > 1}


def form(option: click.Option) -> tuple[object, ...]:
    """Return how an option is written, and what kind of value it takes."""
    names = (frozenset(option.opts), frozenset(option.secondary_opts))
    return (*names, option.is_flag, option.multiple, option.nargs, option.type.name)


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_option_has_one_form(name: str):
    forms = {command: form(option) for command, option in SHARED[name]}
    assert len(set(forms.values())) == 1, forms


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_option_has_one_meaning(name: str):
    helps = {command: option.help or "" for command, option in SHARED[name]}
    if name in SHARED_MEANING:
        assert [command for command, help in helps.items() if not re.search(SHARED_MEANING[name], help)] == []
    else:
        assert len(set(helps.values())) == 1, helps


def test_no_name_belongs_to_two_options():
    owners = defaultdict(set)
    for name, uses in options().items():
        for _, option in uses:
            for each in (*option.opts, *option.secondary_opts):
                owners[each].add(name)
    assert {each: names for each, names in owners.items() if len(names) > 1} == {}


def test_the_table_lists_only_shared_options_that_need_it():
    helps = {name: {option.help for _, option in uses} for name, uses in SHARED.items()}
    assert [name for name in SHARED_MEANING if len(helps.get(name, ())) < 2] == []


def test_every_command_that_writes_reports_takes_the_same_options():
    required = {"--format", "--output", "--report", "--quiet", "--verbose", "--no-color"}
    for name, command in list_commands():
        names = {each for option in command.params for each in option.opts}
        assert "--report" not in names or required <= names, name
