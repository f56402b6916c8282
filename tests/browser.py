"""A headless browser for tests, spoken to as its driver expects: a few lines of WebDriver."""

from __future__ import annotations

import base64
import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
DRIVER = "chromedriver"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(url: str, seconds: float = 60) -> None:
    """Wait for a server."""
    end = time.monotonic() + seconds
    while True:
        try:
            requests.get(url, timeout=5)
            return
        except requests.RequestException:
            assert time.monotonic() < end, f"{url} does not answer"
            time.sleep(0.2)


class Browser:
    """One window."""

    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, method: str, path: str, **body: Any) -> Any:
        sent = {"json": body} if method == "POST" else {}
        answer = requests.request(method, f"{self.url}/{path}", timeout=120, **sent).json()["value"]
        assert not (isinstance(answer, dict) and "error" in answer), answer
        return answer

    def open(self, url: str) -> None:
        self.call("POST", "url", url=url)

    def js(self, expression: str) -> Any:
        return self.call("POST", "execute/sync", script=f"return ({expression})", args=[])

    def until(self, expression: str, seconds: float = 30) -> Any:
        """What an expression gives as soon as it is true."""
        end = time.monotonic() + seconds
        while not (found := self.js(expression)):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.1)
        return found

    def screen(self, width: int, height: int, dark: bool = False) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.cdp("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", features=[scheme])

    def cdp(self, command: str, **params: Any) -> Any:
        return self.call("POST", "goog/cdp/execute", cmd=command, params=params)

    def messages(self) -> list[str]:
        """What the console was told since the last time, but for notes."""
        found = self.call("POST", "se/log", type="browser")
        return [one["message"] for one in found if one["level"] in ("WARNING", "SEVERE")]

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("GET", "screenshot")))


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Open one; where none is installed, the test is skipped, saying so."""
    chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
    driver = shutil.which(DRIVER)
    if not chromium or not driver:
        pytest.skip("needs Debian's chromium and chromium-driver, or Chrome and its chromedriver")
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([driver, f"--port={port}"], **quiet)
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            answers(f"{base}/status")
            options = {"binary": chromium, "args": [*FLAGS, f"--user-data-dir={profile}"]}
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            body = {"capabilities": {"alwaysMatch": wanted}}
            made = requests.post(f"{base}/session", json=body, timeout=120).json()["value"]
            assert "sessionId" in made, made
            session = f"{base}/session/{made['sessionId']}"
            try:
                yield Browser(session)
            finally:  # a driver that is ended first leaves its browser behind
                requests.delete(session, timeout=60)
    finally:
        process.terminate()
        process.wait(30)
