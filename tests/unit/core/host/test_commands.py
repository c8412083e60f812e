"""Commands of plugins that click would run without waiting for them."""

import asyncio
import functools

import click
import pytest

from zapomni_core.errors import PluginError
from zapomni_core.host.commands import Commands


@click.command()
async def plain():
    raise AssertionError


@click.command()
@click.pass_context
async def passed(_ctx):
    raise AssertionError


@click.group()
def group():
    """Weather."""


group.add_command(plain)


@pytest.mark.parametrize(("command", "name"), [(plain, "plain"), (passed, "passed"), (group, "group plain")])
def test_an_async_command_is_refused_because_it_would_do_nothing(command, name):
    with pytest.raises(PluginError, match=f"^command '{name}' is 'async def': ") as refused:
        Commands().check("weather", [command])
    assert (refused.value.stage, refused.value.fix) == (
        "commands",
        "make it 'def', and call asyncio.run(...) in it",
    )


@click.command()
def search():
    """One of zapomni's own names."""


def test_the_name_that_is_proposed_in_place_of_a_taken_one_can_be_taken():
    commands = Commands()
    with pytest.raises(PluginError) as refused:
        commands.check("my_weather", [search])
    assert refused.value.fix == "call it 'my-weather-search'"
    other = click.Command("forecast-of-the-whole-week")
    commands.take("other", [other])
    with pytest.raises(PluginError) as refused:
        commands.check_free("my_weather", [other])
    assert refused.value.fix == "call it 'my-weather-forecast-of-the-who', or disable one of the two"
    proposed = refused.value.fix.split("'")[1]
    assert commands.check("my_weather", [click.Command(proposed)])


def waited_for(function):
    """What authors write so that a command may be async."""

    @functools.wraps(function)
    def run(*args, **options):
        return asyncio.run(function(*args, **options))

    return run


@click.command()
@waited_for
async def waiting():
    """A command that is async within, and waited for."""


def test_an_async_command_that_its_author_waits_for_is_taken():
    assert Commands().check("weather", [waiting]) == [waiting]
