"""Every kind of source, and every way in which one can fail."""

from __future__ import annotations

import hashlib
import io
import socket
import tarfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ppac.core.errors import Problem
from ppac.core.files import file_digest
from ppac.sources import web
from ppac.sources.archives import take
from ppac.sources.fetching import MIRROR, Fetched, File, candidates, fetch, parse
from ppac.sources.partial import Part, sizes
from ppac.sources.web import Client, Unavailable, Wrong
from tests.serving import Page, Site, serving

BODY = bytes(range(256)) * 2048  # half a megabyte: many chunks


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as found:
        yield found


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(MIRROR, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(web, "PAUSES", (0.0, 0.0))
    folder = tmp_path / ".downloads" / "toy"
    folder.mkdir(parents=True)
    return Client(folder.parent, folder)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def get(client: Client, *sources: str, body: bytes = BODY) -> Fetched[bytes]:
    """Fetch and verify as `ppac.sources.raw` does."""
    file = File(sha256=sha256(body), sources=sources)

    def accept(path: Path) -> bytes:
        if file_digest(path) != file.sha256:
            raise Wrong(f"expected {file.sha256}, found {file_digest(path)}")
        return path.read_bytes()

    return fetch("toy", "a.bin", file, client, accept)


def parts(client: Client) -> list[str]:
    return sorted(path.name for path in client.parts.iterdir() if path.is_file())


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name.replace("__", "/"), body)
    return buffer.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, body in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return buffer.getvalue()


# The web


def test_web_file(client: Client, site: Site) -> None:
    site.pages["/a.bin"] = Page(BODY)
    assert get(client, f"{site.url}/a.bin") == Fetched(BODY, "the web")
    assert parts(client) == []


