"""Reading params.yaml: typed, closed, and with no defaults of its own.

Every module that needs settings defines a `Section` next to the code it configures.
A field without a value in params.yaml, or a value without a field, is a `Problem`.

A pipeline folder may hold a small params.yaml too: it says what that pipeline does
differently, and everything else comes from the one at the root of the repository.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from ppac.core.errors import Problem, nearest

FILE = "params.yaml"
PIPELINES = "pipelines"  # whose folders are DVC projects of their own
CELL_AXES = ("dataset", "base", "method")
CELLS = "cells"  # sections of one dataset and base model: `cells.ml-1m.bprmf.train`
WHY = "why"
SEARCH = "search"  # in any section: values to try for its keys, see ppac/training/search.py


class Section(BaseModel):
    """A closed, immutable part of params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    @classmethod
    def read(cls, params: Mapping[str, Any], name: str, **cell: str) -> Self:
        """The section called ``name``, with what applies to ``cell`` alone."""
        values = section(params, name, cell)
        return cls.check({key: value for key, value in values.items() if key != SEARCH}, name)

    @classmethod
    def check(cls, values: Mapping[str, Any], name: str) -> Self:
        """Validate, turning the first error into one sentence that names the key."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            # A mistyped key is both unknown and missing: only the first says what happened.
            first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
            where = ".".join(str(part) for part in (name, *first["loc"]))
            if first["type"] == "extra_forbidden":
                nested = len(first["loc"]) > 1  # in a model whose fields are not at hand here
                hint = "" if nested else f"; {nearest(str(first['loc'][0]), cls.model_fields)}"
                raise Problem(f"{FILE}: unknown key '{where}'{hint}.") from None
            if first["type"] == "missing":
                raise Problem(f"{FILE}: '{where}' is missing.") from None
            message = f"{FILE}: '{where}' is {first['input']!r}: {first['msg']}."
            raise Problem(message) from None


def section(params: Mapping[str, Any], name: str, cell: Mapping[str, str]) -> dict[str, Any]:
    """The values of a section, unchecked but for being there."""
    if name not in params:
        raise Problem(f"{FILE}: section '{name}' is missing.")
    values = params[name] if params[name] is not None else {}
    if not isinstance(values, Mapping):
        raise Problem(f"{FILE}: '{name}' must be a section with keys, not {values!r}.")
    return with_exceptions(values, name, cell) | of_cell(params, name, cell)


def with_exceptions(
    values: Mapping[str, Any], name: str, cell: Mapping[str, str]
) -> dict[str, Any]:
    """Apply ``exceptions``: entries that match the cell, in order, each with its reason.

    >>> section = {"lr": 0.01, "exceptions": [
    ...     {"dataset": "ml-100k", "lr": 0.001, "why": "few steps per epoch"}]}
    >>> with_exceptions(section, "train", {"dataset": "ml-100k"})
    {'lr': 0.001}
    >>> with_exceptions(section, "train", {"dataset": "ml-1m"})
    {'lr': 0.01}
    """
    result = {key: value for key, value in values.items() if key != "exceptions"}
    for entry in values.get("exceptions") or []:
        if not isinstance(entry, Mapping) or not entry.get(WHY):
            raise Problem(f"{FILE}: an entry of '{name}.exceptions' has no 'why': {entry!r}.")
        matches = {key: entry[key] for key in CELL_AXES if key in entry}
        if all(cell.get(key) == value for key, value in matches.items()):
            result |= {k: v for k, v in entry.items() if k not in (*CELL_AXES, WHY)}
    return result


def of_cell(params: Mapping[str, Any], name: str, cell: Mapping[str, str]) -> dict[str, Any]:
    """What ``cells`` says of a section for the cell's dataset and base model.

    An exception is a part of its section, on which every cell's stages depend; this is not, so
    that settings of one dataset and base model leave what others were trained with as it was.

    >>> params = {"train": {}, "cells": {"ml-1m": {"ncf": {"train": {"lr": 0.1}, "why": "slow"}}}}
    >>> of_cell(params, "train", {"dataset": "ml-1m", "base": "ncf", "method": "ppac"})
    {'lr': 0.1}
    """
    place = [cell.get(axis, "") for axis in CELL_AXES[:2]]
    if CELLS not in params:
        return {}
    values: Any = params[CELLS]
    for key in place:
        values = values.get(key) or {}
    where = ".".join([CELLS, *place])
    if values and not values.get(WHY):
        raise Problem(f"{FILE}: '{where}' has no '{WHY}'.")
    for key in values.keys() - params.keys() - {WHY}:
        raise Problem(f"{FILE}: unknown section '{where}.{key}'; {nearest(key, params)}.")
    return dict(values.get(name) or {})


def read_params(folder: Path) -> dict[str, Any]:
    """The root's params.yaml overlaid with the one in ``folder``, if that is another."""
    root = project_root(folder)
    params = read_yaml(root / FILE)
    if folder.resolve() != root and (folder / FILE).exists():
        params = overlay(params, read_yaml(folder / FILE))
    return params


def project_root(folder: Path) -> Path:
    """The root of the repository: what all its pipelines share is found from there."""
    for candidate in (folder.resolve(), *folder.resolve().parents):
        if (candidate / ".dvc").is_dir() and (candidate / FILE).exists():
            return repository(candidate)
    raise Problem(f"{folder} is not inside the project: no folder above it has .dvc and {FILE}.")


def repository(project: Path) -> Path:
    """The root of the repository that a DVC project is in: for a folder of pipelines/, two up."""
    inside = project.parent.name == PIPELINES and (project.parents[1] / ".dvc").is_dir()
    return project.parents[1] if inside else project


def read_yaml(path: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Problem(f"{path} does not exist.") from None
    except yaml.YAMLError as error:
        raise Problem(f"{path} is not valid YAML: {error}") from None
    if not isinstance(values, dict):
        raise Problem(f"{path} must hold keys and values, not {type(values).__name__}.")
    return values


def overlay(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Deep merge in which ``over`` wins.

    >>> overlay({"train": {"lr": 1, "epochs": 9}}, {"train": {"epochs": 2}})
    {'train': {'lr': 1, 'epochs': 2}}
    """
    result = dict(under)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = overlay(result[key], value) if both else value
    return result
