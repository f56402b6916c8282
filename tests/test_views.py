"""Views of a report that has gaps, on toy tables; and the numbers beside the printed ones."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from conftest import ROOT

from ppac.core import registry
from ppac.core.errors import Problem
from ppac.layout import RANKERS
from ppac.reporting.numbers import fill
from ppac.reporting.printed import printed
from ppac.reporting.view import Source, write

RESULTS = """dataset,base,method,recall_at_50,ndcg_at_50
ml-1m,bprmf,ppac,0.4,0.2
ml-1m,bprmf,base,0.3,0.21
ml-1m,bprmf,ppac-without-ci,,
gowalla,ncf,ppac,,
gowalla,ncf,base,,
"""
TABLES = {
    "head_tail": "dataset,cell,head,tail\n"
    "d,d/train,0.5,0.5\nd,d/b/ppac,0.4,0.6\nd,d/b/dice,0.9,0.1\n",
    "groups": "cell,dataset,base,method,group,items,frequency,recall\n"
    "d/b/ppac,d,b,ppac,0-10,0.5,2.0,0.25\nd/b/dice,d,b,dice,0-10,0.5,2.0,0.25\n",
    "differences": "dataset,differing,users,share\nd,9,1,0.5\nd,21,1,0.5\n",
    "ratings": "dataset,group,items,pp,rating\nd,1,2,0.1,3.5\n",
    "sweep": "cell,dataset,base,method,varied,value,recall_at_50,ndcg_at_50,pru_at_50,ppru_at_50\n"
    "d/b/ppac k,d,b,ppac,k,5,0.1,0.1,0.1,0.1\nd/b/ppac k,d,b,ppac,k,10,0.3,0.1,0.1,0.1\n"
    "d/b/ppac k,d,b,ppac,k,20,0.2,0.1,0.1,0.1\n",
}


@pytest.fixture
def source(tmp_path, monkeypatch) -> Source:
    monkeypatch.chdir(ROOT)  # where the printed numbers are
    (tmp_path / "report/tables").mkdir(parents=True)
    (tmp_path / "report/results.csv").write_text(RESULTS)
    for name, text in TABLES.items():
        (tmp_path / f"report/tables/{name}.csv").write_text(text)
    return Source(tmp_path)


def shown(source: Source, name: str) -> tuple[str, dict[str, pl.DataFrame], set[str]]:
    view = registry.find("views", name).view(source)
    return view.text, dict(view.tables), {figure.name for figure in view.figures or []}


def test_cells_not_run_are_blank_and_named(source):
    text, tables, _ = shown(source, "ablation")
    assert tables["results"]["method"].to_list() == [
        "base", "ppac-without-ci", "ppac", "base", "ppac"
    ]  # fmt: skip
    assert "- `ppac` is above `base` in 1 of 2 numbers; printed: in 4 of 4." in text
    assert "- `ppac` is above `ppac-without-ci` in 0 of 0 numbers" in text
    assert "- ml-1m, bprmf: `ppac-without-ci`\n- gowalla, ncf: `base`, `ppac`" in text
    row = tables["results"].filter(dataset="ml-1m", method="ppac").row(0, named=True)
    assert (row["recall_at_50"], row["printed_recall_at_50"]) == (0.4, 0.3789)


def test_a_report_without_any_of_its_cells(source):
    path = source.folder / "report/results.csv"
    path.write_text("dataset,base,method,recall_at_50,ndcg_at_50\nml-1m,ncf,ppac-pred,,\n")
    text, _, _ = shown(source, "observed")
    assert text.endswith("Not run:\n\n- ml-1m, ncf: `ppac-pred`")


def test_figures_show_the_methods_that_the_paper_shows(source):
    text, tables, figures = shown(source, "debiasing")
    assert tables["groups"]["method"].to_list() == ["ppac"]
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
    (source.folder / "report/results.csv").unlink()
    with pytest.raises(Problem, match=r"results\.csv does not exist: run `dvc repro -s`"):
        shown(source, "ablation")


def test_printed_rankers_have_no_base():
    rows = printed(ROOT, "T2")
    assert len(rows) == 9 * 9 + 2 * 3
    assert set(rows.filter(base=RANKERS)["method"]) == {"mostpop", "mostppop"}
    assert "ppac-without-ci" in set(printed(ROOT, "T3")["method"])


def test_an_unknown_block_is_named():
    with pytest.raises(Problem, match="unknown block 'tables x'"):
        fill("<!-- numbers: tables x -->\n<!-- /numbers -->", Path())
