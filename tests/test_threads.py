"""Shares of a batch on torch's threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from ppac.scoring import threads
from ppac.scoring.threads import share_out


@pytest.fixture(params=["OpenMP", "our own threads"])
def two_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param != "OpenMP":
        monkeypatch.setattr(threads, "openmp", lambda: None)
    elif threads.openmp() is None:
        pytest.skip("torch has no GNU OpenMP here")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_every_share_is_done_once_and_by_two_threads_at_a_time(two_threads: None) -> None:
    done: list[int] = []
    both = threading.Barrier(2, timeout=60)

    def work(share: int) -> None:
        if share < 2:
            both.wait()  # passes only if somebody else is at the other one
        done.append(share)

    share_out(work, 9)
    assert sorted(done) == list(range(9))


def test_an_error_is_raised_after_all_threads_have_ended(two_threads: None) -> None:
    done: list[int] = []

    def work(share: int) -> None:
        if share == 3:
            raise ValueError("share 3")
        done.append(share)

    with pytest.raises(ValueError, match="share 3"):
        share_out(work, 9)
    assert sorted(done) == [share for share in range(9) if share != 3]
