from __future__ import annotations

from pathlib import Path

import pytest

from ppac.core.config import (
    Section,
    overlay,
    project_root,
    read_params,
    section,
    with_exceptions,
)
from ppac.core.errors import Problem


class Toy(Section):
    lr: float
    layers: list[int]


def test_reads_a_section():
    assert Toy.read({"toy": {"lr": 0.1, "layers": [2]}}, "toy") == Toy(lr=0.1, layers=[2])


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"lr": 0.1, "layers": [1], "layer": 3}, "unknown key 'toy.layer'; did you mean 'layers'"),
        ({"lr": 0.1}, "'toy.layers' is missing"),
        ({"lr": "fast", "layers": [1]}, "'toy.lr' is 'fast'"),
        ({"lr": 0.1, "layers": ["x"]}, "'toy.layers.0' is 'x'"),
        ([1, 2], "'toy' must be a section"),
    ],
)
def test_a_wrong_key_or_value_is_named(section, message):
    with pytest.raises(Problem, match=message.replace(".", r"\.")):
        Toy.read({"toy": section}, "toy")


def test_missing_section():
    with pytest.raises(Problem, match="section 'toy' is missing"):
        Toy.read({}, "toy")


def test_exceptions_apply_in_order_and_only_where_they_match():
    section = {
        "lr": 1,
        "exceptions": [
            {"dataset": "a", "lr": 2, "why": "x"},
            {"dataset": "a", "base": "ncf", "lr": 3, "why": "y"},
        ],
    }
    assert with_exceptions(section, "s", {"dataset": "a", "base": "mf"}) == {"lr": 2}
    assert with_exceptions(section, "s", {"dataset": "a", "base": "ncf"}) == {"lr": 3}
    assert with_exceptions(section, "s", {"dataset": "b", "base": "ncf"}) == {"lr": 1}


def test_an_exception_needs_a_reason():
    with pytest.raises(Problem, match="no 'why'"):
        with_exceptions({"exceptions": [{"dataset": "a", "lr": 1}]}, "train", {})


def test_cells_have_settings_of_their_own():
    params = {
        "toy": {"lr": 1, "l2": 1, "exceptions": [{"base": "mf", "l2": 2, "why": "x"}]},
        "cells": {"a": {"mf": {"toy": {"lr": 5}, "why": "y"}, "ncf": {}}},
    }
    assert section(params, "toy", {"dataset": "a", "base": "mf", "method": "m"}) == {
        "lr": 5,
        "l2": 2,
    }
    for other in ({"dataset": "a", "base": "ncf"}, {"dataset": "b", "base": "ncf"}, {}):
        assert section(params, "toy", other) == {"lr": 1, "l2": 1}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"toy": {"lr": 5}}, r"'cells\.a\.mf' has no 'why'"),
        (
            {"tyo": {"lr": 5}, "why": "x"},
            r"section 'cells\.a\.mf\.tyo'; did you mean 'toy'",
        ),
    ],
)
def test_a_cells_settings_need_a_reason_and_a_section(entry, message):
    params = {"toy": {"lr": 1}, "cells": {"a": {"mf": entry}}}
    with pytest.raises(Problem, match=message):
        section(params, "toy", {"dataset": "a", "base": "mf"})


def test_overlay_is_deep_and_leaves_its_inputs_alone():
    under = {"a": {"x": 1, "y": 2}, "b": [1]}
    assert overlay(under, {"a": {"y": 3}, "b": [2]}) == {"a": {"x": 1, "y": 3}, "b": [2]}
    assert under == {"a": {"x": 1, "y": 2}, "b": [1]}


def test_a_pipeline_folder_overrides_the_root(tmp_path: Path):
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "params.yaml").write_text("seed: 1\ntrain: {lr: 1, epochs: 9}\n")
    folder = tmp_path / "pipelines" / "x"
    folder.mkdir(parents=True)
    assert read_params(folder) == {"seed": 1, "train": {"lr": 1, "epochs": 9}}
    (folder / "params.yaml").write_text("train: {epochs: 2}\n")
    assert read_params(folder) == {"seed": 1, "train": {"lr": 1, "epochs": 2}}


def test_a_pipeline_folder_is_a_project_in_the_repository(tmp_path: Path):
    """Also in the copy of the repository that an experiment in a folder is run in, below it."""
    copied = tmp_path / "pipelines/x/.dvc/tmp/exps/1"
    for root in (tmp_path, copied):
        for project in (root, root / "pipelines/x"):
            (project / ".dvc").mkdir(parents=True, exist_ok=True)
            (project / "params.yaml").touch()
        for folder in (root, root / "pipelines/x", root / "pipelines/x/runs"):
            assert project_root(folder) == root


def test_a_repository_may_lie_in_a_folder_of_that_name(tmp_path: Path):
    (tmp_path / "pipelines/mine/.dvc").mkdir(parents=True)
    (tmp_path / "pipelines/mine/params.yaml").touch()
    assert project_root(tmp_path / "pipelines/mine") == tmp_path / "pipelines/mine"


def test_broken_yaml_names_the_file(tmp_path: Path):
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "params.yaml").write_text("a: [1\n")
    with pytest.raises(Problem, match=r"params\.yaml is not valid YAML"):
        read_params(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("gamma: tuned", "gama: tuned", "unknown key 'gama'; did you mean 'gamma'"),
        ("  k_max: 100", "  kmax: 100", "unknown key 'neighbours.kmax'; did you mean 'k_max'"),
        ("  k_max: 100", "  k_max: many", "'neighbours.k_max' is 'many'"),
    ],
)
def test_a_stage_rejects_an_unknown_key(prepared, old, new, message):
    before = prepared.table("data/neighbours/synthetic.parquet")
    prepared.set(old, new)
    assert message in prepared.fails("neighbours", "--dataset", "synthetic")
    assert prepared.table("data/neighbours/synthetic.parquet").equals(before)
