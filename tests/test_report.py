"""The report from made-up artefacts: two datasets, two bases, two methods, two rankers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

from ppac.core.errors import Problem
from ppac.layout import RANKERS, Cell, Dataset
from ppac.reporting import figures, results
from ppac.reporting.cells import configured
from ppac.reporting.commands import experiment, usual
from ppac.reporting.finding import comparison, findings
from ppac.reporting.markup import draw, vega_lite
from ppac.reporting.results import ReportConfig
from ppac.reporting.searched import searched

ROOT = Path(__file__).parents[1]
AXES = {
    "datasets": ["alpha", "beta-2"],
    "bases": ["bprmf", "lightgcn"],
    "methods": ["base", "ppac"],
    "variants": ["ppac-without-ci"],
    "rankers": ["mostpop", "ppgp"],
}
USERS, ITEMS, TOP = 40, 60, 5
GAMMA, BETA = [0.0, 1.0, 64.0, 1024.0], [0.0, -2.0, -4096.0]


def fabricate_dataset(name: str, stream: np.random.Generator) -> None:
    place = Dataset(name)
    place.split.mkdir(parents=True)
    place.popularity.mkdir(parents=True)
    counts = np.sort(stream.integers(1, 30, ITEMS)).astype(np.int32)
    dense = pl.DataFrame({"item": np.arange(ITEMS, dtype=np.int32)})
    gp = dense.with_columns(count=pl.Series(counts), gp=pl.Series(counts / USERS))
    gp.write_parquet(place.popularity / "gp.parquet")
    ids = dense.with_columns(id=pl.Series([f"i{n}" for n in range(ITEMS)]))
    ids.write_parquet(place.split / "items.parquet")
    users = pl.DataFrame({"user": np.arange(USERS, dtype=np.int32)})
    users.with_columns(id=pl.Series([f"u{n}" for n in range(USERS)])).write_parquet(
        place.split / "users.parquet"
    )
    some = stream.integers(ITEMS, size=USERS).astype(np.int32)
    users.with_columns(item=pl.Series(some)).write_parquet(place.split / "test.parquet")
    place.description.mkdir(parents=True)
    (place.description / "differences.csv").write_text(
        "differing,users,share\n0,30,0.75\n1,10,0.25\n"
    )
    rated = "1,30,0.1,3.5,100\n2,30,0.4,4.0,200\n" if name == "alpha" else ""
    (place.description / "ratings.csv").write_text(f"group,items,pp,rating,ratings\n{rated}")
    place.titles.parent.mkdir(parents=True, exist_ok=True)
    named = range(ITEMS if name == "alpha" else 0)
    titles = {"item": [f"i{n}" for n in named], "title": [f"Film <{n}>" for n in named]}
    pl.DataFrame(titles, {"item": pl.String, "title": pl.String}).write_parquet(place.titles)
    counted = {"users": USERS, "items": ITEMS, "interactions": 1200}
    parts = {"train": 900, "valid": 120, "test": 120, "random": 60, "masked": ["train"]}
    manifest = {"protocol": "balanced", **counted, **parts, "digests": {"train": "00"}}
    (place.split / "manifest.json").write_text(json.dumps(manifest))


def fabricate_cell(cell: Cell, lift: float, stream: np.random.Generator) -> None:
    for path in (cell.metrics, cell.curve, cell.tuned, cell.per_user):
        path.parent.mkdir(parents=True, exist_ok=True)
    user = pl.Series("user", [f"u{n}" for n in range(USERS)])
    easy = np.random.default_rng(5).random(USERS) * 0.3  # the same users are easy for everyone
    ndcg = easy + lift + stream.normal(0, 0.02, USERS)
    random = np.where(np.arange(USERS) % 2, easy - lift / 2 + stream.normal(0, 0.02, USERS), np.nan)
    columns = {"recall_at_50": ndcg * 2, "ndcg_at_50": ndcg, "random_ndcg_at_50": random}
    per_user = pl.DataFrame({"user": user, **columns}, nan_to_null=True)
    per_user.write_parquet(cell.per_user)
    metrics = {name: float(np.nanmean(values)) for name, values in columns.items()}
    metrics |= {"arp_at_50": 80 - 200 * lift, "gini_at_50": 0.8, "coverage_at_50": 0.3 + lift}
    metrics |= {"tail_share_at_50": 0.05 + lift}

    weighted = cell.method in ("ppac", "ppgp")
    weights = {"gamma": 64.0, "beta": -2.0} if weighted else {}
    grid = [(g, b) for g in GAMMA for b in BETA] if weighted else [()]
    values = [0.1 + lift + stream.random() / 50 for _ in grid]
    rows = [dict(zip(("gamma", "beta"), at, strict=False)) for at in grid]
    scores = [{"recall_at_50": 2 * v, "ndcg_at_50": v} for v in values]
    surface = pl.DataFrame([row | score for row, score in zip(rows, scores, strict=True)])
    surface.write_csv(cell.surface)
    tuned = {"weights": weights, "valid": scores[-1], "neutral": scores[0]}
    cell.tuned.write_text(json.dumps(tuned))
    cell.metrics.write_text(json.dumps(metrics | weights))
    if cell.method == "ppac":
        fabricate_sweep(cell, metrics)
    if cell.base != RANKERS:
        epochs = range(1, 41)
        lines = [f"{e},{3 / e:.4f}," + (f"{v},{v / 2}" if e % 5 == 0 else ",") for e in epochs
                 for v in [0.2 + lift - 0.2 / e]]  # fmt: skip
        cell.curve.write_text("\n".join(["epoch,loss,recall_at_50,ndcg_at_50", *lines]) + "\n")
    items = [f"i{n}" for n in stream.integers(ITEMS - 20, ITEMS, USERS * TOP)]
    lists = {"user": np.repeat(user.to_numpy(), TOP), "rank": np.tile(np.arange(1, TOP + 1), USERS)}
    pl.DataFrame({**lists, "item": items, "score": 0.0}).write_parquet(cell.top)


def fabricate_sweep(cell: Cell, metrics: dict[str, float]) -> None:
    """The stronger the weights, the less popular the lists; accuracy is best in between."""
    cell.swept.parent.mkdir()
    popular = metrics["arp_at_50"]
    rows = []
    for gamma, beta in [(g, b) for g in GAMMA for b in BETA]:
        strength = (np.log2(1 + gamma) + np.log2(1 - beta)) / 22
        row = {"gamma": gamma, "beta": beta} | metrics
        row["ndcg_at_50"] = metrics["ndcg_at_50"] * (1 - (strength - 0.4) ** 2)
        rows.append(row | {"arp_at_50": popular * (1.2 - strength), "coverage_at_50": strength})
    pl.DataFrame(rows).write_csv(cell.front)
    alone = {"varied": ["gamma", "gamma", "beta", "k"], "value": [0.0, 64.0, -2.0, 5.0]}
    names = ("recall_at_50", "ndcg_at_50", "pru_at_50", "ppru_at_50")
    pl.DataFrame(alone | {name: [0.1, 0.2, 0.15, 0.2] for name in names}).write_csv(cell.swept)


def fabricate(axes: dict[str, list[str]]) -> list[Cell]:
    stream = np.random.default_rng(7)
    cells = configured(**axes)
    for name in axes["datasets"]:
        fabricate_dataset(name, stream)
    for cell in cells:
        fabricate_cell(cell, {"ppac": 0.03, "ppgp": -0.02}.get(cell.method, 0.0), stream)
    return cells


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pipeline folder in which everything but the report has run."""
    (tmp_path / ".dvc").mkdir()
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params | AXES))
    monkeypatch.chdir(tmp_path)
    fabricate(AXES)
    return tmp_path


