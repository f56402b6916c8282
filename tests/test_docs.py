"""What the pages of docs/ tell people to type is typed, and the numbers they show are computed."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from copies import Copy
from test_metrics import LISTS

from ppac.core.registry import find, names

DOCS = ROOT / "docs"
ROW = re.compile(r"^\| `(\w+)` \| .* \| (higher|lower|neither) \| ([-\d., ]+) \|$", flags=re.M)
BETTER = {"higher": 1, "lower": -1, "neither": 0}


def test_the_toys_of_the_metrics_are_computed():
    rows = ROW.findall((DOCS / "metrics.md").read_text())
    assert sorted(name for name, _, _ in rows) == names("metrics")
    for name, better, told in rows:
        metric = find("metrics", name)
        values = np.atleast_1d(metric.score(LISTS, 3))
        assert [float(part) for part in told.split(",")] == pytest.approx(values, abs=5e-5), name
        assert BETTER[better] == metric.BETTER, name


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Copy:
    """A copy with a small table of someone's own, under the names that the pages use."""
    made = Copy(tmp_path_factory.mktemp("docs") / "ppac")
    rng = np.random.default_rng(1)
    lines = ["customer,sku,stars,when"]
    for user in range(60):
        for item in rng.choice(40, size=12, replace=False):
            day = rng.integers(1, 29)
            lines.append(f"c{user},sku-{item},{rng.integers(3, 6)},2024-01-{day:02}")
    (made.folder / "tables/ratings.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    (made.folder / "some.csv").write_text("customer\nc1\nc2\n")
    (made.folder / "new.csv").write_text("customer,sku\nx,sku-1\nx,sku-2\n")
    entry = re.search(r"```yaml\n(.*?)```", (DOCS / "own-data.md").read_text(), flags=re.S)
    path = made.folder / "params.yaml"
    path.write_text(path.read_text().replace("\ndownload:\n", f"\ndownload:\n{entry[1]}"))
    made.git("commit", "-qam", "my entry")
    return made


def typed(copy: Copy, page: str) -> list[tuple[str, subprocess.CompletedProcess[str]]]:
    """Every line of a page's shell blocks, in order."""
    dropped = ("DVC_", "PPAC_", "MLFLOW_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    env |= {"PATH": f"{Path(sys.executable).parent}:{env['PATH']}", "PYTHONPATH": str(copy.folder)}
    env |= {
        f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    blocks = re.findall(r"```sh\n(.*?)```", (DOCS / page).read_text(), flags=re.S)
    done = []
    for line in "".join(blocks).splitlines():
        command = ["bash", "-c", line]
        ran = subprocess.run(
            command, cwd=copy.folder, env=env, capture_output=True, text=True, check=False
        )
        done.append((line, ran))
    return done


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", ["own-data.md", "recommendations.md", "running.md", "metrics.md"])
def test_every_command_works(copy, page):
    for line, done in typed(copy, page):
        output = done.stdout + done.stderr
        if "device=cuda" in line and done.returncode:
            assert "error: params.yaml: 'compute.device' is 'cuda'" in output
            copy.git("checkout", "-q", "params.yaml")
        else:
            assert done.returncode == 0, f"{line}\n{output}"