def test_cut_connection_is_resumed(client: Client, site: Site) -> None:
    site.pages["/a.bin"] = Page(BODY, cuts=[len(BODY) // 2])
    assert get(client, f"{site.url}/a.bin").content == BODY
    first, second = site.ranges("/a.bin")
    assert first is None
    assert second is not None and int(second.removeprefix("bytes=").rstrip("-")) > len(BODY) // 4
    assert parts(client) == []


def test_server_that_ignores_ranges_is_read_from_the_start(client: Client, site: Site) -> None:
    site.pages["/a.bin"] = Page(BODY, cuts=[len(BODY) // 2], ranges=False)
    assert get(client, f"{site.url}/a.bin").content == BODY
    assert len(site.requests) == 2


def test_connection_that_keeps_breaking_is_given_up_and_kept(client: Client, site: Site) -> None:
    site.pages["/a.bin"] = Page(BODY, cuts=[200_000, 100_000, 100_000])
    with pytest.raises(Problem, match=r"no source gave a\.bin"):
        get(client, f"{site.url}/a.bin")
    assert len(site.requests) == 3
    assert get(client, f"{site.url}/a.bin").content == BODY, "the next run goes on"
    assert site.requests[-1][1] is not None


def leave(client: Client, url: str, data: bytes, validator: str | None = None) -> None:
    """What a killed run leaves behind."""
    part = Part.of(url, client.parts)
    part.begin(validator)
    part.path.write_bytes(data)


@pytest.mark.parametrize("etag", [None, '"v1"'])
def test_killed_run_is_resumed(client: Client, site: Site, etag: str | None) -> None:
    url = f"{site.url}/a.bin"
    site.pages["/a.bin"] = Page(BODY, etag=etag)
    leave(client, url, BODY[:300_000], etag)
    assert get(client, url).content == BODY
    assert site.ranges("/a.bin") == ["bytes=300000-"]
    assert parts(client) == []


def test_killed_run_that_had_everything(client: Client, site: Site) -> None:
    url = f"{site.url}/a.bin"
    site.pages["/a.bin"] = Page(BODY)
    leave(client, url, BODY)
    assert get(client, url).content == BODY
    assert len(site.requests) == 1


def test_file_that_changed_since_is_read_anew(client: Client, site: Site) -> None:
    """By its validator: the server answers with all of the new version."""
    url = f"{site.url}/a.bin"
    site.pages["/a.bin"] = Page(BODY, etag='"v2"')
    leave(client, url, b"x" * 1000, '"v1"')
    assert get(client, url).content == BODY
    assert len(site.requests) == 1


@pytest.mark.parametrize("left", [b"x" * 1000, b"x" * (len(BODY) + 1)], ids=["short", "too long"])
def test_stale_bytes_without_a_validator(client: Client, site: Site, left: bytes) -> None:
    """By the digest: the same source is asked again from the start."""
    url = f"{site.url}/a.bin"
    site.pages["/a.bin"] = Page(BODY)
    leave(client, url, left)
    assert get(client, url).content == BODY
    assert site.ranges("/a.bin")[-1] is None


def test_stale_bytes_of_an_archive(client: Client, site: Site) -> None:
    archive = zipped(ml__u=BODY)
    site.pages["/ml.zip"] = Page(archive)
    leave(client, f"{site.url}/ml.zip", b"x" * 200)
    assert get(client, f"{site.url}/ml.zip#ml/u").content == BODY


def test_client_error_is_final(client: Client, site: Site) -> None:
    with pytest.raises(Problem, match="HTTP 404 Not Found"):
        get(client, f"{site.url}/a.bin")
    assert len(site.requests) == 1


def test_server_error_is_retried(client: Client, site: Site) -> None:
    site.pages["/a.bin"] = Page(b"sorry", status=500)
    with pytest.raises(Problem, match="HTTP 500 Internal Server Error"):
        get(client, f"{site.url}/a.bin")
    assert len(site.requests) == 3


def test_error_page_is_never_taken_for_the_file(client: Client, site: Site) -> None:
    url = f"{site.url}/a.bin"
    leave(client, url, BODY[:1000])
    site.pages["/a.bin"] = Page(b"sorry", status=503)
    with pytest.raises(Problem):
        get(client, url)
    assert Part.of(url, client.parts).path.read_bytes() == BODY[:1000]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_unreachable_host_costs_little_and_is_asked_once(client: Client) -> None:
    host = f"http://127.0.0.1:{free_port()}"
    began = time.monotonic()
    with pytest.raises(Problem, match="cannot be reached") as caught:
        get(client, f"{host}/a", f"{host}/b", "https://nowhere.invalid/c")
    assert time.monotonic() - began < 10
    assert str(caught.value).count("127.0.0.1 cannot be reached") == 2
    assert "nowhere.invalid cannot be reached" in str(caught.value)
    assert list(client.unreachable) == ["127.0.0.1", "nowhere.invalid"]


def test_wrong_file_gives_way_to_the_next_source(client: Client, site: Site) -> None:
    site.pages |= {"/bad": Page(b"other"), "/a.bin": Page(BODY)}
    assert get(client, f"{site.url}/bad", f"{site.url}/a.bin").content == BODY


def test_the_problem_lists_every_source_with_its_reason(client: Client, site: Site) -> None:
    site.pages["/bad"] = Page(b"other")
    with pytest.raises(Problem) as caught:
        get(client, f"{site.url}/bad", f"{site.url}/none")
    message = str(caught.value)
    assert message.startswith("toy: no source gave a.bin.")
    for piece in ("/bad\n", sha256(BODY), sha256(b"other"), "/none\n", "404"):
        assert piece in message
    assert "PPAC_MIRROR" in message and "dvc exp run -S 'datasets=[synthetic]'" in message


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_content_range(first: int, total: int) -> None:
    assert sizes(f"bytes {first}-{first + 5}/{total}") == (first, total)
    assert sizes(f"bytes */{total}") == (None, total)


# Archives


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_tar_member(client: Client, site: Site, mode: str) -> None:
    site.pages["/ml.tar"] = Page(tarred({"ml/x": b"no", "ml/u.data": BODY}, mode))
    assert get(client, f"{site.url}/ml.tar#ml/u.data").content == BODY


def test_two_members_cost_one_download(client: Client, site: Site) -> None:
    site.pages["/ml.zip"] = Page(zipped(ml__u=BODY, ml__v=b"two"))
    assert get(client, f"{site.url}/ml.zip#ml/u").content == BODY
    assert get(client, f"{site.url}/ml.zip#ml/v", body=b"two").content == b"two"
    assert len(site.requests) == 1


@pytest.mark.parametrize("make", [zipped, lambda **members: tarred(members)])
def test_absent_member_is_named(tmp_path: Path, make: object) -> None:
    (tmp_path / "a").write_bytes(make(udata=b"1"))  # type: ignore[operator]
    with pytest.raises(Unavailable, match=r"no member .u\.data.; did you mean .udata."):
        take(tmp_path / "a", "u.data", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "body", [b"", b"no archive", tarred({"u": BODY})[:-40], zipped(u=BODY)[9:]]
)
def test_damaged_archive(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "a").write_bytes(body)
    with pytest.raises(Wrong, match="damaged"):
        take(tmp_path / "a", "u", tmp_path / "out")


# The package index


def wheel_and_sdist(site: Site, **wrong: bytes) -> None:
    """A project with a wheel and an sdist; ``wrong`` replaces what is served, not its digest."""
    files = {
        "wheel": ("toy_data-1.0-py3-none-any.whl", zipped(toy_data__u=BODY)),
        "sdist": ("toy-data-1.0.tar.gz", tarred({"toy-data-1.0/data/v": BODY})),
        "newer": ("toy_data-2.0-py3-none-any.whl", zipped(toy_data__u=b"newer")),
    }
    links = ""
    for key, (name, body) in files.items():
        site.pages[f"/files/{name}"] = Page(wrong.get(key, body))
        links += f'<a href="../../files/{name}#sha256={sha256(body)}">{name}</a>\n'
    site.pages["/simple/toy-data/"] = Page(f"<html>{links}</html>".encode(), kind="text/html")


@pytest.fixture
def index(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple")
    wheel_and_sdist(site)
    return site


@pytest.mark.parametrize("member", ["toy_data/u", "toy-data-1.0/data/v"], ids=["wheel", "sdist"])
def test_package_member(client: Client, index: Site, member: str) -> None:
    got = get(client, f"package:toy-data==1.0#{member}")
    assert got == Fetched(BODY, "the package index")
    assert len(index.requests) == 2, "the page and one archive"


def test_package_archive_is_verified_by_the_index(client: Client, index: Site) -> None:
    wheel_and_sdist(index, wheel=zipped(toy_data__u=BODY, extra=b""))
    with pytest.raises(Problem, match="does not match the known hash"):
        get(client, "package:toy-data==1.0#toy_data/u")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("package:none==1.0#u", "no project 'none'"),
        ("package:toy-data==3.0#u", "no wheel of toy-data 3.0"),
        ("package:toy-data==2.0#toy-data-2.0/u", "no sdist of toy-data 2.0"),
        ("package:toy-data==1.0#toy_data/w", "no member 'toy_data/w'"),
    ],
)
def test_package_that_is_not_there(client: Client, index: Site, source: str, reason: str) -> None:
    with pytest.raises(Problem, match=reason):
        get(client, source)


def test_index_that_is_no_index(client: Client, index: Site) -> None:
    index.pages["/simple/toy-data/"].kind = "image/png"
    with pytest.raises(Problem, match="the package index is not one"):
        get(client, "package:toy-data==1.0#toy_data/u")


def test_unreachable_index(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{free_port()}/simple")
    with pytest.raises(Problem, match="cannot be reached"):
        get(client, "package:toy-data==1.0#toy_data/u")


# Mirrors


def test_mirror_folder_comes_first(
    client: Client, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mirror/toy").mkdir(parents=True)
    (tmp_path / "mirror/toy/a.bin").write_bytes(BODY)
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    assert get(client, f"{site.url}/a.bin") == Fetched(BODY, "the mirror")
    assert site.requests == []


def test_relative_mirror_is_seen_from_the_root(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (".dvc", "pipelines/x/.dvc", "mirror/toy"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in (".", "pipelines/x"):
        (tmp_path / folder / "params.yaml").touch()
    (tmp_path / "mirror/toy/a.bin").write_bytes(BODY)
    monkeypatch.setenv(MIRROR, "mirror/")
    monkeypatch.chdir(tmp_path / "pipelines/x")
    assert get(client).content == BODY


def test_mirror_on_the_web(client: Client, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.pages["/data/toy/a.bin"] = Page(BODY)
    monkeypatch.setenv(MIRROR, f"{site.url}/data/")
    assert get(client) == Fetched(BODY, "the mirror")


@pytest.mark.parametrize("content", [None, b"other"], ids=["absent", "wrong"])
def test_mirror_gives_way(
    client: Client,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes | None,
) -> None:
    (tmp_path / "toy").mkdir()
    if content:
        (tmp_path / "toy/a.bin").write_bytes(content)
    site.pages["/a.bin"] = Page(BODY)
    monkeypatch.setenv(MIRROR, str(tmp_path))
    assert get(client, f"{site.url}/a.bin") == Fetched(BODY, "the web")
    with pytest.raises(Problem, match=r"no such file|expected"):
        get(client)


def test_password_of_a_mirror_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MIRROR, "https://me:secret@example.org")
    (source,) = candidates("toy", "a.bin", File(sha256="0" * 64, sources=()))
    assert str(source) == "https://example.org/toy/a.bin"


# What params.yaml may say


@pytest.mark.parametrize("text", ["ftp://a/b", "package:a#b", "package:a==1", "u.data", ""])
def test_unknown_source(text: str) -> None:
    with pytest.raises(ValueError, match="neither https"):
        parse(text)


def test_file_must_be_verifiable() -> None:
    with pytest.raises(ValidationError, match="give 'sha256' or 'rows'"):
        File(sources=("https://a/b",))
    with pytest.raises(ValidationError, match="sha256"):
        File(sha256="abc", sources=("https://a/b",))
