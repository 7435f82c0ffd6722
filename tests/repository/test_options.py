"""Options that several commands share mean the same in each, as seen by inspecting the program itself."""

from collections import defaultdict
from collections.abc import Mapping

import click
import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from support.program import list_commands
from tokverify.commands.cli import main
from tokverify.render.kinds import SUFFIXES

MODEL = str(SAMPLE / "sample.gguf")

EXCEPTIONS: Mapping[str, Mapping[str, str]] = {
    "--add-special": {
        "default": "a corpus is trained on with the tokens around its documents",
        "help": "each command says which tokens",
    },
    "--fail-on": {"help": "each command says what can fail"},
    "--format": {"type": "what is no report is only printed or JSON"},
    "--ids": {
        "is_flag": "`encode` chooses a part of its output",
        "multiple": "a log has the ids in one or several fields",
        "metavar": "a log has the ids in a field",
        "help": "`encode` writes ids, and `corpus` reads them",
    },
    "--jobs": {
        "default": "a corpus uses all processors, since each process needs little memory",
        "show_default": "the number of processors is not known in advance",
    },
    "--judge": {
        "type": "`run` takes only its MODEL as the judge, `corpus` any third tokenizer",
        "metavar": "a choice shows its values",
        "help": "each command says what it fails on",
    },
    "--output": {
        "type": "a command rejects names that promise something other than its result",
        "metavar": "a result of several files is a directory",
        "required": "a result that is not a report cannot go to stdout",
        "help": "each command says what its result is",
    },
    "--reference": {
        "multiple": "`run` and `inspect` compare with several",
        "required": "`learn` has no MODEL, and `conformance` is about the reference",
        "help": "each command says what it does with the reference",
    },
    "--strict": {"help": "`convert` has no verdict: it does not write its result"},
    "--texts": {
        "default": "as many as suit the command; `fuzz` is limited by time",
        "type": "`fuzz` needs one text, and `inspect` counts the tokens of files",
        "multiple": "`inspect` reads several files",
        "metavar": "`inspect` reads files",
        "show_default": "`inspect` needs none",
        "help": "`inspect` counts the tokens of these texts",
    },
    "--time": {"help": "`diff` fuzzes only on request"},
    "--vocab-size": {"show_default": "each algorithm has the size that is usual for it"},
}
"""Option -> what may differ between commands, and why."""

BEGINNINGS = {
    "--add-special": "Add BOS and EOS as ",
    "--fail-on": "What fails: the lowest severity of ",
    "--output": "Write the result to this ",
    "--ids": "",
    "--judge": "",
    "--reference": "The reference ",
    "--strict": "",
    "--texts": "",
    "--time": "Fuzz for this time",
}
"""Option -> how its help begins in every command, where the rest differs."""


def options() -> dict[str, dict[str, click.Option]]:
    """Return all options by their longest name, each by the commands that have it."""
    found: dict[str, dict[str, click.Option]] = defaultdict(dict)
    for name, command in list_commands():
        for option in command.params:
            if isinstance(option, click.Option):
                # Two options of a command may set one value, as `--ids` and `--count` do.
                found[max(option.opts, key=len)][name] = option
    return dict(found)


SHARED = {name: uses for name, uses in options().items() if len(uses) > 1}


def describe(option: click.Option) -> dict[str, object]:
    """Return everything about an option that a user can notice."""
    return {
        "names": (frozenset(option.opts), frozenset(option.secondary_opts)),
        "is_flag": (option.is_flag, option.flag_value, option.count),
        "multiple": (option.multiple, option.nargs),
        "type": (type(option.type), option.type.to_info_dict()),
        "default": option.default,
        "show_default": option.show_default,
        "metavar": option.metavar,
        "required": option.required,
        "hidden": option.hidden,
        "help": option.help,
    }


def differing(uses: Mapping[str, click.Option]) -> set[str]:
    """Return what differs between the uses of an option in several commands."""
    first, *others = map(describe, uses.values())
    return {key for other in others for key in first if other[key] != first[key]}


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_option_is_the_same_in_every_command(name: str):
    assert differing(SHARED[name]) == set(EXCEPTIONS.get(name, ()))


