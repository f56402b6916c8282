"""Training as a stage: the same bytes again, after a kill too, and clear refusals."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from conftest import ROOT, run_script
from safetensors.torch import load_file, save_file

from ppac.core.errors import Problem
from ppac.core.files import config_digest
from ppac.layout import Cell
from ppac.scoring.trained import Facts, save
from ppac.tracking.mirror import training_of
from ppac.training.adam import Adam
from ppac.training.loop import State, average, with_weights

CELL = ("--dataset", "synthetic", "--base", "bprmf", "--method", "ppac")
MODEL = "runs/synthetic/bprmf/ppac/train/model.safetensors"


def model_bytes(project) -> bytes:
    return (project.folder / MODEL).read_bytes()


@pytest.mark.parametrize("base", ["bprmf", "ncf", "lightgcn"])
def test_the_same_seed_gives_the_same_bytes(prepared, base):
    cell = ("--dataset", "synthetic", "--base", base, "--method", "ppac")
    path = prepared.folder / f"runs/synthetic/{base}/ppac/train/model.safetensors"
    written = []
    for _ in range(2):
        prepared.ok("train", *cell)
        written.append((path.read_bytes(), (path.parent / "curve.csv").read_bytes()))
    assert written[0] == written[1]
    prepared.set("seed: 2024", "seed: 2025")
    prepared.ok("train", *cell)
    assert path.read_bytes() != written[0][0]


def test_kill_and_run_again_gives_the_bytes_of_an_undisturbed_run(prepared):
    prepared.set("epochs: 10", "epochs: 60")
    prepared.set("batch: 8092", "batch: 256")
    prepared.set("average: 0 ", "average: 0.5 ")  # a mean over epochs is to be remembered, too
    prepared.ok("train", *CELL)
    undisturbed = model_bytes(prepared)
    (prepared.folder / MODEL).unlink()

    prepared.set("checkpoint_seconds: 30", "checkpoint_seconds: 0")
    left = start_and_kill(prepared, after=7)
    assert not (prepared.folder / MODEL).exists()

    prepared.ok("train", *CELL)
    assert model_bytes(prepared) == undisturbed
    assert not left.exists()


def start_and_kill(project, after: int) -> Path:
    """Start a training, kill -9 it after an epoch, and give the checkpoint it left."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "stages.train", *CELL]
    running = subprocess.Popen(command, cwd=project.folder, env=environment)
    deadline = time.monotonic() + 120
    epoch = 0
    while epoch <= after and time.monotonic() < deadline and running.poll() is None:
        time.sleep(0.05)
        for path in (project.folder / ".checkpoints").glob("*.pt"):
            epoch = torch.load(path, weights_only=True)["state"]["epoch"]
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    (left,) = (project.folder / ".checkpoints").glob("*.pt")
    assert after < epoch
    return left


def test_another_configuration_does_not_pick_up_the_checkpoint(prepared):
    prepared.set("epochs: 10", "epochs: 60")
    prepared.set("batch: 8092", "batch: 256")
    prepared.set("checkpoint_seconds: 30", "checkpoint_seconds: 0")
    prepared.set("lr: 0.01", "lr: 0.02")
    prepared.ok("train", *CELL)
    undisturbed = model_bytes(prepared)
    prepared.set("lr: 0.02", "lr: 0.01")
    left = start_and_kill(prepared, after=5)
    prepared.set("lr: 0.01", "lr: 0.02")
    prepared.ok("train", *CELL)
    assert model_bytes(prepared) == undisturbed
    assert left.exists()  # it waits for its own configuration


def test_the_curve_has_every_epoch_and_the_best_weights_are_kept(prepared):
    prepared.ok("train", *CELL)
    curve = pl.read_csv(prepared.folder / "runs/synthetic/bprmf/ppac/train/curve.csv")
    assert curve["epoch"].to_list() == list(range(1, 11))
    assert curve["ndcg_at_50"].drop_nulls().len() == 2
    assert np.isfinite(curve["loss"].to_numpy()).all()
    prepared.ok("tune", *CELL)  # at neutral weights, on all validation users: the same numbers
    tuned = json.loads((prepared.folder / "runs/synthetic/bprmf/ppac/tune/tuned.json").read_text())
    assert tuned["neutral"]["ndcg_at_50"] == pytest.approx(curve["ndcg_at_50"].max(), abs=2e-6)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (("synthetic", "bprmff", "base"), "unknown model 'bprmff': did you mean 'bprmf'"),
        (("synthetic", "bprmf", "pac"), "unknown method 'pac': did you mean 'ppac'"),
    ],
)
def test_unknown_names(prepared, cell, message):
    dataset, base, method = cell
    arguments = ("--dataset", dataset, "--base", base, "--method", method)
    assert message in prepared.fails("train", *arguments)


def test_divergence_is_said_plainly(prepared):
    prepared.set("lr: 0.01", "lr: 1.0e+30")
    assert "Lower train.lr" in prepared.fails("train", *CELL)
    assert not (prepared.folder / MODEL).exists()


