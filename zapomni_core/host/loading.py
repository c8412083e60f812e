"""Loads plugins one by one: everything a plugin offers is checked first, then registered together or not at all."""

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
from zapomni_core.host.hooks import Hooks, as_list, implements
from zapomni_core.host.importing import BackgroundCall, Import, SequentialWait
from zapomni_core.host.registry import CheckedTool, ToolRegistry, check_description, check_tool
from zapomni_core.host.report import HostReport, PluginReport
from zapomni_core.host.tracebacks import quoted
from zapomni_core.memory.engine import MemoryEngine
from zapomni_core.providers import KINDS, Provider, Providers
from zapomni_core.settings import Settings, ToolSettings, normalise

if TYPE_CHECKING:
    import click

SLOW_IMPORT_MS = 500
SEQUENTIAL_SECONDS = 1.0
"""The time for which plugins are imported, and their hooks called, one after the other; after that, they overlap."""

Lifespan = AbstractAsyncContextManager[None]


@dataclass(slots=True)
class Offer:
    """Everything one plugin offers, checked but not yet registered."""

    report: PluginReport
    plugin: Any = None
    hooks: Hooks | None = None
    current_hook: str = "reading its hooks"
    empty_hooks: list[str] = field(default_factory=list)
    model: type[BaseModel] | None = None
    settings: BaseModel | None = None
    providers: list[Provider] = field(default_factory=list)
    tools: list[CheckedTool] = field(default_factory=list)
    deferred_tools: list[CheckedTool] = field(default_factory=list)
    original_names: dict[str, str] = field(default_factory=dict)
    middleware: list[Link] = field(default_factory=list)
    commands: "list[click.Command]" = field(default_factory=list)
    lifespan: Lifespan | None = None

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.report.name