def run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stages.report", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)


class Page(HTMLParser):
    """Tags in balance, all text, and everything a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href", "data")]
        if tag not in ("meta", "link", "br", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_stage_writes_everything_and_says_the_finding(project: Path) -> None:
    done = run(project)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("report: On alpha, ppac significantly raises NDCG@50 on the")
    written = sorted(str(p.relative_to(project / "report")) for p in project.glob("report/**/*.*"))
    assert sum(name.startswith("figures/") for name in written) == 11 + 4 * 3 * 2
    assert [name for name in written if not name.startswith("figures/")] == [
        "index.html",
        "plots/curves.csv",
        "plots/examples.csv",
        "plots/front.csv",
        "plots/surface.csv",
        "results.csv",
        "results.md",
        "search.csv",
        "significance.csv",
        "summary.json",
        "tables/differences.csv",
        "tables/groups.csv",
        "tables/head_tail.csv",
        "tables/ratings.csv",
        "tables/sweep.csv",
        "validation.csv",
    ]
    table = pl.read_csv("report/results.csv")
    assert len(table) == 2 * (2 * 3 + 2)
    assert table.columns[:4] == ["dataset", "base", "method", "recall_at_50"]
    summary = json.loads(Path("report/summary.json").read_text())
    row = table.filter(dataset="beta-2", base="lightgcn", method="ppac").row(0, named=True)
    assert summary["beta-2"]["lightgcn"]["ppac"]["ndcg_at_50"] == row["ndcg_at_50"]
    tested = pl.read_csv("report/significance.csv")
    # Datasets, bases, ppac and a variant, metrics, two opponents each; rankers have no base.
    assert len(tested) == 2 * 2 * 2 * 3 * 2
    ours = tested.filter(method="ppac", metric="ndcg_at_50")
    assert set(ours["verdict"]) == {"better"}
    assert set(ours.filter(against="best")["opponent"]) <= {"base", "mostpop"}
    assert set(tested.filter(metric="random_ndcg_at_50")["users"]) == {USERS // 2}


def test_page(project: Path) -> None:
    assert run(project).returncode == 0
    text = Path("report/index.html").read_text()
    page = Page(text)
    body = " ".join(page.text)
    assert not [place for place in page.fetched if place.startswith(("http", "//", "data:"))]
    files = [place for place in page.fetched if not place.startswith("#")]
    assert all((project / "report" / place).is_file() for place in files)  # a number's origin
    assert "link" not in page.tags and "img" not in page.tags
    assert len(text) < 3e6
    first = text[text.index("<body>") :]
    assert first.removeprefix("<body>").lstrip().startswith("<h1>On alpha, ppac significantly")
    for cell in configured(**AXES):
        assert f"<td class='name'>{cell.base}</td><td class='name'>{cell.method}</td>" in text
        assert f"<a href='../{cell.metrics}'>" in text
        assert cell.method in body
    assert "prefers-color-scheme: dark" in text
    assert "gamma 64, beta -2: NDCG@50" in body  # hovering a square of the heat map
    drawn = 4 * 2 + 6 + 2  # curves and losses, surfaces, head and tail
    drawn += 4 * 2 + 2 + 1 + 4 * 3 * 2  # groups, differences, ratings, sweeps
    assert page.tags.count("svg") == drawn + 4 + 2  # trade-offs, intervals
    assert "dvc exp run -S gamma=64 -S beta=-2" in body
    assert "Film &lt;" in text and "Film <" not in text.replace("Film &lt;", "")


def test_same_bytes_twice_and_strangers_ignored(project: Path) -> None:
    assert run(project).returncode == 0
    first = {p: p.read_bytes() for p in Path("report").glob("**/*.*")}
    stale = Path("metrics/alpha/ncf/ppac.json")
    stale.parent.mkdir()
    stale.write_text("{}")
    assert run(project).returncode == 0
    assert {p: p.read_bytes() for p in Path("report").glob("**/*.*")} == first


def test_missing_file_is_named(project: Path) -> None:
    Cell("alpha", "bprmf", "ppac").top.unlink()
    Cell("beta-2", RANKERS, "ppgp").metrics.unlink()
    done = run(project)
    assert done.returncode == 1
    assert done.stderr == (
        "error: runs/alpha/bprmf/ppac/evaluate/top.parquet is missing (and 1 more): "
        "run `dvc repro`, which writes it.\n"
    )
    assert not Path("report").exists()


def may_be_blank() -> None:
    path = Path("params.yaml")
    path.write_text(path.read_text().replace("missing: refuse", "missing: blank"))


def test_a_cell_not_run_may_be_blank(project: Path) -> None:
    may_be_blank()
    path = Path("params.yaml")
    absent = Cell("alpha", "bprmf", "ppac")
    for file in (absent.metrics, absent.top, absent.per_user, absent.tuned, absent.curve):
        file.unlink()
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"sweeps": ["ppac"]}))
    swept = Cell("beta-2", "bprmf", "ppac")
    for cell in (Cell("beta-2", "lightgcn", "ppac"), Cell("alpha", "lightgcn", "ppac")):
        cell.swept.unlink()  # and no other
    done = run(project)
    assert done.returncode == 0, done.stderr
    rows = Path("report/results.csv").read_text().splitlines()
    assert rows[2] == "alpha,bprmf,ppac" + "," * (len(rows[0].split(",")) - 3)
    assert "alpha,bprmf,ppac," not in Path("report/significance.csv").read_text()
    varied = {f"{swept} {name}" for name in ("gamma", "beta", "k")}
    assert {*pl.read_csv("report/tables/sweep.csv")["cell"]} == varied
    Page(Path("report/index.html").read_text())


def test_a_report_on_one_dataset_and_base(project: Path) -> None:
    """What other cells lack does not matter; own cells run elsewhere have metrics alone."""
    may_be_blank()
    for path in ("runs/beta-2", "data/split/beta-2", "metrics/alpha/lightgcn"):
        shutil.rmtree(path)
    elsewhere = Cell("alpha", "bprmf", "base")
    shutil.rmtree(elsewhere.run)
    done = run(project, "--dataset", "alpha", "--base", "bprmf")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(
        "See report/alpha/bprmf/index.html. "
        "In the results alone, because their runs/ are not here: 1 cell(s).\n"
    )
    place = Path("report/alpha/bprmf")
    assert [path.name for path in Path("report").iterdir()] == ["alpha"]
    own = ["base", "ppac", "ppac-without-ci", *AXES["rankers"]]
    table = pl.read_csv(place / "results.csv")
    assert table["method"].to_list() == own
    assert not table["ndcg_at_50"].has_nulls()
    assert "| bprmf   | base " in (place / "results.md").read_text()
    assert "base" in json.loads((place / "summary.json").read_text())["alpha"]["bprmf"]
    tested = pl.read_csv(place / "significance.csv")
    assert set(tested["method"]) == {"ppac", "ppac-without-ci"}
    assert "base" not in set(tested["opponent"])
    shares = pl.read_csv(place / "tables/head_tail.csv")["cell"].to_list()
    here = [f"alpha/{'bprmf' if name in own[:3] else RANKERS}/{name}" for name in own[1:]]
    assert shares == ["alpha/train", *here]
    assert set(pl.read_csv(place / "tables/groups.csv")["method"]) == set(own[1:])
    page = Page((place / "index.html").read_text())
    files = [name for name in page.fetched if not name.startswith("#")]
    assert f"../../../{elsewhere.metrics}" in files
    assert all((place / name).is_file() for name in files)


def test_a_report_on_nothing_says_what_is_missing(project: Path) -> None:
    may_be_blank()
    shutil.rmtree("runs/alpha")
    done = run(project, "--dataset", "alpha", "--base", "bprmf")
    assert done.stderr == (
        "error: runs/alpha/bprmf/base/tune/tuned.json is missing, and no other cell is whole: "
        "run `dvc repro`.\n"
    )


def test_mistyped_metric_is_named(project: Path) -> None:
    path = Path("params.yaml")
    path.write_text(path.read_text().replace("- gini_at_50", "- gini_at_5"))
    done = run(project)
    assert done.returncode == 1
    assert "'report.metrics' has 'gini_at_5', which no cell has" in done.stderr
    assert "did you mean 'gini_at_50'?" in done.stderr


@pytest.mark.parametrize(
    "axes",
    [
        {"methods": ["ppac"], "variants": []},
        {"methods": ["base"], "variants": []},
        {"bases": [], "methods": [], "variants": []},
        {"rankers": []},
    ],
)
def test_any_axes_give_a_report(project: Path, axes: dict[str, list[str]]) -> None:
    params = yaml.safe_load(Path("params.yaml").read_text())
    Path("params.yaml").write_text(yaml.safe_dump(params | axes))
    done = run(project)
    assert done.returncode == 0, done.stderr
    Page(Path("report/index.html").read_text())


def test_no_cells() -> None:
    with pytest.raises(Problem, match="nothing to report on"):
        configured([], ["bprmf"], ["base"], [], [])


def test_results_table_from_metric_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = {
        Cell("d", "ncf", "base"): {"ndcg_at_50": 0.1, "arp_at_50": 120.0, "ppru_at_50": 0.3},
        Cell("d", "ncf", "ppac"): {"ndcg_at_50": 0.25, "arp_at_50": 80.25, "ppru_at_50": 0.5},
    }
    for cell, values in made.items():
        cell.metrics.parent.mkdir(parents=True, exist_ok=True)
        cell.metrics.write_text(json.dumps(values))
    wanted = ["ndcg_at_50", "random_ndcg_at_50", "arp_at_50", "ppru_at_50"]
    table = results.select(results.read_metrics(made), wanted, "report.metrics")
    assert results.markdown(table) == (
        "## d, top 50\n"
        "\n"
        "| base | method |       NDCG | random NDCG |      ARP |   PPRU |\n"
        "|:-----|:-------|-----------:|------------:|---------:|-------:|\n"
        "| ncf  | base   |     0.1000 |           - |    120.0 | 0.3000 |\n"
        "| ncf  | ppac   | **0.2500** |           - | **80.2** | 0.5000 |\n"
        "\n"
        "Bold: the best of the table (lowest for ARP).\n"
    )
    few = results.summary(results.select(table, ["ndcg_at_50"], "report.summary"))
    assert few == {"d": {"ncf": {"base": {"ndcg_at_50": 0.1}, "ppac": {"ndcg_at_50": 0.25}}}}


def test_metrics_file_with_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cell = Cell("d", "ncf", "base")
    cell.metrics.parent.mkdir(parents=True)
    cell.metrics.write_text('{"ndcg_at_50": "high"}')
    with pytest.raises(Problem, match=r"metrics/d/ncf/base\.json must hold names and numbers"):
        results.read_metrics([cell])


def test_validation_gains(project: Path) -> None:
    cell = Cell("alpha", "bprmf", "ppac")
    table = results.validation(configured(**AXES))
    row = table.filter(dataset="alpha", base="bprmf", method="ppac").row(0, named=True)
    own, base = (
        json.loads(c.tuned.read_text())["valid"]["ndcg_at_50"]
        for c in (cell, Cell("alpha", "bprmf", "base"))
    )
    assert (row["gamma"], row["beta"]) == (64.0, -2.0)
    assert row["gain_ndcg_at_50"] == pytest.approx(own / base - 1)
    ranker = table.filter(dataset="alpha", base=RANKERS, method="mostpop").row(0, named=True)
    assert ranker["base_ndcg_at_50"] is None and ranker["gamma"] is None


def test_head_and_tail_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six items, a head of a third: items 1 and 4 with 9 + 6 of 20 interactions."""
    monkeypatch.chdir(tmp_path)
    place, cell = Dataset("toy"), Cell("toy", RANKERS, "mostpop")
    for folder in (place.popularity, place.split, cell.top.parent):
        folder.mkdir(parents=True)
    dense = pl.DataFrame({"item": list(range(6))})
    counts = dense.with_columns(count=pl.Series([1, 9, 2, 1, 6, 1]))
    counts.write_parquet(place.popularity / "gp.parquet")
    ids = dense.with_columns(id=pl.Series([10, 11, 12, 13, 14, 15]))
    ids.write_parquet(place.split / "items.parquet")
    top = {"user": [7, 7, 8, 8], "rank": [1, 2, 1, 2], "item": [11, 14, 11, 10]}
    pl.DataFrame(top).write_parquet(cell.top)
    assert figures.head_tail([cell], 1 / 3).rows() == [
        ("toy", "toy/train", 0.75, 0.25),
        ("toy", "toy/rankers/mostpop", 0.75, 0.25),
    ]
    with pytest.raises(Problem, match=r"evaluate\.head_items"):
        figures.head_tail([cell], 3)


