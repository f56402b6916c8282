"""A trained method as a file: its weights, and enough to build it again and to refuse others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from ppac.core import registry
from ppac.core.errors import Problem
from ppac.core.files import config_digest, file_digest, new_file
from ppac.layout import Cell, Dataset
from ppac.scoring.method import Method, Shared
from ppac.scoring.scorer import Scorer

KEY = "ppac"  # one metadata entry only: safetensors does not keep several in order


@dataclass(frozen=True)
class Facts:
    """What a training was: enough to build the method again, to refuse others, to show it."""

    cell: str
    settings: dict[str, dict[str, Any]]  # of the base model and of the method
    train: dict[str, Any]
    data: dict[str, str]  # digests of what it learned from

    @property
    def digest(self) -> str:
        return config_digest(asdict(self))

    @property
    def params(self) -> dict[str, Any]:
        """The settings as a tracker shows them."""
        return {"train": self.train, **self.settings}


def settings_of(params: Mapping[str, Any], cell: Cell) -> dict[str, dict[str, Any]]:
    """The sections of params.yaml for the cell's base model and method."""
    result = {}
    for kind, name in (("models", cell.base), ("methods", cell.method)):
        section = registry.find(kind, name).Config.read(params, name, **vars(cell))
        result[name] = section.model_dump()
    return result


def data_digests(place: Dataset) -> dict[str, str]:
    """What a training learns from and stops by."""
    files = [place.split / "train.parquet", place.split / "valid.parquet"]
    files += sorted(place.popularity.iterdir())
    return {path.name: file_digest(path) for path in files}


def build(cell: Cell, settings: dict[str, Any], shared: Shared, l2: float = 0.0) -> Method:
    """A new method around a new base model; ``settings`` holds a section for each."""
    model_file = registry.find("models", cell.base)
    method_file = registry.find("methods", cell.method)
    model_config = model_file.Config.check(settings[cell.base], cell.base)
    method_config = method_file.Config.check(settings[cell.method], cell.method)
    model = model_file.Net(shared.train, model_config)
    method: Method = method_file.Net(model, shared, l2, method_config)
    return method


def save(path: Path, facts: Facts, weights: dict[str, torch.Tensor]) -> None:
    tensors = {name: weights[name].contiguous() for name in sorted(weights)}
    with new_file(path) as temporary:
        save_file(tensors, temporary, metadata={KEY: json.dumps(asdict(facts), sort_keys=True)})


def read(path: Path, cell: Cell) -> tuple[Facts, dict[str, torch.Tensor]]:
    """A model file's facts and weights, checked to be this cell's."""
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get(KEY, "{}"))
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise Problem(f"{path} does not exist: run `dvc repro` to train {cell}.") from None
    except SafetensorError as error:
        raise Problem(f"{path} is not a readable model file ({error}): train it again.") from None
    if about.get("cell") != str(cell):
        found = about.get("cell", "something that ppac did not write")
        raise Problem(f"{path} holds {found}, not {cell}: run `dvc repro` to train it again.")
    return Facts(**about), weights


def load(path: Path, cell: Cell, shared: Shared) -> Method:
    """The trained method, checked to fit its own configuration and this dataset."""
    facts, weights = read(path, cell)
    now = data_digests(Dataset(cell.dataset))
    if facts.data != now:
        differ = sorted(k for k in now.keys() | facts.data if now.get(k) != facts.data.get(k))
        raise Problem(
            f"{path} was trained on other data than is here now ({', '.join(differ)} differ): "
            f"run `dvc repro` to train {cell} again."
        )
    method = build(cell, facts.settings, shared)
    wanted = {name: tuple(value.shape) for name, value in method.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in weights.items()}
    if wanted != found:
        differ = sorted(k for k in wanted.keys() | found.keys() if wanted.get(k) != found.get(k))
        name = differ[0]
        raise Problem(
            f"{path} does not match its configuration: '{name}' is {found.get(name)}, expected "
            f"{wanted.get(name)}. Run `dvc repro` to train {cell} again."
        )
    method.load_state_dict(weights)
    return method.eval()


def load_scorer(
    cell: Cell, shared: Shared, device: torch.device, params: Mapping[str, Any]
) -> Scorer:
    """The cell's trained method, a variant around it, or its ranker if nothing is learned."""
    if cell.learner is None:
        kind = registry.find("rankers", cell.method).Ranker
        ranker: Scorer = kind(shared, kind.Config.read(params, cell.method, **vars(cell)))
        return ranker
    method = load(cell.learner.model, cell.learner, shared).to(device)
    if cell.learner == cell:
        return method
    kind = registry.find("variants", cell.method).Variant
    variant: Scorer = kind(method, shared, kind.Config.read(params, cell.method, **vars(cell)))
    return variant
