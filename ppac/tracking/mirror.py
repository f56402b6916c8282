"""A cell's artefacts as a tracking record, so that MLflow can be filled from files at any time."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import polars as pl
from safetensors import SafetensorError, safe_open

from ppac.core.errors import Problem
from ppac.core.files import config_digest, read_json
from ppac.layout import RANKERS, Cell, Dataset
from ppac.tracking import track
from ppac.tracking.record import Record, stage


def mirror(cells: Iterable[Cell]) -> None:
    """Show evaluated cells in MLflow: once for all of them, since its import takes seconds."""
    for cell in cells:
        try:
            found = record_of(cell)
        except Problem as problem:  # an artefact is missing: the results stand all the same
            track.warn(cell, problem)
        else:
            track.record(found)


def record_of(cell: Cell) -> Record:
    """What the files in the current folder say of an evaluated cell."""
    place = Dataset(cell.dataset)
    metrics, split = read_json(cell.metrics), read_json(place.split / "manifest.json")
    tuned = read_json(cell.tuned)["weights"]
    params = {
        "protocol": split["protocol"],
        "popularity": read_json(place.popularity / "manifest.json"),
        **{name: metrics[name] for name in tuned},
    }
    training, curve = "", []
    if learner := cell.learner:
        facts = training_of(learner)
        training, params = config_digest(facts), params | {"train": facts["train"]}
        params |= facts["settings"]
        curve = pl.read_csv(learner.curve, infer_schema_length=None).to_dicts()
    return Record(
        cell=cell,
        training=training,
        evaluation=config_digest([str(cell), training, params, split["digests"]]),
        params=params,
        metrics=metrics,
        curve=curve,
        tags={"dvc.stage": stage_of(cell)},
        forced={name: metrics[name] for name in tuned if metrics[name] != tuned[name]},
    )


def training_of(cell: Cell) -> dict[str, Any]:
    """The `Facts` of a model file, without torch: its import would take longer than the mirror."""
    try:
        with safe_open(cell.model, framework="numpy") as file:
            facts: dict[str, Any] = json.loads((file.metadata() or {})["ppac"])
    except (OSError, KeyError, SafetensorError) as error:
        raise Problem(f"{cell.model} is not a readable model file ({error!r}).") from None
    if facts["cell"] != str(cell):
        raise Problem(f"{cell.model} holds {facts['cell']}, not {cell}.")
    return facts


def stage_of(cell: Cell) -> str:
    """The stage that evaluated a cell, in the pipeline that this process runs for."""
    pipeline, colon, _ = stage().rpartition(":")
    if cell.base == RANKERS:
        return f"{pipeline}{colon}evaluate-rankers@{cell.dataset}-{cell.method}"
    kind = "evaluate" if cell.learner == cell else "evaluate-variants"
    return f"{pipeline}{colon}{kind}@{cell.dataset}-{cell.base}-{cell.method}"