def test_curves_keep_validated_epochs(project: Path) -> None:
    table = figures.curves(configured(**AXES))
    assert table["cell"].n_unique() == 8
    assert table.filter(cell="alpha/bprmf/base")["epoch"].to_list() == list(range(5, 41, 5))


def test_commands_are_those_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of pipelines/ is a DVC project of its own, whose weights stand two folders up."""
    here = tmp_path / "pipelines" / "mine"
    here.mkdir(parents=True)
    (tmp_path / ".dvc").mkdir()
    monkeypatch.chdir(tmp_path)
    assert experiment(gamma=64.0, beta=-0.5) == "dvc exp run -S gamma=64 -S beta=-0.5"
    assert experiment(gamma=None, beta=None) == ""
    monkeypatch.chdir(here)
    told = experiment(gamma=64.0, beta=None)
    assert told == "dvc --cd pipelines/mine exp run -S ../../params.yaml:gamma=64"
    assert "dvc --cd pipelines/mine metrics diff" in usual()


def test_vega_lite_is_packed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And every time, where it cannot be kept."""
    packed = []
    monkeypatch.setattr(
        "vl_convert.javascript_bundle", lambda *args: packed.append(args) or "/* é */\r\n"
    )
    for place, times in ((tmp_path / "kept.js", 1), (tmp_path / "kept.js" / "no folder.js", 3)):
        texts = {vega_lite(place) for _ in range(2)}
        assert texts == {"/* é */\r\n"}
        assert len(packed) == times


