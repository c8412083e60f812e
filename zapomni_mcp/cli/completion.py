"""`zapomni completion`: the completion script of a shell; and what completes plugins' names."""

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a shell's completion script.

    \b
    bash: zapomni completion bash > ~/.local/share/bash-completion/completions/zapomni
    zsh:  zapomni completion zsh > ~/.zfunc/_zapomni    (a directory in $fpath)
    fish: zapomni completion fish > ~/.config/fish/completions/zapomni.fish
    """  # noqa: D301 (click's mark for lines that stay as they are)
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script is not None  # noqa: S101 (click.Choice let the shell through)
    click.echo(script(ctx.find_root().command, {}, "zapomni", "_ZAPOMNI_COMPLETE").source())


def plugin_names(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The names of installed plugins that begin like that."""
    from zapomni_core.host.discovery import discover

    return [one.name for one in discover() if one.name.startswith(incomplete)]