class Loader:
    """Loads plugins into a registry and a dispatcher, and reports on each."""

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
        self._offers: list[Offer] = []

    def load(self, found: Sequence[Found], meanwhile: Callable[[], object] = lambda: None) -> None:
        """Import the plugins that the settings permit, then register what each offers, in the order given.

        Providers of all plugins come first, because the tools of a plugin may depend on them. If an import takes long,
        `meanwhile` is called before waiting for it.
        """
        reports = [self.report.add(one) for one in found]
        limit = self._settings.plugins.import_seconds
        wait = SequentialWait(SEQUENTIAL_SECONDS)
        started: list[tuple[PluginReport, Import]] = []
        for report, one in zip(reports, found, strict=True):
            if self._is_permitted(report, one):
                started.append((report, Import(one, limit)))
                wait.wait_for(started[-1][1].call, limit)
        if not all(import_.call.is_done for _, import_ in started):
            meanwhile()
        offers = [_imported(report, import_) for report, import_ in started]
        self._offers += offers
        self._ask(offers, self._declare, self._register_providers)
        self._ask(offers, self._collect, self._register)
        self._register_deferred_tools(offers)

    def offer(self, report: PluginReport) -> Offer:
        """The offer of a plugin beside its report; empty if it was not imported."""
        return next((one for one in self._offers if one.report is report), Offer(report))

    def _is_permitted(self, report: PluginReport, found: Found) -> bool:
        """Whether a plugin may be imported; if not, its report says why."""
        if reason := refusal(found, self._settings.plugins):
            report.state, report.cause = "disabled", reason
            return False
        if found.damage:
            fix = "install its package again, or remove that directory"
            report.fail(PluginError("discover", f"its package's metadata is damaged: {found.damage}", fix))
            return False
        rename = "rename the file" if found.file else "rename its entry point"
        if problem := name_problem(found.name):
            report.fail(PluginError("discover", problem, rename))
            return False
        before = self.report.plugins[: self.report.plugins.index(report)]
        if owner := next((one for one in before if one.name == found.name and one.state == "found"), None):
            cause = f"the name '{found.name}' belongs to a plugin of {owner.distribution or owner.source}"
            report.fail(PluginError("discover", cause, f"{rename}, or uninstall one of the two"))
            return False
        return True

    def _ask(self, offers: Sequence[Offer], ask: Callable[[Offer], None], register: Callable[[Offer], None]) -> None:
        """Run `ask` in a thread for each plugin that has not failed, then `register` them in order; each fails alone."""
        wait = SequentialWait(min(SEQUENTIAL_SECONDS, self._settings.plugins.import_seconds))
        calls: list[tuple[Offer, BackgroundCall]] = []
        for offer in offers:
            if offer.report.state != "failed":
                calls.append((offer, BackgroundCall(partial(ask, offer))))
                wait.wait_for(calls[-1][1])
        for offer, call in calls:
            try:
                self._check_done(call, offer)
                register(offer)
            except PluginError as error:
                offer.report.fail(error)
                self._providers.withdraw(offer.name)

    def _check_done(self, call: BackgroundCall, offer: Offer) -> None:
        """Wait for a plugin's hooks; PluginError if they failed or took too long."""
        limit = self._settings.plugins.import_seconds
        if not call.wait(limit):
            fix = "hooks only declare: do slow work in the lifespan or in a call, or raise plugins.import_seconds"
            raise PluginError("hooks", f"{offer.current_hook} took longer than {limit:g} s", fix)
        if isinstance(call.error, PluginError):
            raise call.error
        if call.error is not None:
            cause = quoted(call.error, offer.plugin)
            public_cause = f"it raised {type(call.error).__name__}"
            raise PluginError("hooks", cause, "fix or update the plugin, or disable it", public_cause=public_cause)

    def _register_providers(self, offer: Offer) -> None:
        for provider in offer.providers:
            owner = self._providers.owner(provider)
            if owner == "" and self._providers.get(provider.kind, provider.name) == provider:
                continue  # a given engine has the built-in parts already
            if owner not in (None, offer.name):
                cause = f"{provider.kind} '{provider.name}' already belongs to plugin '{owner}'"
                fix = f"rename it, or disable the other: zapomni plugins disable {owner}"
                raise PluginError("providers", cause, fix)
        self._providers.take(offer.name, offer.providers)

    def _register(self, offer: Offer) -> None:
        for tool in offer.tools:
            if (owner := self._registry.owner(tool.name)) is not None:
                raise _conflict(offer.name, offer.original_names[tool.name], tool.name, owner)
        self.commands.check_free(offer.name, offer.commands)
        self._registry.take(offer.tools)
        self._dispatcher.use(offer.middleware)
        self.commands.take(offer.name, offer.commands)
        if offer.lifespan is not None:
            self.lifespans[offer.name] = offer.lifespan
        report = offer.report
        report.state = "loaded"
        if offer.hooks is not None and offer.hooks.is_empty:
            report.warnings.append(
                "it implements no hook, so it offers nothing: write @hookimpl above def zapomni_tools(), and return its tools"
            )
        report.warnings += [f"{hook} returned nothing: does it lack a return?" for hook in offer.empty_hooks]
        report.tools = [tool.name for tool in offer.tools]
        report.middleware = [f"{one.stage} {type(one.middleware).__name__}" for one in offer.middleware]
        report.commands = [str(command.name) for command in offer.commands]

    def _register_deferred_tools(self, offers: Sequence[Offer]) -> None:
        """Register the tools that the settings give to another plugin, where that plugin does not offer them."""
        for offer in offers:
            for tool in offer.deferred_tools:
                if offer.report.state == "loaded" and tool.name not in self._registry:
                    self._registry.take([tool])
                    preferred = self._settings.tools[tool.name].owner
                    offer.report.tools.append(tool.name)
                    offer.report.warnings.append(
                        f"offers '{tool.name}' because plugin '{preferred}', its owner by the settings, does not"
                    )

    def _declare(self, offer: Offer) -> None:
        """Ask for the hooks that other plugins may depend on. Runs in a thread and changes only the offer."""
        offer.hooks = Hooks(offer.plugin, offer.name)
        offer.settings = self._plugin_settings(offer)
        provided = self._list(offer, "zapomni_providers", settings=offer.settings)
        offer.providers = _check_providers(provided)

    def _collect(self, offer: Offer) -> None:
        """Ask for the other hooks. Runs in a thread and changes only the offer."""
        given = {"engine": self._engine, "settings": offer.settings}
        for tool in self._list(offer, "zapomni_tools", **given):
            self._collect_tool(offer, tool)
        offer.middleware = [
            _check_middleware(one, offer.name) for one in self._list(offer, "zapomni_middleware", **given)
        ]
        offer.commands = self.commands.check(offer.name, self._list(offer, "zapomni_commands", **given))
        offer.lifespan = _check_lifespan(self._call(offer, "zapomni_lifespan", **given))

    def _call(self, offer: Offer, hook: str, **given: Any) -> Any:
        offer.current_hook = hook
        answer = offer.hooks.call(hook, **given) if offer.hooks is not None else None
        # A lifespan may be None: there is nothing to open.
        if answer is None and hook != "zapomni_lifespan" and implements(offer.plugin, hook):
            offer.empty_hooks.append(hook)
        return answer

    def _list(self, offer: Offer, hook: str, **given: Any) -> list[Any]:
        return as_list(self._call(offer, hook, **given), offer.plugin, hook)

    def _plugin_settings(self, offer: Offer) -> BaseModel | None:
        model = self._call(offer, "zapomni_settings")
        table = self._settings.plugins.table(offer.name)
        if model is None:
            if table:
                raise PluginError(
                    "settings",
                    f"it takes no settings, but plugins.{offer.name} has some",
                    f"remove [plugins.{offer.name}]",
                )
            return None
        if not (inspect.isclass(model) and issubclass(model, BaseModel)):
            raise PluginError("hooks", "zapomni_settings must return a pydantic model class", "return the class itself")
        offer.model = model
        try:
            return model.model_validate(table)
        except ValidationError as error:
            raise _settings_error(offer.name, model, error) from None

    def _collect_tool(self, offer: Offer, tool: Any) -> None:
        original_name, checked, settings = self._check_tool(offer, tool)
        if any(checked.name == one.name for one in [*offer.tools, *offer.deferred_tools]):
            raise PluginError("tools", f"it offers two tools named '{checked.name}'", "rename one of them")
        if not settings.enabled:
            return
        if settings.owner not in (None, normalise(offer.name)):
            offer.deferred_tools.append(checked)
        else:
            offer.tools.append(checked)
            offer.original_names[checked.name] = original_name

    def _check_tool(self, offer: Offer, tool: Any) -> tuple[str, CheckedTool, ToolSettings]:
        """A tool's original name, the checked tool and its settings; PluginError if its properties raise."""
        original: Any = None
        try:
            original = getattr(tool, "name", None)
            renamed = self._settings.rename.get(f"{offer.name}.{original}")
            settings = self._settings.tools.get(str(renamed or original), ToolSettings())
            checked = check_tool(tool, taken=lambda _: False, plugin=offer.name, name=renamed)
        except (TypeError, ValueError) as error:
            cause = public_cause = str(error)
        except BaseException as error:  # noqa: BLE001 (the seam: loading a plugin)
            cause = f"one of its parts raised {quoted(error, offer.plugin)}"
            public_cause = f"one of its parts raised {type(error).__name__}"
        else:
            return str(original), _with_description(checked, settings), settings
        name = repr(original) if isinstance(original, str) else f"of {type(tool).__name__}"
        fix = "fix the tool, or ask the plugin's author"
        raise PluginError("tools", f"tool {name}: {cause}", fix, public_cause=f"tool {name}: {public_cause}")