def test_drawings_do_not_depend_on_fonts(project: Path) -> None:
    """Another machine has other fonts; the drawing must be the same but for their name."""
    cells = configured(**AXES)
    rows = figures.curves(cells).with_columns(method=pl.lit("ppac"))
    grid = pl.read_csv(Cell("alpha", "bprmf", "ppac").surface)
    specs = [
        figures.lines(rows, "ndcg_at_50", "NDCG", ["ppac"]),
        figures.heat_map(grid, "ndcg_at_50", {"gamma": 64.0, "beta": -2.0}),
        figures.heat_map(grid.filter(beta=0), "ndcg_at_50", {"gamma": 64.0}),
        figures.bars(figures.head_tail(cells[:6], 0.1)),
    ]
    for spec in specs:
        other = spec | {"config": spec["config"] | {"font": "monospace"}}
        assert draw(other).replace("monospace", "sans-serif") == draw(spec)


ROW = {"dataset": "d", "base": "ncf", "method": "ppac", "metric": "ndcg_at_50"}


def outcome(base: str, relative: float, verdict: str) -> dict[str, object]:
    moved = {"difference": relative / 10, "relative": relative, "verdict": verdict}
    return ROW | {"base": base} | moved


def test_finding_says_what_went_wrong() -> None:
    rows = [
        outcome("bprmf", 0.234, "better"),
        outcome("ncf", -0.05, "worse"),
        outcome("lightgcn", 0.004, "no difference"),
    ]
    assert comparison(pl.DataFrame(rows), "ppac", "ndcg_at_50", "balanced") == (
        "On d, ppac significantly raises NDCG@50 on the intervened test by 23.4% on bprmf, and "
        "significantly lowers it by 5.0% on ncf, and does not significantly change it on "
        "lightgcn (+0.4%)."
    )


