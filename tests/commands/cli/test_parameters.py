"""Parameters that the fields of options classes declare."""

from dataclasses import dataclass, fields

import click
import pytest
from click.testing import CliRunner

from tokverify.commands.cli import main
from tokverify.commands.cli.parameters import argument, either, is_recorded, named, narrow, option, takes


@dataclass(frozen=True, kw_only=True)
class Base:
    size: int = option("--size", type=int, default=1)
    quiet: bool = option("-q", "--quiet", is_flag=True, recorded=False)


@dataclass(frozen=True, kw_only=True)
class Options(Base):
    file: str = argument()
    size: int = option("--length", type=int, default=2)
    most: int | None = either(option("--most", type=int), option("--one", flag_value=1, type=int))
    chosen: str = "none"


@click.command()
@takes(Options)
@named(last=option("--last", expose_value=False))
def command(options: Options) -> None:
    click.echo(repr(vars(options)))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["x"], {"size": 2, "quiet": False, "file": "x", "most": None, "chosen": "none"}),
        (["x", "--one", "--length", "5"], {"size": 5, "quiet": False, "file": "x", "most": 1, "chosen": "none"}),
        (["-q", "--most", "3", "x"], {"size": 2, "quiet": True, "file": "x", "most": 3, "chosen": "none"}),
    ],
)
def test_a_command_takes_its_options_as_one_object(arguments, expected):
    assert CliRunner().invoke(command, arguments).output == f"{expected}\n"


def test_own_parameters_come_first_then_inherited_ones_then_those_of_decorators():
    assert [parameter.name for parameter in command.params] == ["file", "size", "most", "most", "quiet", "last"]


def test_an_overridden_field_replaces_the_option():
    assert CliRunner().invoke(command, ["x", "--size", "3"]).exit_code == 2


def test_fields_are_recorded_unless_they_say_otherwise():
    assert [each.name for each in fields(Options) if is_recorded(each)] == ["size", "file", "most", "chosen"]


def test_options_of_another_class_are_taken_over_by_name():
    values = {"size": 7, "quiet": True, "file": "a", "more": 1}
    assert narrow(Base, values) == Base(size=7, quiet=True)


def _commands(group: click.Group):
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        yield from _commands(found) if isinstance(found, click.Group) else [found]


def test_no_command_has_two_parameters_for_one_option():
    for found in _commands(main):
        names = [name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)]
        assert len(names) == len(set(names)), found.name