def test_a_missing_device_is_said_plainly(prepared):
    prepared.set("device: auto", "device: cuda:7")
    assert "compute.device" in prepared.fails("train", *CELL)


def test_tune_and_evaluate_need_a_matching_model(prepared):
    prepared.ok("train", *CELL)
    path = prepared.folder / MODEL
    other = prepared.folder / "runs/synthetic/bprmf/base/train"
    other.mkdir(parents=True)
    (other / path.name).write_bytes(path.read_bytes())
    base = ("--dataset", "synthetic", "--base", "bprmf", "--method", "base")
    assert "holds synthetic/bprmf/ppac, not synthetic/bprmf/base" in prepared.fails("tune", *base)

    weights = load_file(path)
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    weights["model.user_table"] = weights["model.user_table"][:-1].clone()
    save_file(weights, path, metadata=metadata)
    message = prepared.fails("tune", *CELL)
    assert "'model.user_table' is (399, 64), expected (400, 64)" in message

    prepared.set("k: 30 ", "k: 20 ")
    prepared.ok("popularity", "--dataset", "synthetic")
    assert "trained on other data than is here now" in prepared.fails("tune", *CELL)

    path.write_bytes(b"garbage")
    assert "not a readable model file" in prepared.fails("tune", *CELL)
    path.unlink()
    assert "does not exist: run `dvc repro`" in prepared.fails("tune", *CELL)


def test_the_running_mean_counts_the_first_epochs_alike():
    weights = torch.nn.Linear(1, 1, bias=False)
    state = State()
    seen = []
    for value in (3.0, 6.0, 9.0, 0.0):
        state.epoch += 1
        torch.nn.init.constant_(weights.weight, value)
        average(state, weights, 0.6)
        seen.append(state.mean["weight"].item())
    assert seen == pytest.approx([3, 4.5, 0.6 * 4.5 + 0.4 * 9, 0.6 * (0.6 * 4.5 + 0.4 * 9)])
    with with_weights(weights, state.mean):
        assert weights.weight.item() == pytest.approx(seen[-1])
    assert weights.weight.item() == 0
    with with_weights(weights, {}):
        assert weights.weight.item() == 0


def test_the_mean_of_the_epochs_is_what_is_kept(prepared):
    """Over one epoch it is that epoch's weights, over more something else."""
    kept, before = {}, ("epochs: 10", "average: 0 ")
    for epochs, share in ((1, 0.0), (1, 0.9), (2, 0.0), (2, 0.9)):
        now = (f"epochs: {epochs}", f"average: {share} ")
        for old, new in zip(before, now, strict=True):
            prepared.set(old, new)
        before = now
        prepared.ok("train", *CELL)
        kept[epochs, share] = load_file(prepared.folder / MODEL)["model.user_table"]
    assert torch.equal(kept[1, 0.0], kept[1, 0.9])
    half = (kept[1, 0.0] + kept[2, 0.0]) / 2
    assert torch.allclose(kept[2, 0.9], half, atol=1e-7)


def test_the_mirror_reads_a_training_without_torch(tmp_path, monkeypatch):
    """It finds the training's run by a digest, which must be the one that the training had."""
    cell, other = (Cell("synthetic", "bprmf", method) for method in ("ppac", "base"))
    facts = Facts(str(cell), {"bprmf": {"dim": 64}, "ppac": {"alpha": 0.1}}, {"lr": 0.01}, {})
    monkeypatch.chdir(tmp_path)
    for place in (cell, other):
        save(place.model, facts, {"weights": torch.zeros(2)})
    assert config_digest(training_of(cell)) == facts.digest
    with pytest.raises(Problem, match="holds synthetic/bprmf/ppac, not synthetic/bprmf/base"):
        training_of(other)
    other.model.write_bytes(b"garbage")
    with pytest.raises(Problem, match="not a readable model file"):
        training_of(other)
    done = run_script("import sys, stages.report; sys.exit('torch' in sys.modules)")
    assert done.returncode == 0, "the report waits for the import of torch"


def test_adam_is_pytorchs():
    """Bit by bit, through a save and a parameter that has no gradient for a while."""
    ours, theirs = (torch.nn.ParameterList([torch.ones(40, 3), torch.ones(5)]) for _ in range(2))
    mine = Adam(ours.parameters(), lr=0.01)
    reference = torch.optim.Adam(theirs.parameters(), lr=0.01, fused=True)
    for step in range(6):
        if step == 3:
            saved = copy.deepcopy(mine.state_dict())
            mine = Adam(ours.parameters(), lr=0.01)
            mine.load_state_dict(saved)
        for values, optimiser in ((ours, mine), (theirs, reference)):
            optimiser.zero_grad()
            noise = torch.randn(40, 3, generator=torch.Generator().manual_seed(step))
            loss = (values[0] * noise).pow(3).sum() + (values[1].sum() if step % 2 else 0)
            loss.backward()
            optimiser.step()
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
