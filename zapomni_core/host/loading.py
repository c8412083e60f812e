"""Takes plugins one after the other: what one offers is staged, checked, and taken together or not at all."""

import difflib
import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from zapomni_core.dispatch.dispatcher import Dispatcher
from zapomni_core.dispatch.middleware import STAGES, Link
from zapomni_core.errors import PluginError
from zapomni_core.host.commands import Commands
from zapomni_core.host.discovery import Found, name_problem, refusal
from zapomni_core.host.errands import Errand, Errands
from zapomni_core.host.hooks import Hooks, as_list, implements
from zapomni_core.host.importing import Import
from zapomni_core.host.mistakes import quoted
from zapomni_core.host.registry import CheckedTool, ToolRegistry, check_description, check_tool
from zapomni_core.host.report import HostReport, PluginReport
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.providers import KINDS, Provider, Providers
from zapomni_core.settings import Settings, ToolSettings, normalise

if TYPE_CHECKING:
    import click

SLOW_IMPORT_MS = 500
# How long all imports together are waited for one after the other, and then all hooks; from then on they overlap.
PATIENCE_SECONDS = 1.0

Lifespan = AbstractAsyncContextManager[None]


@dataclass(slots=True)
class Offer:
    """Everything one plugin offers, checked but not yet taken."""

    plugin: Any = None
    asked: str = "reading its hooks"
    hooks: Hooks | None = None
    returned_nothing: list[str] = field(default_factory=list)
    model: type[BaseModel] | None = None
    settings: BaseModel | None = None
    providers: list[Provider] = field(default_factory=list)
    tools: list[CheckedTool] = field(default_factory=list)
    set_aside: list[CheckedTool] = field(default_factory=list)
    own_names: dict[str, str] = field(default_factory=dict)
    middleware: list[Link] = field(default_factory=list)
    commands: "list[click.Command]" = field(default_factory=list)
    lifespan: Lifespan | None = None


Asked = tuple[PluginReport, str, Offer]
"""A plugin that is asked for what it offers: its report, its name, its offer."""


