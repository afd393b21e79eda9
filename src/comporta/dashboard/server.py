"""Serves the page on the loopback interface until it is stopped."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI
from nicegui import app as nicegui_app
from nicegui import ui
from starlette.datastructures import MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from comporta.dashboard.explain import Explain
from comporta.dashboard.listening import LOOPBACK
from comporta.dashboard.page import Board
from comporta.dashboard.poller import Poller, Sources

# The browser itself refuses whatever does not come from this very server; Vue compiles the panels' templates, hence 'unsafe-eval'.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="5" fill="#0d5c75"/>'
    '<path fill="#fff" d="M4 4h2.6v16H4zM17.4 4H20v16h-2.6zM8 4h8v6H8z"/>'
    '<path fill="#8fd3e8" d="M8 13.4c1.4-1.3 2.6-1.3 4 0s2.6 1.3 4 0V16c-1.4 1.3-2.6 1.3-4 0s-2.6-1.3-4 0z"/></svg>'
)


def serve(listener: socket.socket, sources: Sources, explain: Explain) -> None:
    """Serve the page until SIGINT or SIGTERM."""
    board = Board(lambda: poller.snapshot, explain)
    poller = Poller(sources, board.changed)
    ui.page("/")(board.build)
    nicegui_app.on_startup(board.begin)
    application = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    ui.run_with(application, title="Comporta", favicon=_ICON, dark=None, language="en-US", tailwind=False, show_welcome_message=False)
    # A page of another name that resolves to this machine must not be able to read ours.
    application.add_middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"])
    application.add_middleware(_Headers)
    server = uvicorn.Server(
        uvicorn.Config(
            application,
            log_level="warning",
            access_log=False,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=2,
            limit_concurrency=2_000,
        )
    )
    poller.start()
    try:
        with _ended_by_signals(server):
            server.run(sockets=[listener])
    finally:
        poller.stop()


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """The server has handlers of its own while it runs. These are for the moments before and after: it raises what it got once more at its end."""

    def end(*_: object) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Headers:
    """Sets our headers on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._app(scope, receive, with_headers)