def _imported(report: PluginReport, import_: Import) -> Offer:
    """Wait for an import; the offer of a plugin that was not asked yet."""
    offer = Offer(report)
    try:
        offer.plugin = import_.result()
    except PluginError as error:
        report.fail(error)
        return offer
    report.import_ms = round(import_.call.seconds * 1000, 1)
    if report.import_ms > SLOW_IMPORT_MS:
        report.warnings.append(f"its import took {report.import_ms:.0f} ms: import heavy libraries where they are used")
    return offer


def _with_description(tool: CheckedTool, settings: ToolSettings) -> CheckedTool:
    """The tool with the description in the settings, if there is one."""
    if not settings.description:
        return tool
    try:
        return replace(tool, description=check_description(settings.description))
    except ValueError as error:
        setting = f"tools.{tool.name}.description"
        rule = str(error).removeprefix("Tool description ")
        fix = f"change or remove that setting: description in [tools.{tool.name}]"
        raise PluginError("tools", f"the setting {setting} is not a valid description: {rule}", fix) from None


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
        raise PluginError("providers", "zapomni_providers returned an object that is not a Provider", fix)
    if provider.kind not in KINDS:
        cause = f"provider '{provider.name}' has the unknown kind '{provider.kind}'"
        raise PluginError("providers", cause, f"the kinds are: {', '.join(KINDS)}")
    if not isinstance(provider.name, str) or not provider.name.strip():
        cause = f"a provider of kind '{provider.kind}' has an invalid name: {provider.name!r}"
        raise PluginError("providers", cause, "give it a name that the user writes in the settings")
    return provider


def _check_middleware(middleware: Any, plugin: str) -> Link:
    """The middleware with its stage, which is read only once."""
    stage = getattr(middleware, "stage", None)
    if stage not in STAGES:
        raise PluginError("middleware", f"unknown stage {stage!r}", f"set stage to one of {', '.join(STAGES)}")
    if not (inspect.iscoroutinefunction(middleware) or inspect.iscoroutinefunction(type(middleware).__call__)):
        raise PluginError(
            "middleware", "it must be an async callable", "write 'async def __call__(self, call, call_next)'"
        )
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
    """An error that lists all problems by key and rule, without values, which may be secrets."""
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
    return PluginError("settings", "; ".join(lines), "; ".join(steps), public_cause=f"wrong: {', '.join(keys)}")


def _settable(name: str, keys: Sequence[str]) -> str:
    """Keys of a plugin's table and where to set them. A problem of the whole table has no key."""
    variable = f"ZAPOMNI_PLUGINS__{name.upper()}__{keys[0].upper().replace('.', '__') or 'KEY'}"
    return f"{', '.join(filter(None, keys)) or 'it'} in [plugins.{name}] or in {variable}"
