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