class Loader:
    """Loads plugins into a registry and a dispatcher, and reports what became of each."""

    def __init__(
        self,
        engine: MemoryEngine,
        settings: Settings,
        registry: ToolRegistry,
        dispatcher: Dispatcher,
        providers: Providers,
    ) -> None:
        self.report = HostReport()
        self.lifespans: dict[str, Lifespan] = {}
        self.commands = Commands()
        self._engine = engine
        self._settings = settings
        self._registry = registry
        self._dispatcher = dispatcher
        self._providers = providers
        self._errands = Errands()
        self._patience = PATIENCE_SECONDS
        self._offers: dict[int, Offer] = {}
        self._set_aside: list[CheckedTool] = []

    def load(self, found: Sequence[Found], meanwhile: Callable[[], object] = lambda: None) -> None:
        """Import what the user permits, then take each plugin in the order given.

        What they all provide comes first, for which tools a plugin offers may depend on it. Where an import takes long,
        `meanwhile` is called before anybody waits for it.
        """
        with Errands() as self._errands:
            imports = [(self.report.add(one), one) for one in found]
            started = [(report, one, self._begin(report, one)) for report, one in imports]
            if not all(import_.is_done for _, _, import_ in started if import_):
                meanwhile()
            opened = [(report, one.name, self._open(report, import_)) for report, one, import_ in started if import_]
            self._ask(opened, self._declare, self._provide)
            self._ask(opened, self._stage, self._accept)
        self._take_set_aside()

    def offer(self, report: PluginReport) -> Offer:
        """What is known of a plugin beside its report; nothing of one that was not imported."""
        return self._offers.get(id(report)) or Offer()

    def _begin(self, report: PluginReport, found: Found) -> Import | None:
        if reason := refusal(found, self._settings.plugins):
            report.state, report.cause = "disabled", reason
            return None
        if found.damage:
            fix = "install its package again, or remove that directory"
            report.fail(PluginError("discover", f"its package's metadata is damaged: {found.damage}", fix))
            return None
        problem = name_problem(found.name)
        before = self.report.plugins[: self.report.plugins.index(report)]
        taken = [one for one in before if one.name == found.name and one.state == "found"]
        if not problem and taken:
            problem = f"the name '{found.name}' belongs to a plugin of {taken[0].distribution or taken[0].source}"
        if problem:
            fix = "rename the file" if found.file else "rename its entry point"
            report.fail(PluginError("discover", problem, f"{fix}, or uninstall one of the two" if taken else fix))
            return None
        begun = Import(found, self._settings.plugins.import_seconds, self._errands)
        self._patience = begun.spend(self._patience)
        return begun

    def _open(self, report: PluginReport, under_way: Import) -> Offer:
        """Import a plugin; it offers nothing yet."""
        offer = self._offers[id(report)] = Offer()
        try:
            offer.plugin = under_way.finish()
        except PluginError as error:
            report.fail(error)
            return offer
        report.import_ms = round(under_way.seconds * 1000, 1)
        if report.import_ms > SLOW_IMPORT_MS:
            report.warnings.append(
                f"its import took {report.import_ms:.0f} ms: import heavy libraries where they are used"
            )
        return offer

    def _ask(
        self,
        opened: Sequence[Asked],
        ask: Callable[[Offer, str], None],
        take: Callable[[PluginReport, str, Offer], None],
    ) -> None:
        """Ask every plugin that has not failed, and take what they answer, in their order; each fails alone."""
        patience = min(PATIENCE_SECONDS, self._settings.plugins.import_seconds)
        under_way: list[tuple[Asked, Errand]] = []
        for report, name, offer in opened:
            if report.state != "failed":
                errand = self._errands.begin(partial(ask, offer, name))
                patience = errand.spend(patience)
                under_way.append(((report, name, offer), errand))
        for (report, name, offer), errand in under_way:
            try:
                self._check_done(errand, offer)
                take(report, name, offer)
            except PluginError as error:
                report.fail(error)
                self._providers.withdraw(name)

    def _check_done(self, errand: Errand, offer: Offer) -> None:
        """Wait for a plugin's own code; PluginError where it does not come back well and in time."""
        limit = self._settings.plugins.import_seconds
        if not errand.wait(limit):
            fix = "hooks only declare: do slow work in the lifespan or in a call, or raise plugins.import_seconds"
            raise PluginError("hooks", f"{offer.asked} took longer than {limit:g} s", fix)
        if isinstance(errand.error, PluginError):
            raise errand.error
        if errand.error is not None:
            cause = quoted(errand.error, offer.plugin)
            told = f"it raised {type(errand.error).__name__}"
            raise PluginError("hooks", cause, "mend or update the plugin, or disable it", told=told)

    def _provide(self, _report: PluginReport, name: str, offer: Offer) -> None:
        for provider in offer.providers:
            owner = self._providers.owner(provider)
            if owner == "" and self._providers.get(provider.kind, provider.name) == provider:
                continue  # a given engine has the built-in parts already
            if owner not in (None, name):
                cause = f"{provider.kind} '{provider.name}' already belongs to plugin '{owner}'"
                fix = f"rename it, or disable the other: zapomni plugins disable {owner}"
                raise PluginError("providers", cause, fix)
        self._providers.take(name, offer.providers)

    def _accept(self, report: PluginReport, name: str, offer: Offer) -> None:
        for tool in offer.tools:
            if (owner := self._registry.owner(tool.name)) is not None:
                raise _conflict(name, offer.own_names[tool.name], tool.name, owner)
        self.commands.check_free(name, offer.commands)
        self._registry.take(offer.tools)
        self._dispatcher.use(offer.middleware)
        self.commands.take(name, offer.commands)
        self._set_aside += offer.set_aside
        if offer.lifespan is not None:
            self.lifespans[name] = offer.lifespan
        report.state = "loaded"
        if offer.hooks is not None and offer.hooks.are_none:
            report.warnings.append(
                "it implements no hook, and so offers nothing: write @hookimpl above def zapomni_tools(), and return its tools"
            )
        report.warnings += [f"{hook} returned nothing: does it lack a return?" for hook in offer.returned_nothing]
        report.tools = [tool.name for tool in offer.tools]
        report.middleware = [f"{one.stage} {type(one.middleware).__name__}" for one in offer.middleware]
        report.commands = [str(command.name) for command in offer.commands]

    def _declare(self, offer: Offer, name: str) -> None:
        """Ask a plugin for what the others may depend on; runs in a thread, and changes nothing but the offer."""
        offer.hooks = Hooks(offer.plugin, name)
        offer.settings = self._plugin_settings(offer, name)
        provided = self._list(offer, "zapomni_providers", settings=offer.settings)
        offer.providers = _check_providers(provided)

    def _stage(self, offer: Offer, name: str) -> None:
        """Ask a plugin for all the rest; runs in a thread, and changes nothing but the offer."""
        given = {"engine": self._engine, "settings": offer.settings}
        for tool in self._list(offer, "zapomni_tools", **given):
            self._stage_tool(offer, tool, name)
        offer.middleware = [_check_middleware(one, name) for one in self._list(offer, "zapomni_middleware", **given)]
        offer.commands = self.commands.check(name, self._list(offer, "zapomni_commands", **given))
        offer.lifespan = _check_lifespan(self._call(offer, "zapomni_lifespan", **given))

    def _call(self, offer: Offer, hook: str, **given: Any) -> Any:
        offer.asked = hook
        answer = offer.hooks.call(hook, **given) if offer.hooks is not None else None
        # Of a lifespan, None is an answer too: there is nothing to open.
        if answer is None and hook != "zapomni_lifespan" and implements(offer.plugin, hook):
            offer.returned_nothing.append(hook)
        return answer

    def _list(self, offer: Offer, hook: str, **given: Any) -> list[Any]:
        return as_list(self._call(offer, hook, **given), offer.plugin, hook)

    def _plugin_settings(self, offer: Offer, name: str) -> BaseModel | None:
        model = self._call(offer, "zapomni_settings")
        table = self._settings.plugins.table(name)
        if model is None:
            if table:
                raise PluginError(
                    "settings", f"it takes no settings, but plugins.{name} has some", f"remove [plugins.{name}]"
                )
            return None
        if not (inspect.isclass(model) and issubclass(model, BaseModel)):
            raise PluginError("hooks", "zapomni_settings must return a pydantic model class", "return the class itself")
        offer.model = model
        try:
            return model.model_validate(table)
        except ValidationError as error:
            raise _settings_error(name, model, error) from None

    def _stage_tool(self, offer: Offer, tool: Any, plugin: str) -> None:
        offered, checked, settings = self._read_tool(offer, tool, plugin)
        if any(checked.name == one.name for one in [*offer.tools, *offer.set_aside]):
            raise PluginError("tools", f"it offers two tools named '{checked.name}'", "rename one of them")
        if not settings.enabled:
            return
        if settings.owner not in (None, normalise(plugin)):
            offer.set_aside.append(checked)
        else:
            offer.tools.append(checked)
            offer.own_names[checked.name] = offered

    def _read_tool(self, offer: Offer, tool: Any, plugin: str) -> tuple[str, CheckedTool, ToolSettings]:
        """A tool's own name, its checked parts, and the user's word on it; its properties may do anything."""
        offered: Any = None
        try:
            offered = getattr(tool, "name", None)
            renamed = self._settings.rename.get(f"{plugin}.{offered}")
            settings = self._settings.tools.get(str(renamed or offered), ToolSettings())
            checked = check_tool(tool, taken=lambda _: False, plugin=plugin, name=renamed)
        except (TypeError, ValueError) as error:
            cause = told = str(error)
        except BaseException as error:  # noqa: BLE001 (the seam: loading a plugin)
            cause = f"one of its parts raised {quoted(error, offer.plugin)}"
            told = f"one of its parts raised {type(error).__name__}"
        else:
            return str(offered), _in_users_words(checked, settings), settings
        name = repr(offered) if isinstance(offered, str) else f"of {type(tool).__name__}"
        fix = "mend the tool, or ask the plugin's author"
        raise PluginError("tools", f"tool {name}: {cause}", fix, told=f"tool {name}: {told}")

    def _take_set_aside(self) -> None:
        """A tool that another plugin was preferred for is offered after all where that plugin did not come."""
        for tool in self._set_aside:
            if tool.name in self._registry:
                continue
            self._registry.take([tool])
            if report := self.report.get(tool.plugin):
                wanted = self._settings.tools[tool.name].owner
                report.tools.append(tool.name)
                report.warnings.append(
                    f"offers '{tool.name}' because plugin '{wanted}', its owner by the settings, does not"
                )


