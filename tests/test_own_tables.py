"""A table of one's own: every way it may come, and every way it may be wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ppac.core.errors import Problem
from ppac.formats import table
from ppac.formats.values import ids, times

NAMES = {"user": "customer", "item": "sku", "rating": "stars", "timestamp": "when"}
ROWS = pl.DataFrame(
    {
        "note": ["a", "b", "c"],
        "sku": ["x-1", "x 2", "é"],
        "customer": [7, 7, -3],
        "stars": [5.0, 3.5, 1.0],
        "when": [30, 10, 20],
    }
)
OURS = [(7, "x-1", 5.0, 30), (7, "x 2", 3.5, 10), (-3, "é", 1.0, 20)]


def load(path: Path, **columns: str | int) -> pl.DataFrame:
    return table.load(path, columns or NAMES)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".txt"])
def test_any_delimited_file(tmp_path, separator, ending):
    data = ROWS.write_csv(separator=separator).encode()
    path = tmp_path / f"ratings{ending}"
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    assert load(path).rows() == OURS


def test_parquet_and_a_folder_of_parts(tmp_path):
    ROWS.write_parquet(tmp_path / "one.parquet")
    assert load(tmp_path / "one.parquet").rows() == OURS
    folder = tmp_path / "parts"
    folder.mkdir()
    ROWS[:2].write_parquet(folder / "part-0.parquet")
    ROWS[2:].write_parquet(folder / "part-1.parquet")
    (folder / "_SUCCESS").touch()
    assert load(folder).rows() == OURS


def test_parts_that_disagree_on_what_an_id_is_are_text(tmp_path):
    pl.DataFrame({"u": [1, 2], "i": [1, 1]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"u": ["2", "b"], "i": [1, 1]}).write_parquet(tmp_path / "b.parquet")
    assert load(tmp_path, user="u", item="i")["user"].to_list() == ["1", "2", "2", "b"]


def test_bare_pairs_by_place(tmp_path):
    path = written(tmp_path / "pairs.tsv", "a\tx\nb\ty\n")
    assert load(path, item=2, user=1).rows() == [("x", "a"), ("y", "b")]
    with pytest.raises(Problem, match=r"pairs\.tsv has 2 column\(s\), and no 3 \(item\)"):
        load(path, user=1, item=3)


@pytest.mark.parametrize(
    ("written_as", "read_as"),
    [
        (["1", "20"], [1, 20]),
        (["-1", "0"], [-1, 0]),
        (["007", "7"], ["007", "7"]),
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
        (["12", "abc"], ["12", "abc"]),
        (["nan", "Nancy"], ["nan", "Nancy"]),  # a name among names
    ],
)
def test_ids_as_they_are_written(written_as, read_as):
    assert ids([pl.Series(written_as)]).to_list() == read_as


def test_ids_of_any_type():
    assert ids([pl.Series([2**63, 1], dtype=pl.UInt64)]).to_list() == [str(2**63), "1"]
    assert ids([pl.Series(["a", "b"], dtype=pl.Categorical)]).to_list() == ["a", "b"]
    assert ids([pl.Series([3.0, 4.0])]).to_list() == [3, 4]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
@settings(deadline=None)
def test_whole_numbers_survive_text(values):
    assert ids([pl.Series([str(value) for value in values])]).to_list() == values


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("7,,5,1", r"t\.csv, line 3: sku \(item\) is missing"),
        ("nan,x,5,1", r"t\.csv, line 3: customer \(user\) is 'nan', missing"),
        ("7,x,good,1", r"t\.csv, line 3: stars \(rating\) is 'good', not a number"),
        ("7,x,nan,1", r"line 3: stars \(rating\) is 'nan', not a number"),
        ("7,x,5,soon", r"line 3: when \(timestamp\) is 'soon', not a number"),
        ("7,x,5,1,9", r"t\.csv cannot be read"),
    ],
)
def test_a_bad_row_is_named(tmp_path, bad, said):
    path = written(tmp_path / "t.csv", f"customer,sku,stars,when\n1,y,4,2\n{bad}\n1,z,4,3\n")
    with pytest.raises(Problem, match=said):
        load(path)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ([1.0, float("nan")], r"t\.parquet, row 2: customer \(user\) is missing"),
        ([1.5, 2.0], r"row 1: customer \(user\) is '1\.5', not a whole number"),
        ([1, None], r"row 2: customer \(user\) is missing"),
        ([[1], [2]], r"is of type List\(Int64\): not an id"),
    ],
)
def test_bad_ids_in_parquet(tmp_path, column, said):
    pl.DataFrame({"customer": column, "sku": [1, 2]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(Problem, match=said):
        load(tmp_path / "t.parquet", user="customer", item="sku")


def test_a_wrong_column_name_is_told_with_the_nearest(tmp_path):
    path = written(tmp_path / "t.csv", "customer;sku\n1;2\n")
    with pytest.raises(Problem, match=r"no column 'custmer' \(user\): did you mean 'customer'"):
        load(path, user="custmer", item="sku")


def test_what_is_no_table(tmp_path):
    with pytest.raises(Problem, match="has no rows"):
        load(written(tmp_path / "t.csv", "a,b\n"), user="a", item="b")
    with pytest.raises(Problem, match="of no known kind"):
        load(written(tmp_path / "t.xlsx", "a"))
    with pytest.raises(Problem, match="cannot be read"):
        load(written(tmp_path / "t.parquet", "a,b"))
    with pytest.raises(Problem, match="cannot be read"):
        load(written(tmp_path / "t.csv", ""))
    (tmp_path / "empty").mkdir()
    with pytest.raises(Problem, match="a folder without"):
        load(tmp_path / "empty")


def test_times_in_words_and_numbers():
    day = 86_400_000_000
    assert times([pl.Series(["1970-01-02", "1970-01-03"])]).to_list() == [day, 2 * day]
    assert times([pl.Series(["1970-01-01T02:00:00+02:00"])]).to_list() == [0]
    assert times([pl.Series(["12", "13"])]).to_list() == [12, 13]
    assert times([pl.Series([1.5, 2.0])]).to_list() == [1.5, 2.0]
    dates = pl.Series(["1970-01-02"]).str.to_date()
    assert times([dates]).to_list() == [day]
    with pytest.raises(Exception, match="'31/12/2024', not a time"):
        times([pl.Series(["31/12/2024"])])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"user": "a"}, "columns.item' is missing"),
        ({"user": "a", "item": "a"}, "cannot be two things"),
        ({"user": "a", "item": 2}, "all columns by name, or all by place"),
        ({"user": 0, "item": 1}, "counted from 1"),
        ({"user": "a", "item": "b", "ratng": "c"}, "unknown key 'download.mine.columns.ratng'"),
    ],
)
def test_the_entry_is_checked(columns, said):
    with pytest.raises(Problem, match=said):
        table.Entry.check({"path": "t.csv", "columns": columns}, "download.mine")


# Through the stages.


@pytest.fixture
def mine(project):
    """A project with an entry `mine`, and what takes a table through the first stages."""

    def through(rows: pl.DataFrame, protocol: str = "balanced", fails: str = "", **entry) -> str:
        (project.folder / "tables").mkdir(exist_ok=True)
        rows.write_csv(project.folder / "tables/mine.csv")
        path = project.folder / "params.yaml"
        params = yaml.safe_load(path.read_text())
        columns = {name: name for name in rows.columns}
        params["download"]["mine"] = {"path": "tables/mine.csv", "columns": columns, **entry}
        path.write_text(yaml.safe_dump(params))
        for stage in ("tables", "download", "split"):
            options = ["--dataset", "mine"]
            options += [] if stage == "tables" else ["--protocol", protocol]
            if stage == fails:
                return project.fails(stage, *options)
            project.ok(stage, *options)
        return (project.folder / "data/split/mine/manifest.json").read_text()

    return through


def grid(users: int, items: int) -> pl.DataFrame:
    """Everyone has everything."""
    rows = [(f"u{u}", f"i{i}") for u in range(users) for i in range(items)]
    return pl.DataFrame(rows, schema=["user", "item"], orient="row")


def test_one_user_or_one_item_is_refused(mine):
    for rows in (grid(1, 9), grid(9, 1)):
        assert "nobody to be similar to, or nothing to choose from" in mine(rows, fails="split")


def test_no_item_with_two_interactions_is_refused(mine):
    rows = pl.DataFrame({"user": [f"u{n % 3}" for n in range(30)], "item": range(30)})
    assert "no item has two" in mine(rows, fails="split")


def test_a_user_who_has_everything_is_kept(mine):
    facts = json.loads(mine(grid(12, 9)))
    assert (facts["users"], facts["items"], facts["users_without_train"]) == (12, 9, 0)


def test_the_entry_says_threshold_and_minimum_counts(mine):
    rows = grid(12, 9).with_columns(rating=pl.lit(1))
    low = pl.DataFrame({"user": ["u0", "poor"], "item": ["i99", "i0"], "rating": [0, 1]})
    facts = json.loads(mine(pl.concat([rows, low], how="vertical_relaxed"), threshold=0.5))
    assert facts["left_out"] == {"below_threshold": 1, "duplicates": 0}
    rows = pl.concat([rows, low, low], how="vertical_relaxed")
    facts = json.loads(mine(rows, threshold=0.5, min_user=2, min_item=2))
    left_out = {"below_threshold": 2, "duplicates": 1, "below_minimum": 1}
    assert (facts["left_out"], facts["users"]) == (left_out, 12)
    assert "nothing of 109 interactions is left" in mine(
        rows, fails="split", threshold=0.5, min_user=50
    )


def test_a_threshold_that_leaves_nothing(mine):
    rows = grid(12, 9).with_columns(rating=pl.lit(1))
    assert "108 rows were read and none is above the threshold 3" in mine(rows, fails="split")


def test_the_temporal_test_is_the_future(mine):
    """The pair that comes twice counts from its first time on; who comes late is left out."""
    number = [pl.col(name).str.slice(1).cast(pl.Int64) for name in ("user", "item")]
    rows = grid(10, 10).with_columns(timestamp=(number[0] + number[1]) % 10)  # one a day each
    more = {"user": ["u0", "new"], "item": ["i0", "i0"], "timestamp": [500, 600]}
    facts = json.loads(mine(pl.concat([rows, pl.DataFrame(more)]), protocol="temporal"))
    assert facts["left_out"]["not_in_train_yet"] == facts["left_out"]["duplicates"] == 1
    assert [facts[key] for key in ("users", "train", "valid", "test", "random")] == [
        10, 80, 10, 10, 10
    ]  # fmt: skip


def test_temporal_without_times_says_so(mine):
    assert "has no timestamps" in mine(grid(12, 9), protocol="temporal", fails="split")


def test_a_missing_table_says_where_it_was_looked_for(mine, project):
    mine(grid(12, 9))
    (project.folder / "tables/mine.csv").unlink()
    message = project.fails("tables", "--dataset", "mine")
    assert "tables/mine.csv does not exist; it is looked for from the project's folder" in message


def test_the_fingerprint_changes_with_the_table_alone(mine, project):
    mine(grid(12, 9))
    path = project.folder / "data/tables/mine.json"
    before = path.read_text()
    (project.folder / "tables/other.csv").write_text("a,b\n")
    project.ok("tables", "--dataset", "mine")
    assert path.read_text() == before
    grid(12, 8).write_csv(project.folder / "tables/mine.csv")
    project.ok("tables", "--dataset", "mine")
    assert path.read_text() != before
    project.ok("tables", "--dataset", "synthetic")
    assert json.loads((project.folder / "data/tables/synthetic.json").read_text()) == {}
