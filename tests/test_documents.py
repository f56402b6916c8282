"""Tables inside documents: what the second edition gains and costs, on toy files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from ppac.core.errors import Problem
from ppac.documents.blocks import fill

AXES = {
    "datasets": ["d"],
    "bases": ["ncf"],
    "methods": ["ppac"],
    "variants": ["ppac-plus-rare", "ppac-plus"],
    "rankers": ["ppgp"],
}
HEADER = "dataset,base,method,metric,against,opponent,mean_opponent,mean_method,relative,verdict\n"


@pytest.fixture
def root(tmp_path) -> Path:
    """A project in which ppac, ppac-plus and ppgp were run, and reported on."""
    folder = tmp_path / "pipelines/p"
    values = {"ncf/ppac": (0.2, 0.1, 300.0), "ncf/ppac-plus": (0.3, 0.15, 250.04)}
    for cell, (recall, ndcg, arp) in (values | {"rankers/ppgp": (0.1, 0.05, 100.0)}).items():
        path = folder / f"metrics/d/{cell}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        found = {"recall_at_50": recall, "ndcg_at_50": ndcg, "arp_at_50": arp}
        path.write_text(json.dumps(found))
    (folder / ".dvc").mkdir()
    (folder / "params.yaml").write_text(yaml.safe_dump(AXES))
    report = folder / "report/d/ncf"
    report.mkdir(parents=True)
    (report / "significance.csv").write_text(
        HEADER
        + "d,ncf,ppac-plus,recall_at_50,ppac,ppac,0.2,0.3,0.5,better\n"
        + "d,ncf,ppac-plus,recall_at_50,best,ppgp,0.1,0.3,-0.012,no difference\n"
        + "d,ncf,ppac-plus,ndcg_at_50,ppac,ppac,0.1,0.15,-0.25,worse\n"
        + "d,ncf,ppac,ndcg_at_50,best,ppgp,0.05,0.1,0.9,better\n"
    )
    return tmp_path


def filled(root: Path, block: str) -> str:
    """A document of one block, written."""
    (root / "d.md").write_text(f"<!-- numbers: {block} -->\n<!-- /numbers -->")
    return fill(Path("d.md"), root)


def written(root: Path, block: str) -> list[list[str]]:
    """The cells of a block's table, without its head."""
    lines = filled(root, block).splitlines()[3:-1]
    return [[word.strip() for word in line.strip("|").split("|")] for line in lines]


def test_gains_are_as_tested_and_bold_where_significant(root):
    (row,) = written(root, "gains p")
    assert row[:5] == ["d", "ncf", "0.3000", "**+50.0%**", "-1.2% ppgp"]
    assert row[5:8] == ["0.1500", "**-25.0%**", ""]  # the best other was tested for ppac alone
    assert row[8:] == ["", "", ""]  # no random test


@pytest.mark.parametrize("cell", ["ncf/ppac-plus", "ncf/ppac"])
def test_gains_tested_before_a_cell_was_run_again_are_blank(root, cell):
    path = root / f"pipelines/p/metrics/d/{cell}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"recall_at_50": 0.31}))
    (row,) = written(root, "gains p")
    assert row[3] == ""  # of ppac, tested when one of the two had another number
    assert row[6] == "**-25.0%**"  # NDCG is as it was


def test_gains_without_a_report_are_blank(root):
    (root / "pipelines/p/report/d/ncf/significance.csv").unlink()
    (row,) = written(root, "gains p")
    assert row[:4] == ["d", "ncf", "0.3000", ""]


def test_what_is_printed_is_counted(root):
    (root / "reference").mkdir()
    rows = "table,dataset,base,method,recall@50,ndcg@50\n"
    rows += "T2,d,bprmf,ppac,0.2,0.1\nT2,d,ncf,ppac,0.2,0.2\nT2,d,ncf,base,0.9,0.9\n"
    (root / "reference/printed.csv").write_text(rows)
    text = filled(root, "beyond p")
    said = "2 of 2 printed numbers were run, 1 are reached, +12.5% on average."
    assert f"- `ppac-plus`, beside PPAC of its base model: {said}\n" in text
    assert "- `pp-plus`, beside PPAC of BPRMF: 0 of 0 printed numbers were run" in text


def test_a_gain_is_split_into_what_training_gives_and_the_rest(root):
    params = AXES | {"methods": ["base", "ppac"], "variants": ["ppac-without-ci"]}
    (root / "pipelines/p/params.yaml").write_text(yaml.safe_dump(params))
    for method, recall in (("base", 0.16), ("ppac-without-ci", 0.15)):
        path = root / f"pipelines/p/metrics/d/ncf/{method}.json"
        path.write_text(json.dumps({"recall_at_50": recall}))
    (root / "reference").mkdir()
    rows = "table,dataset,base,method,recall@50,ndcg@50\n"
    rows += "T2,d,ncf,base,0.4,0.2\nT2,d,ncf,ppac,0.6,0.3\nT3,d,ncf,without-ci,0.5,0.2\n"
    rows += "T3,d,ncf,ppac,0.6,0.9\n"  # the same cell with another number: table 2's counts
    (root / "reference/printed.csv").write_text(rows)
    assert written(root, "trained p") == [
        ["d", "ncf", "Recall@50", "+50.0%", "50%", "+25.0%", "-25%"],
        ["d", "ncf", "NDCG@50", "+50.0%", "0%", "", ""],
    ]


def test_steps_stand_side_by_side_and_blank_where_not_run(root):
    rows = written(root, "steps p arp_at_50")
    assert rows == [["d", "ncf", "300.0", "", "", "250.0"], ["d", "none", "100.0", "", "", ""]]


def test_cost_is_the_median_time_and_the_most_memory(root):
    def record(contender: str, *seconds: float) -> dict[str, object]:
        repeats = [{"seconds": s, "peak_mb": 1000 * s} for s in seconds]
        return {"case": "d", "contender": contender, "repeats": repeats}

    names = ("paper", "plus", "paper-ranking", "plus-ranking")
    records = [record(name, 1 + place, 2, 9) for place, name in enumerate(names)]
    (root / "bench").mkdir()
    (root / "bench/results.json").write_text(json.dumps({"plus": {"records": records}}))
    assert written(root, "cost") == [
        ["d", "finding", "2.00", "9,000", "2.00", "9,000"],
        ["d", "a ranking", "3.00", "9,000", "4.00", "9,000"],
    ]


def test_an_unknown_block_is_named(tmp_path):
    with pytest.raises(Problem, match=r"^d\.md: unknown block 'tables x'"):
        filled(tmp_path, "tables x")


def test_trials_of_a_search_are_shown_best_first(root):
    assert "Not run:\n\n- d, ncf\n<!--" in filled(root, "tried p")
    path = root / "pipelines/p/trials/d/ncf/ppac.csv"
    path.parent.mkdir(parents=True)
    path.write_text(
        "train.lr,train.l2,epochs,ndcg_at_50\n"
        "0.005,0.06,20,0.03\n0.01,0.06,20,0.02\n0.002,0.06,20,0.01\n"
    )
    (row, *_) = written(root, "tried p")
    assert row[:3] == ["d", "ncf", "3"]
    assert row[3:5] == ["lr 0.005, l2 0.06", "0.0300"]
    assert row[5:] == ["lr 0.01, l2 0.06", "0.0200", "lr 0.002, l2 0.06", "0.0100"]
