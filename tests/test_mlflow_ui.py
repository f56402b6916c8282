"""MLflow's pages in a browser: the runs, sorted by the metric, and two of them side by side."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from browser import answers, browser, free_port
from conftest import ROOT

from ppac.layout import Cell
from ppac.tracking.publish import links, publish
from ppac.tracking.track import Record, record

REACHED = {"base": 0.1488, "ppac": 0.1802}


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a model before and after, and a report."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("DVC_EXP_NAME", raising=False)
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "params.yaml").write_text("{}\n")
    monkeypatch.chdir(tmp_path)
    for method, ndcg in REACHED.items():
        metrics = {"ndcg_at_50": ndcg, "arp_at_50": 100.0}
        curve = [{"epoch": n, "loss": 1 / n, "ndcg_at_50": ndcg * n / 3} for n in (1, 2, 3)]
        params = {"gamma": 8.0} if method == "ppac" else {}
        record(Record(Cell("toy", "ncf", method), method, f"e-{method}", params, metrics, curve))
    (tmp_path / "report").mkdir()
    (tmp_path / "report/index.html").write_text("<h1>It helps.</h1>")
    publish(["toy"], Path("report"), "It helps.")
    publish(["toy"], Path("report"), "It helps.")  # again: still one run
    return tmp_path


@pytest.fixture
def server(filled: Path) -> Iterator[str]:
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MLFLOW_DISABLE_TELEMETRY": "true"}
    environment |= {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    store = ["--backend-store-uri", f"sqlite:///{filled}/mlflow.db"]
    command = [sys.executable, "-m", "mlflow", "ui", *store, "--host", "127.0.0.1"]
    command += ["--port", str(port), "--workers", "1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=environment, **quiet)
    try:
        answers(f"http://127.0.0.1:{port}/health", 120)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.slow
def test_the_pages_that_make_ui_names(server: str, tmp_path: Path) -> None:
    lines = links(server)
    assert len(lines) == 3
    runs, compared, report = (re.findall(r"http\S+", line)[0] for line in lines)
    text = "document.body.innerText"
    with browser() as window:
        window.screen(1400, 900)
        window.open(runs)
        for name in ("ncf/base", "ncf/ppac", "report"):
            window.until(f"{text}.includes('{name}')", 90)
        window.picture(tmp_path / "runs.png")
        window.until(f"{text}.includes('0.1802')")  # its columns are shown
        order = f"{text}.indexOf('ncf/ppac') < {text}.indexOf('ncf/base')"
        assert window.js(order)  # the better one first
        window.open(compared)
        for shown in ("0.149", "0.18", "gamma"):  # as MLflow rounds them
            window.until(f"{text}.includes('{shown}')", 90)
        window.picture(tmp_path / "compared.png")
        window.open(report)
        window.until(f"{text}.includes('index.html')", 90)
        window.picture(tmp_path / "report.png")


def test_each_report_has_a_run_named_by_its_place(filled: Path) -> None:
    for base in ("ncf", "bprmf", "ncf"):
        place = Path("report/toy", base)
        place.mkdir(parents=True, exist_ok=True)
        (place / "index.html").write_text(f"<h1>{base}</h1>")
        publish(["toy"], place, "It helps.")
    named = [line.split(":")[0].strip() for line in links("http://there")[2:]]
    assert sorted(named) == ["report", "report/toy/bprmf", "report/toy/ncf"]


@pytest.mark.slow
def test_ending_the_verb_ends_the_server(filled: Path) -> None:
    """Also by a signal to it alone, as a service manager sends it."""
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PORT": str(port)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m", "ppac", "ui"]
    process = subprocess.Popen(command, env=environment, cwd=filled, **quiet)
    try:
        answers(f"http://127.0.0.1:{port}/health", 120)
    finally:
        process.terminate()
        process.wait(30)
    with pytest.raises(requests.ConnectionError):
        for _ in range(100):
            requests.get(f"http://127.0.0.1:{port}/health", timeout=5)
            time.sleep(0.1)
