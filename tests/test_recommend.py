"""Recommendations out: in the users' own ids, with their reasons, and for people unknown so far."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import ROOT, Project

from ppac.core.interactions import Interactions, read_part
from ppac.core.popularity import read_popularity
from ppac.layout import Dataset
from ppac.neighbours import nearest_users
from ppac.recommending.known import with_own_ids
from ppac.recommending.lists import Near, behind
from ppac.recommending.new import nearest_among

CELL = ("--dataset", "synthetic", "--base", "bprmf", "--method", "ppac")
RANKER = ("--dataset", "synthetic", "--base", "rankers", "--method", "ppgp")


@pytest.fixture(scope="module")
def project(prepared_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Trained, tuned and evaluated once."""
    made = Project.__new__(Project)
    made.folder = tmp_path_factory.mktemp("recommend") / "project"
    shutil.copytree(prepared_once, made.folder)
    made.set("epochs: 300", "epochs: 5")
    made.ok("train", *CELL)
    for cell in (CELL, RANKER):
        made.ok("tune", *cell)
        made.ok("evaluate", *cell)
    return made


def verb(project: Project, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ppac", "recommend", *words]
    env = {"PYTHONPATH": str(ROOT), "PATH": "", "NUMBA_CACHE_DIR": str(project.folder / "numba")}
    return subprocess.run(command, cwd=project.folder, env=env, capture_output=True, text=True)


def test_the_stage_recommends_nothing_known_and_gives_reasons(project):
    project.ok("recommend", *CELL)
    table = project.table("recommendations/synthetic/bprmf/ppac.parquet")
    raw = project.table("data/raw/synthetic/interactions.parquet")
    assert table.columns == ["user", "rank", "item", "score", "pp", "gp", "neighbours", "by"]
    assert table["user"].n_unique() == 400 and table["rank"].max() == 20
    assert table.join(raw, on=["user", "item"]).is_empty()
    folder = project.folder
    train, ids = read_part(folder / "data/split/synthetic", "train"), [
        project.table(f"data/split/synthetic/{name}.parquet")["id"].to_list()
        for name in ("users", "items")
    ]  # fmt: skip
    popular = read_popularity(folder / "data/popularity/synthetic")
    near = project.table("data/neighbours/synthetic.parquet").filter(pl.col("rank") <= popular.k)
    for row in table.sample(50, seed=1).to_dicts():
        user, item = ids[0].index(row["user"]), ids[1].index(row["item"])
        mine = near.filter(user=user).sort("rank")["neighbour"].to_list()
        have = [v for v in mine if train.contains(np.array([v]), np.array([item]))[0]]
        assert row["neighbours"] == [ids[0][v] for v in have[:3]]
        assert row["pp"] == pytest.approx(len(have) / len(mine))
        assert row["gp"] == pytest.approx(popular.gp[item])


def test_the_verb_for_some_users_as_csv(project):
    out = project.folder / "some.csv"
    (project.folder / "who.csv").write_text("user\n7\n3\n")
    done = verb(project, *CELL, "--users", "who.csv", "--top", "4", "--out", str(out))
    assert done.returncode == 0, done.stderr
    table = pl.read_csv(out)
    assert table["user"].to_list() == [7] * 4 + [3] * 4
    every = project.table("recommendations/synthetic/bprmf/ppac.parquet")
    same = every.filter(pl.col("user") == 7).head(4)
    assert table["item"].to_list()[:4] == same["item"].to_list()
    assert table["neighbours"][0] == "|".join(map(str, same["neighbours"][0]))


def test_new_users_get_what_their_similar_users_have(project):
    raw = project.table("data/raw/synthetic/interactions.parquet")
    mine = raw.filter(pl.col("user") == 5)["item"].to_list()
    lines = [f"stranger,{item}" for item in mine] + ["lost,123456", f"stranger,{mine[0]}"]
    (project.folder / "new.csv").write_text("\n".join(["user,item", *lines]) + "\n")
    out = project.folder / "new.parquet"
    done = verb(project, "--dataset", "synthetic", "--new", "new.csv", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "20 rows for 1 user in" in done.stdout
    assert "; 1 new user has no known item, and no list" in done.stdout
    table = pl.read_parquet(out)
    assert set(table["user"]) == {"stranger"} and set(table["by"]) == {"similar users alone"}
    assert not set(table["item"]) & set(mine)
    assert 5 in set(table["neighbours"].explode()) or table["pp"].max() > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--dataset", "synthetic", "--base", "ncf", "--method", "ppac"), "was not run here"),
        ((*CELL, "--user", "nobody"), "1 of 1 users are not among those of the training: 'nobody'"),
        ((*CELL, "--top", "0"), "--top is 0: it must be at least 1"),
        (("--dataset", "nowhere", "--base", "bprmf", "--method", "ppac"), "no dataset 'nowhere'"),
    ],
)
def test_what_is_not_there_says_what_to_run(project, words, said):
    done = verb(project, *words, "--out", "out.csv")
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert said in done.stderr


def test_an_unknown_ending(project):
    done = verb(project, *CELL, "--out", "out.xlsx")
    assert "it must end in one of .parquet, .csv, .tsv" in done.stderr


def test_nearest_among_is_the_same_rule_as_for_everyone(train):
    """A new user who is a copy of an old one has that one's neighbours, and first that one."""
    near = nearest_users(train, 8)
    rows = np.array([3, 17])
    counts = [train.items[train.indptr[u] : train.indptr[u + 1]] for u in rows]
    users = np.repeat(np.arange(2), [len(items) for items in counts])
    mine = Interactions.of(users, np.concatenate(counts), 2, train.n_items)
    found = nearest_among(train, mine, 9)
    for new, old in enumerate(rows):
        others = found.filter(user=new)["neighbour"].to_list()
        assert old in others
        others.remove(old)
        assert others == near.filter(user=int(old))["neighbour"].to_list()


def test_an_item_that_no_similar_user_has_keeps_its_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = Dataset("toy")
    place.split.mkdir(parents=True)
    ids = pl.DataFrame({"id": ["a", "b"]})
    for name in ("users", "items"):
        ids.write_parquet(place.split / f"{name}.parquet")
    lists = pl.Series([[], [1, 0], []], dtype=pl.List(pl.Int32))
    table = pl.DataFrame({"user": [0, 1, 1], "item": [1, 0, 1], "neighbours": lists})
    named = with_own_ids(table, place, ids["id"])
    assert named.rows() == [("a", "b", []), ("b", "a", ["b", "a"]), ("b", "b", [])]


def test_behind_by_brute_force(train):
    near = Near.of(nearest_users(train, 6), 6, train.n_users)
    rng = np.random.default_rng(1)
    users, items = rng.integers(train.n_users, size=90), rng.integers(train.n_items, size=90)
    has = train.matrix().toarray()
    expected = [
        [v for v in near.others[near.starts[u] : near.starts[u + 1]] if has[v, i]][:2]
        for u, i in zip(users, items, strict=True)
    ]
    assert behind(users, items, near, train, 2).to_list() == expected
