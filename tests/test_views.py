"""Views of cells and reports that have gaps, on toy files; our numbers beside the printed ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
import yaml
from conftest import ROOT

from ppac.core import registry
from ppac.core.errors import Problem
from ppac.layout import RANKERS
from ppac.reporting.printed import printed
from ppac.reporting.view import Source, write

MEASURED = {"ppac": (0.4, 0.2), "base": (0.3, 0.21)}
TABLES = {
    "head_tail": "dataset,cell,head,tail\n"
    "d,d/train,0.5,0.5\nd,d/b/ppac,0.4,0.6\nd,d/b/dice,0.9,0.1\n",
    "groups": "cell,dataset,base,method,group,items,frequency,recall\n"
    "d/b/ppac,d,b,ppac,0-10,0.5,2.0,\nd/b/ppac,d,b,ppac,11-20,0.3,5.0,0.5\n"
    "d/b/ppac,d,b,ppac,over 20,0.2,9.0,0.25\nd/b/dice,d,b,dice,0-10,0.5,2.0,0.25\n",
    "differences": "dataset,differing,users,share\nd,9,1,0.5\nd,21,1,0.5\n",
    "ratings": "dataset,group,items,pp,rating\nd,1,2,0.1,3.5\n",
    "sweep": "cell,dataset,base,method,varied,value,recall_at_50,ndcg_at_50,pru_at_50,ppru_at_50\n"
    "d/b/ppac k,d,b,ppac,k,5,0.1,0.1,0.1,0.1\nd/b/ppac k,d,b,ppac,k,10,0.3,0.1,0.1,0.1\n"
    "d/b/ppac k,d,b,ppac,k,20,0.2,0.1,0.1,0.1\n",
}


@pytest.fixture
def source(tmp_path, monkeypatch) -> Source:
    """A folder with two cells and one report on everything."""
    monkeypatch.chdir(ROOT)  # where the printed numbers are
    (tmp_path / ".dvc").mkdir()
    configure(tmp_path, ["bprmf"], "refuse")
    (tmp_path / "report/tables").mkdir(parents=True)
    (tmp_path / "metrics/ml-1m/bprmf").mkdir(parents=True)
    for method, (recall, ndcg) in MEASURED.items():
        found = {"recall_at_50": recall, "ndcg_at_50": ndcg, "arp_at_50": 100.0}
        (tmp_path / f"metrics/ml-1m/bprmf/{method}.json").write_text(json.dumps(found))
    for name, text in TABLES.items():
        (tmp_path / f"report/tables/{name}.csv").write_text(text)
    return Source(tmp_path)


def configure(folder: Path, bases: list[str], missing: str) -> None:
    axes = {"datasets": ["ml-1m", "gowalla"], "bases": bases}
    axes |= {"methods": ["ppac", "base"], "variants": ["ppac-without-ci"]}
    text = yaml.safe_dump({**axes, "report": {"missing": missing}})
    (folder / "params.yaml").write_text(text)


@pytest.fixture
def reports(source) -> Source:
    """The folder with a report on each of two base models, which share a dataset's rankers."""
    configure(source.folder, ["ncf", "bprmf"], "blank")
    shutil.rmtree(source.folder / "report")
    for base, mostpop, empty in (("bprmf", 0.11, "0.5"), ("ncf", 0.1, "")):
        place = source.folder / "report/ml-1m" / base
        (place / "tables").mkdir(parents=True)
        header = "dataset,base,method,recall_at_50,ndcg_at_50,random_ndcg_at_50\n"
        rows = f"ml-1m,{base},ppac,0.4,0.2,{empty}\nml-1m,{base},base,0.3,0.1,{empty}\n"
        rows += f"ml-1m,rankers,mostpop,{mostpop},0.05,{empty}\n"
        (place / "results.csv").write_text(header + rows)
        shares = f"ml-1m,ml-1m/train,0.5,0.5\nml-1m,ml-1m/{base}/ppac,0.4,0.6\n"
        shares += "ml-1m,ml-1m/rankers/mostpop,0.9,0.1\n"
        (place / "tables/head_tail.csv").write_text(f"dataset,cell,head,tail\n{shares}")
        for name, text in TABLES.items():
            text = text.replace("d/b/", f"ml-1m/{base}/").replace("d,b,", f"ml-1m,{base},")
            text = text.replace("\nd,", "\nml-1m,")
            if name != "head_tail":
                (place / f"tables/{name}.csv").write_text(text)
    return source


def shown(source: Source, name: str) -> tuple[str, dict[str, pl.DataFrame], set[str]]:
    view = registry.find("views", name).view(source)
    return view.text, dict(view.tables), {figure.name for figure in view.figures or []}


def test_cells_not_run_are_blank_and_named(source):
    text, tables, _ = shown(source, "ablation")
    assert tables["results"]["method"].to_list() == [
        "base", "ppac-without-ci", "ppac", "base", "ppac-without-ci", "ppac"
    ]  # fmt: skip
    assert "- `ppac` is above `base` in 1 of 2 numbers; printed: in 4 of 4." in text
    assert "- `ppac` is above `ppac-without-ci` in 0 of 0 numbers" in text
    absent = "- gowalla, bprmf: `base`, `ppac-without-ci`, `ppac`"
    assert text.endswith(f"- ml-1m, bprmf: `ppac-without-ci`\n{absent}")
    row = tables["results"].filter(dataset="ml-1m", method="ppac").row(0, named=True)
    assert (row["recall_at_50"], row["printed_recall_at_50"]) == (0.4, 0.3789)