def test_every_exception_is_a_shared_option():
    assert EXCEPTIONS.keys() <= SHARED.keys()
    assert {name for name, allowed in EXCEPTIONS.items() if "help" in allowed} == BEGINNINGS.keys()


@pytest.mark.parametrize("name", BEGINNINGS)
def test_help_that_differs_begins_in_the_same_way(name: str):
    helps = {command: option.help or "" for command, option in SHARED[name].items()}
    assert [command for command, help in helps.items() if not help.startswith(BEGINNINGS[name])] == []


def test_no_name_belongs_to_two_options():
    owners = defaultdict(set)
    for name, uses in options().items():
        for option in uses.values():
            for each in (*option.opts, *option.secondary_opts):
                owners[each].add(name)
    assert {each: names for each, names in owners.items() if len(names) > 1} == {}


def test_no_option_of_the_program_is_one_of_a_command():
    own = {each for option in main.params for each in option.opts}
    assert not own & {each for uses in options().values() for option in uses.values() for each in option.opts}


def test_every_reference_is_located_as_for_run():
    helps = {command: option.help or "" for command, option in SHARED["--reference"].items() if command != "run"}
    assert [command for command, help in helps.items() if ", as for `tokverify run`" not in help] == []


def test_every_command_that_writes_reports_takes_the_same_options():
    required = {"--format", "--output", "--report", "--quiet", "--verbose", "--no-color"}
    for name, command in list_commands():
        names = {each for option in command.params for each in option.opts}
        assert "--report" not in names or required <= names, name


def test_every_report_has_every_format():
    choices = {name: use.type.to_info_dict()["choices"] for name, use in SHARED["--format"].items()}
    reports = {tuple(choices[name]) for name in choices if name in SHARED["--report"]}
    assert reports == {tuple(max(choices.values(), key=len))}
    assert {tuple(choices[name]) for name in choices if name not in SHARED["--report"]} == {("table", "json")}


FINDERS = ["audit", "chat"]
"""The commands whose findings have only a severity."""


@pytest.mark.parametrize(("names", "rejected"), [("decoding", "decoding"), ("error,size", "size")])
@pytest.mark.parametrize("command", FINDERS)
def test_a_name_after_fail_on_that_would_have_no_effect_is_rejected(command: str, names: str, rejected: str):
    result = CliRunner().invoke(main, [command, MODEL, "--fail-on", names])
    assert result.exit_code == 2
    assert f"'{rejected}' has no effect on findings" in result.stderr
    assert "(info, warning, error)" in result.stderr


def test_rules_that_do_not_apply_are_not_counted_as_not_compared():
    result = CliRunner().invoke(main, ["audit", MODEL, "--fail-on", "not-compared"])
    assert (result.exit_code, "'not-compared' has no effect on findings" in result.stderr) == (2, True)


def arguments(name: str) -> list[str]:
    """Return the fewest arguments that a command accepts, in which every input is the sample."""
    required = [each for each in dict(list_commands())[name].params if each.required]
    named = [word for each in required if isinstance(each, click.Option) for word in (each.opts[0], MODEL)]
    return [*named, *(MODEL for each in required if isinstance(each, click.Argument))] or [MODEL]


PRODUCERS = [
    name
    for name, option in SHARED["--output"].items()
    if option.metavar == "FILE" and name not in options()["--report"]
]


@pytest.mark.parametrize("suffix", [".html", ".htm", ".xml", ".sarif", ".md"])
@pytest.mark.parametrize("name", PRODUCERS)
def test_no_result_is_written_to_a_file_named_like_a_report(tmp_path, name: str, suffix: str):
    path = tmp_path / f"x{suffix}"
    assert suffix in SUFFIXES
    result = CliRunner().invoke(main, [*name.split(), *arguments(name), "-o", str(path)])
    assert (result.exit_code, str(path) in result.stderr, path.exists()) == (2, True, False), result.output
