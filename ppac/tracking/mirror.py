"""A cell's artefacts as a tracking record, so that MLflow can be filled from files at any time."""

from __future__ import annotations

import polars as pl

from ppac.core.files import config_digest, read_json
from ppac.core.layout import RANKERS, Cell, Dataset
from ppac.scoring.trained import read
from ppac.tracking.record import Record


def record_of(cell: Cell) -> Record:
    """What the files in the current folder say of an evaluated cell."""
    place = Dataset(cell.dataset)
    metrics = read_json(cell.metrics)
    tuned = read_json(cell.tuned)["weights"]
    params = {
        "protocol": read_json(place.split / "manifest.json")["protocol"],
        "popularity": read_json(place.popularity / "manifest.json"),
        **{name: metrics[name] for name in tuned},
    }
    training, curve = "", []
    if cell.base != RANKERS:
        facts, _ = read(cell.model, cell)
        training, params = facts.digest, params | facts.params
        curve = pl.read_csv(cell.curve, infer_schema_length=None).to_dicts()
    return Record(
        cell=cell,
        training=training,
        evaluation=config_digest([str(cell), training, params, metrics]),
        params=params,
        metrics=metrics,
        curve=curve,
        forced={name: metrics[name] for name in tuned if metrics[name] != tuned[name]},
    )
