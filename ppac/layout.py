"""Where each artefact lies, relative to the pipeline's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ppac.core import registry

RANKERS = "rankers"  # stands in the place of the base for methods that learn nothing
LEARNER = "ppac"  # the method whose trained model variants rank with


@dataclass(frozen=True)
class Dataset:
    """The artefacts of one dataset."""

    name: str

    @property
    def table(self) -> Path:
        return Path("data/tables") / f"{self.name}.json"

    @property
    def raw(self) -> Path:
        return Path("data/raw") / self.name

    @property
    def split(self) -> Path:
        return Path("data/split") / self.name

    @property
    def titles(self) -> Path:
        return Path("data/titles") / f"{self.name}.parquet"

    @property
    def neighbours(self) -> Path:
        return Path("data/neighbours") / f"{self.name}.parquet"

    @property
    def popularity(self) -> Path:
        return Path("data/popularity") / self.name

    @property
    def description(self) -> Path:
        return Path("data/description") / self.name


@dataclass(frozen=True)
class Cell:
    """The artefacts of one (dataset, base, method)."""

    dataset: str
    base: str
    method: str

    def __str__(self) -> str:
        return f"{self.dataset}/{self.base}/{self.method}"

    @property
    def learner(self) -> Cell | None:
        """The cell whose trained model this one ranks with: a ranker has none, a variant ppac's.

        >>> Cell("ml-1m", "ncf", "ppac-without-ci").learner
        Cell(dataset='ml-1m', base='ncf', method='ppac')
        """
        if self.base == RANKERS:
            return None
        if self.method in registry.names("variants"):
            return Cell(self.dataset, self.base, LEARNER)
        return self

    @property
    def run(self) -> Path:
        return Path("runs") / self.dataset / self.base / self.method

    @property
    def model(self) -> Path:
        return self.run / "train" / "model.safetensors"

    @property
    def curve(self) -> Path:
        return self.run / "train" / "curve.csv"

    @property
    def search(self) -> Path:
        return self.run / "train" / "search.csv"

    @property
    def trials(self) -> Path:
        """The same table, in Git: of a folder that only tries settings."""
        return Path("trials") / self.dataset / self.base / f"{self.method}.csv"

    @property
    def tuned(self) -> Path:
        return self.run / "tune" / "tuned.json"

    @property
    def surface(self) -> Path:
        return self.run / "tune" / "surface.csv"

    @property
    def per_user(self) -> Path:
        return self.run / "evaluate" / "per_user.parquet"

    @property
    def top(self) -> Path:
        return self.run / "evaluate" / "top.parquet"

    @property
    def swept(self) -> Path:
        return self.run / "sweep" / "sweep.csv"

    @property
    def front(self) -> Path:
        return self.run / "sweep" / "front.csv"

    @property
    def recommendations(self) -> Path:
        return Path("recommendations") / self.dataset / self.base / f"{self.method}.parquet"

    @property
    def metrics(self) -> Path:
        return Path("metrics") / self.dataset / self.base / f"{self.method}.json"