def _in_users_words(tool: CheckedTool, settings: ToolSettings) -> CheckedTool:
    """The tool with the description that the settings give it, if they do."""
    if not settings.description:
        return tool
    try:
        return replace(tool, description=check_description(settings.description))
    except ValueError as error:
        setting = f"tools.{tool.name}.description"
        rule = str(error).removeprefix("Tool description ")
        fix = f"change or remove that setting: description in [tools.{tool.name}]"
        raise PluginError("tools", f"the setting {setting} is no description: {rule}", fix) from None


def _conflict(plugin: str, offered: str, name: str, owner: str) -> PluginError:
    fix = (
        f'keep both: [rename] "{plugin}.{offered}" = "{plugin}_{offered}"; '
        f'or prefer it: [tools.{name}] owner = "{plugin}"'
    )
    return PluginError("tools", f"tool '{name}' already belongs to plugin '{owner}'", fix)


def _check_providers(offered: Sequence[Any]) -> list[Provider]:
    checked: list[Provider] = []
    for provider in map(_check_provider, offered):
        if any((provider.kind, provider.name) == (one.kind, one.name) for one in checked):
            cause = f"it offers two parts of kind '{provider.kind}' named '{provider.name}'"
            raise PluginError("providers", cause, "rename one of them")
        checked.append(provider)
    return checked