def test_none_of_the_cells_was_run(source):
    shutil.rmtree(source.folder / "metrics")
    text, _, _ = shown(source, "observed")
    assert text.endswith("Not run:\n\n- ml-1m, bprmf: `ppac`\n- gowalla, bprmf: `ppac`")


def test_figures_show_the_methods_that_the_paper_shows(source):
    text, tables, figures = shown(source, "debiasing")
    assert tables["groups"]["method"].to_list() == ["ppac"] * 3
    ends = "| d/b/ppac |          2.00 |        9.00 |                |       0.2500 |"
    assert text.splitlines()[-1] == ends
    assert tables["head_tail"]["cell"].to_list() == ["d/train", "d/b/ppac"]
    assert figures == {"head-d", "frequency-d-b", "recall-d-b"}
    assert "dice" not in text
    text, _, figures = shown(source, "motivation")
    assert figures == {"differences-d", "ratings-d"}
    assert "| d       | 15.0 |    50.0% |    50.0% |" in text


def test_the_turning_point_is_where_recall_is_highest(source):
    text, _, _ = shown(source, "sensitivity")
    assert text.splitlines()[-1] == "| d/b/ppac k | 10      | 0.1000 | 0.3000 | 0.2000 |"


def test_what_draws_writes_its_folder_even_with_nothing_to_draw(source, tmp_path):
    path = source.folder / "report/tables/sweep.csv"
    path.write_text(TABLES["sweep"].splitlines()[0] + "\n")
    write(registry.find("views", "sensitivity").view(source), tmp_path / "out")
    assert (tmp_path / "out/figures").is_dir()
    assert (tmp_path / "out/tables/sweep.csv").is_file()


def test_a_missing_report_is_named(source):
    (source.folder / "report/tables/sweep.csv").unlink()
    command = rf"dvc --cd pipelines/{source.folder.name} repro -s report`"
    with pytest.raises(Problem, match=rf"sweep\.csv does not exist: run `{command}"):
        shown(source, "sensitivity")


def test_reports_are_put_together_with_what_they_share_once(reports):
    rows = reports.read("results.csv")
    assert rows.select("base", "method").rows() == [
        ("ncf", "ppac"), ("ncf", "base"), ("bprmf", "ppac"), ("bprmf", "base"),
        ("rankers", "mostpop"),
    ]  # fmt: skip
    assert rows["recall_at_50"].to_list() == [0.4, 0.3, 0.4, 0.3, 0.1]  # the first report's
    assert rows["random_ndcg_at_50"].to_list() == [None, None, 0.5, 0.5, None]
    assert reports.table("head_tail")["cell"].to_list() == [
        "ml-1m/train", "ml-1m/ncf/ppac", "ml-1m/bprmf/ppac", "ml-1m/rankers/mostpop"
    ]  # fmt: skip
    assert reports.table("differences").rows() == [("ml-1m", 9, 1, 0.5), ("ml-1m", 21, 1, 0.5)]
    assert reports.table("groups")["base"].to_list() == ["ncf"] * 4 + ["bprmf"] * 4
    assert reports.table("sweep")["value"].to_list() == [5, 10, 20, 5, 10, 20]


def test_cells_of_no_report_are_shown_and_those_never_run_are_blank(reports):
    text, tables, _ = shown(reports, "ablation")
    rows = tables["results"].select("dataset", "base").unique(maintain_order=True).rows()
    assert rows == [(name, base) for name in ("ml-1m", "gowalla") for base in ("ncf", "bprmf")]
    assert tables["results"]["recall_at_50"].to_list() == [None] * 3 + [0.3, None, 0.4] + [None] * 6
    assert "- gowalla, ncf: `base`, `ppac-without-ci`, `ppac`\n" in text


@pytest.mark.parametrize("name", registry.names("views"))
def test_every_view_of_reports_put_together(reports, name):
    text, _, figures = shown(reports, name)
    assert "ml-1m" in text
    assert bool(figures) == (name in ("debiasing", "motivation", "sensitivity"))


def test_reports_without_rows_and_none_at_all(reports):
    for path in reports.folder.glob("report/*/*/tables/*.csv"):
        path.write_text(path.read_text().splitlines()[0] + "\n")
    for name in ("debiasing", "sensitivity"):
        assert shown(reports, name)[2] == set()
    shutil.rmtree(reports.folder / "report")
    stage = rf"pipelines/{reports.folder.name} repro -s ncf/report/dvc\.yaml:report@ml-1m"
    with pytest.raises(Problem, match=rf"does not exist: run `dvc --cd {stage}`"):
        shown(reports, "motivation")


def test_printed_rankers_have_no_base():
    rows = printed(ROOT, "T2")
    assert len(rows) == 9 * 9 + 2 * 3
    assert set(rows.filter(base=RANKERS)["method"]) == {"mostpop", "mostppop"}
    assert "ppac-without-ci" in set(printed(ROOT, "T3")["method"])
