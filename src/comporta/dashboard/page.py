"""The page: its panels, and the one task that hands them their views. A view is made once and given to every reader."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from importlib.resources import files

import structlog
from nicegui import background_tasks, ui

from comporta.dashboard.explain import Explain
from comporta.dashboard.panels import alerts, headline, lag, levels, rates, status
from comporta.dashboard.snapshot import Snapshot

_log = structlog.get_logger()

Make = Callable[[Snapshot, float], object]

# A new look is handed on at once, but not more often than this, and with many readers less often; without a new one, what depends
# on the time is looked at again. With the poller's half second the slower pace still keeps the page within two seconds of a commit.
_PACE, _PACE_OF_MANY, _MANY = 0.4, 0.9, 20
_AT_LEAST_EVERY = 1.0


class Panel(ui.element):
    """A panel of the page; its script draws the one value that it is given."""

    def show(self, view: object) -> None:
        """Hand the reader's browser another view, unless it has it."""
        if self.props.get("view") is not view:
            self.props["view"] = view


class StatusPanel(Panel, component="panels/status.js"): ...


class HeadlinePanel(Panel, component="panels/headline.js"): ...


class RatesPanel(Panel, component="panels/rates.js"): ...


class LevelsPanel(Panel, component="panels/levels.js"): ...


class LagPanel(Panel, component="panels/lag.js"): ...


class AlertsPanel(Panel, component="panels/alerts.js"): ...


# In the order of the page, which is also the order for the keyboard and for those who listen to it.
PANELS: Mapping[str, type[Panel]] = {
    "status": StatusPanel,
    "headline": HeadlinePanel,
    "rates": RatesPanel,
    "levels": LevelsPanel,
    "lag": LagPanel,
    "alerts": AlertsPanel,
}


def makers(explain: Explain) -> Mapping[str, Make]:
    """What makes each panel's view."""
    return {
        "status": status.view,
        "headline": headline.view,
        "rates": rates.view,
        "levels": levels.view,
        "lag": lag.view,
        "alerts": partial(alerts.view, explain),
    }


class Board:
    """All readers of the page and what they see."""

    def __init__(self, snapshot: Callable[[], Snapshot], explain: Explain) -> None:
        self._snapshot = snapshot
        self._makers = makers(explain)
        self._views: dict[str, object] = {}
        self._readers: dict[str, Mapping[str, Panel]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()

    def changed(self) -> None:
        """There is a newer snapshot; may be called from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)

    def build(self) -> None:
        """Put up the page for one more reader."""
        ui.add_head_html(_HEAD)
        self._make()
        with ui.element("div").classes("c-page"):
            panels = {name: panel() for name, panel in PANELS.items()}
        self._show(panels)
        client = ui.context.client
        self._readers[client.id] = panels
        client.on_delete(lambda: self._readers.pop(client.id, None))

    def begin(self) -> None:
        """Start handing out views; called once, when the server runs."""
        self._loop = asyncio.get_running_loop()
        background_tasks.create(self._hand_out(), name="hand out views")

    async def _hand_out(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), _AT_LEAST_EVERY)
            self._news.clear()
            try:
                self._show_all()
            except Exception:  # noqa: BLE001 - a mistake in one view is told once a look and must not end all the others
                _log.exception("page_views_failed")
            await asyncio.sleep(_PACE if len(self._readers) < _MANY else _PACE_OF_MANY)

    def _show_all(self) -> None:
        if self._readers:
            self._make()
        for panels in list(self._readers.values()):
            self._show(panels)

    def _make(self) -> None:
        """New views; one that says the same as before stays the same object, so that nobody is sent it again."""
        snapshot, now = self._snapshot(), time.monotonic()
        for name, make in self._makers.items():
            view = asdict(make(snapshot, now))  # type: ignore[call-overload]  # every view is a dataclass
            if view != self._views.get(name):
                self._views[name] = view

    def _show(self, panels: Mapping[str, Panel]) -> None:
        for name, panel in panels.items():
            panel.show(self._views[name])


def _asset(name: str) -> str:
    return files("comporta.dashboard").joinpath(name).read_text("utf-8")


_HEAD = f"<style>{_asset('page.css')}</style><script>{_asset('page.js')}</script>"
