"""Checks of the commands that plugins offer."""

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
def test_an_async_command_is_rejected_because_click_would_not_await_it(command, name):
    with pytest.raises(PluginError, match=f"'{name}'") as refused:
        Commands().check("weather", [command])
    assert refused.value.stage == "commands"
    assert "asyncio.run" in refused.value.fix


@click.command()
def search():
    """Has the name of a built-in command."""


def test_the_suggested_replacement_for_a_taken_name_is_accepted():
    commands = Commands()
    with pytest.raises(PluginError) as refused:
        commands.check("my_weather", [search])
    assert "'my-weather-search'" in refused.value.fix
    other = click.Command("forecast-of-the-whole-week")
    commands.take("other", [other])
    with pytest.raises(PluginError) as refused:
        commands.check_free("my_weather", [other])
    proposed = refused.value.fix.split("'")[1]
    assert proposed == "my-weather-forecast-of-the-who"
    assert commands.check("my_weather", [click.Command(proposed)])


def run_to_completion(function):
    """A decorator that runs an async command to its end."""

    @functools.wraps(function)
    def run(*args, **options):
        return asyncio.run(function(*args, **options))

    return run


@click.command()
@run_to_completion
async def waiting():
    """A synchronous command around an async function."""


def test_an_async_function_wrapped_in_a_synchronous_command_is_accepted():
    assert Commands().check("weather", [waiting]) == [waiting]