def _check_provider(provider: Any) -> Provider:
    if not isinstance(provider, Provider) or not callable(provider.factory):
        fix = f"return Provider(kind=..., name=..., factory=...), with a kind of {', '.join(KINDS)}"
        raise PluginError("providers", "zapomni_providers offers something that is no provider", fix)
    if provider.kind not in KINDS:
        cause = f"provider '{provider.name}' is of kind '{provider.kind}', and there is no such kind"
        raise PluginError("providers", cause, f"the kinds are: {', '.join(KINDS)}")
    if not isinstance(provider.name, str) or not provider.name.strip():
        cause = f"a provider of kind '{provider.kind}' has the name {provider.name!r}, which nobody could choose"
        raise PluginError("providers", cause, "give it a name that the user writes in the settings")
    return provider


def _check_middleware(middleware: Any, plugin: str) -> Link:
    """The middleware with its stage, which is read once: a property that changes its mind later changes nothing."""
    stage = getattr(middleware, "stage", None)
    if stage not in STAGES:
        raise PluginError("middleware", f"stage {stage!r} is none", f"set stage to one of {', '.join(STAGES)}")
    if not (inspect.iscoroutinefunction(middleware) or inspect.iscoroutinefunction(type(middleware).__call__)):
        raise PluginError("middleware", "it is no async callable", "write 'async def __call__(self, call, call_next)'")
    try:
        inspect.signature(middleware).bind(None, None)
    except TypeError:
        cause = "it cannot be called with a call and call_next"
        raise PluginError("middleware", cause, "write 'async def __call__(self, call, call_next)'") from None
    return Link(plugin, stage, middleware)


def _check_lifespan(lifespan: Any) -> Lifespan | None:
    if lifespan is not None and not isinstance(lifespan, AbstractAsyncContextManager):
        cause = f"zapomni_lifespan returned {type(lifespan).__name__}, not an async context manager"
        raise PluginError(
            "lifespan", cause, "write it as a function with @asynccontextmanager, and return a call of it"
        )
    return lifespan


def _settings_error(name: str, model: type[BaseModel], error: ValidationError) -> PluginError:
    """All problems by key and rule; never a value, which may be a secret."""
    lines: list[str] = []
    unknown: list[str] = []
    wrong: list[str] = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        key = ".".join(map(str, problem["loc"]))
        is_unknown = problem["type"] == "extra_forbidden"
        nearest = difflib.get_close_matches(key, model.model_fields, n=1)
        hint = f", did you mean '{nearest[0]}'?" if is_unknown and nearest else ""
        lines.append(f"plugins.{name}.{key}: {problem['msg']}{hint}")
        (unknown if is_unknown else wrong).append(key)
    steps = [f"remove or correct {_settable(name, unknown)}"] if unknown else []
    steps += [f"set {_settable(name, wrong)}"] if wrong else []
    keys = [f"plugins.{name}.{key}" for key in unknown + wrong]
    return PluginError("settings", "; ".join(lines), "; ".join(steps), told=f"wrong: {', '.join(keys)}")


def _settable(name: str, keys: Sequence[str]) -> str:
    """Keys of a plugin's table, and where they can be set; a problem of the whole table has no key."""
    variable = f"ZAPOMNI_PLUGINS__{name.upper()}__{keys[0].upper().replace('.', '__') or 'KEY'}"
    return f"{', '.join(filter(None, keys)) or 'it'} in [plugins.{name}] or in {variable}"
