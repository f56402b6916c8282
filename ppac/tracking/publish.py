"""The report in MLflow: a run of its own with the page, its figures and their tables."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ppac.core.config import project_root
from ppac.layout import Cell
from ppac.tracking.mlflow_store import opened
from ppac.tracking.record import commit, dvc_tags
from ppac.tracking.track import warn

REPORT = "ppac.report"  # tag: whose report it is
OWN = "workspace"  # that of no DVC experiment
VIEW = "ppac"  # of the table of runs, as MLflow keeps a view that somebody shares
COLUMNS = {
    "metrics": ("ndcg_at_50", "random_ndcg_at_50", "arp_at_50", "recall_at_50"),
    "params": ("gamma", "beta"),
}


def publish(datasets: Iterable[str], folder: Path, finding: str) -> None:
    """Show the report beside the runs it is about; a later one of the same folder replaces it."""
    whose = os.environ.get("DVC_EXP_NAME") or OWN
    place = str(folder.resolve().relative_to(project_root(Path.cwd())))
    name = place if whose == OWN else f"{place} {whose}"
    for dataset in datasets:
        cell = Cell(dataset, name, "")
        try:
            with opened(cell) as store:
                known = [run for run in store.runs(REPORT, whose) if run.info.run_name == name]
                note = f"{finding}\n\nOpen `index.html` under Artifacts."
                tags = {REPORT: whose, "mlflow.note.content": note, **dvc_tags()}
                tags |= {"mlflow.source.git.commit": commit()}
                run = (
                    known[0] if known else store.client.create_run(store.experiment, run_name=name)
                )
                for key, value in tags.items():
                    if value:
                        store.client.set_tag(run.info.run_id, key, value)
                view = f"mlflow.sharedViewState.{VIEW}"
                store.client.set_experiment_tag(store.experiment, view, json.dumps(shared()))
                store.client.log_artifacts(run.info.run_id, str(folder))
                store.client.set_terminated(run.info.run_id)
        except Exception as error:  # whatever MLflow raises: the report is already written
            warn(cell, error)


def shared() -> dict[str, Any]:
    """The table as people want it: few columns, the best run first."""
    columns = [f"{kind}.`{name}`" for kind, names in COLUMNS.items() for name in names]
    return {
        "searchFilter": "",
        "orderByKey": "metrics.`ndcg_at_50`",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": columns,
        "runsExpanded": {},
        "runsPinned": [],
        "runsHidden": [],
        "runsVisibilityMap": {},
        "groupBy": None,
        "groupsExpanded": {},
    }


def links(server: str) -> list[str]:
    """Where to look first, on a server that shows the store: the best runs, and two beside."""
    from mlflow import MlflowClient

    from ppac.tracking.mlflow_store import store_uri

    client = MlflowClient(store_uri())
    lines = []
    for found in client.search_experiments(filter_string="name LIKE 'ppac/%'"):
        here = f"{server}/#/experiments/{found.experiment_id}"
        lines.append(f"{found.name}, best NDCG@50 first: {here}/runs?viewStateShareKey={VIEW}")
        by = ["metrics.ndcg_at_50 DESC"]
        runs = client.search_runs([found.experiment_id], "tags.method = 'ppac'", order_by=by)
        for best in runs[:1]:
            base = best.data.tags["base"]
            only = f"tags.method = 'base' and tags.base = '{base}'"
            for plain in client.search_runs([found.experiment_id], only, max_results=1):
                ids = json.dumps([run.info.run_id for run in (plain, best)])
                two = f"runs={quote(ids)}&experiments={quote(json.dumps([found.experiment_id]))}"
                lines.append(f"  {base} before and after: {server}/#/compare-runs?{two}")
        for run in client.search_runs([found.experiment_id], f"tags.`{REPORT}` = '{OWN}'"):
            page = f"{here}/runs/{run.info.run_id}/artifacts/index.html"
            lines.append(f"  {run.info.run_name}: {page}")
    return lines