def test_finding_counts_when_there_are_many() -> None:
    rows = [outcome(f"b{n}", 0.01 * (n + 1), "better") for n in range(6)]
    rows += [outcome("b6", -0.002, "no difference")]
    assert comparison(pl.DataFrame(rows), "ppac", "ndcg_at_50", "random") == (
        "Over 1 dataset and 7 base models, ppac significantly raises NDCG@50 on the random test "
        "in 6 of 7 (+1.0% to +6.0%), and does not significantly change it in 1 of 7 (-0.2%)."
    )


def test_finding_needs_a_compared_metric() -> None:
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["report"]["finding"]["metric"] = "gini_at_50"
    config = ReportConfig.read(params, "report")
    with pytest.raises(Problem, match=r"report\.finding\.metric"):
        findings(pl.DataFrame(), pl.DataFrame(), config, "balanced")


def test_forced_weights_are_shown_beside_the_chosen(project: Path) -> None:
    forced = Cell("alpha", "bprmf", "ppac").metrics
    forced.write_text(json.dumps(json.loads(forced.read_text()) | {"gamma": 256.0}))
    assert run(project).returncode == 0
    text = Path("report/index.html").read_text()
    assert "<th>gamma on test</th>" in text and ">256</a></td>" in text
    assert "beta on test" not in text


def test_trials_are_gathered_with_the_chosen_one_first(project: Path) -> None:
    cell = Cell("alpha", "bprmf", "ppac")
    cell.search.write_text(
        "train.lr,ppac.alpha,epochs,gamma,ndcg_at_50\n0.01,0.1,5,64.0,0.2\n0.003,0.1,5,0.0,0.1\n"
    )
    table = searched(configured(**AXES))
    assert table["chosen"].to_list() == [True, False]
    assert table["settings"].to_list() == [
        "train.lr=0.01, ppac.alpha=0.1",
        "train.lr=0.003, ppac.alpha=0.1",
    ]
    assert table["ndcg_at_50"].to_list() == [0.2, 0.1]
