"""The report in a browser: it loads without a complaint, charts answer, tables sort."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
import yaml
from browser import Browser, browser
from test_report import AXES, ROOT, fabricate

from ppac.reporting import figures, gallery, sections
from ppac.reporting.markup import beside, draw
from stages import report

CHARTS = "[...document.querySelectorAll('.chart')]"
FIRST = "document.querySelector('#weights ~ div .chart')"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A report of made-up results, as the stage writes it."""
    folder = tmp_path_factory.mktemp("report")
    (folder / ".dvc").mkdir()
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    axes = AXES | {"datasets": ["alpha"]}
    (folder / "params.yaml").write_text(yaml.safe_dump(params | axes))
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["report"])
        patch.setattr(report, "beside", lambda: contextlib.nullcontext(lambda *call: None))
        fabricate(axes)
        report.main()
    return (folder / "report" / "index.html").as_uri()


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def scrolled(window: Browser) -> None:
    """Every chart that is not folded away comes near once, and is drawn anew."""
    for n in range(window.js(f"{CHARTS}.length")):
        window.js(f"{CHARTS}[{n}].scrollIntoView()")
        window.until(f"{CHARTS}[{n}].dataset.awake || !{CHARTS}[{n}].offsetParent")


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (390, False)])
def test_charts_render_at_every_size_in_both_schemes(page, window, width, dark, tmp_path):
    window.screen(width, 900, dark)
    window.open(page)
    scrolled(window)
    assert window.js(f"{CHARTS}.every(c => c.querySelector('svg path, svg line'))")
    assert window.js("document.documentElement.scrollWidth") <= width + 4  # nothing sticks out
    light, black = "rgb(255, 255, 255)", "rgb(22, 22, 22)"
    ground = window.js("getComputedStyle(document.body).backgroundColor")
    assert ground == (black if dark else light)
    assert window.messages() == []
    window.picture(tmp_path / "page.png")
    fetched = window.js("performance.getEntriesByType('resource').map(e => e.name)")
    assert fetched == []  # it has all it needs


def test_tables_sort(page, window):
    window.screen(1200, 900)
    window.open(page)
    column = "[...document.querySelector('table').tBodies[0].rows].map(r => r.cells[3].textContent)"
    press = "document.querySelectorAll('table th button')[3].click()"
    window.js(press)
    values = [float(text) for text in window.js(column)]
    assert values == sorted(values, reverse=True) and len(set(values)) > 2
    window.js(press)
    assert [float(text) for text in window.js(column)] == values[::-1]
    assert window.js("document.querySelectorAll('th[aria-sort]').length") == 1


def test_a_dot_gives_its_command_and_axes_can_be_changed(page, window):
    window.screen(1200, 900)
    window.open(page)
    window.js(f"{FIRST}.scrollIntoView()")
    window.until(f"{FIRST}.dataset.awake")
    dot = f"{FIRST}.querySelector('.mark-symbol.role-mark path[aria-label*=\"gamma 64, beta -2\"]')"
    place = window.js(
        f"(b => [b.x + b.width / 2, b.y + b.height / 2])({dot}.getBoundingClientRect())"
    )
    at = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
    for kind in ("mousePressed", "mouseReleased"):
        window.cdp("Input.dispatchMouseEvent", type=kind, **at)
    told = window.until(f"{FIRST}.parentElement.querySelector('.command code')?.textContent")
    assert told == "dvc exp run -S gamma=64 -S beta=-2"
    title = f"{FIRST}.querySelector('svg').textContent.includes('share of all items')"
    assert not window.js(title)
    window.js(
        "(s => { s.value = 'coverage_at_50';"
        " s.dispatchEvent(new Event('change', {bubbles: true})); })"
        "(document.querySelectorAll('.controls select')[1])"
    )
    window.until(title)
    assert window.messages() == []


def test_numbers_can_be_downloaded(page, window, tmp_path: Path):
    window.screen(1200, 900)
    window.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    window.open(page)
    window.js(f"{FIRST}.scrollIntoView()")
    window.until(f"{FIRST}.dataset.awake")
    window.js("document.querySelector('#weights ~ div figcaption button').click()")
    window.until("true")
    for _ in range(100):
        if files := list(tmp_path.glob("*.csv")):
            break
        window.js("new Promise(done => setTimeout(done, 50))")
    lines = files[0].read_text().splitlines()
    assert lines[0].startswith("name,kind,gamma,beta,ndcg_at_50")
    assert any("dvc exp run -S gamma=64 -S beta=-2" in line for line in lines)


def test_axes_have_room_for_small_numbers_and_for_their_titles(window, tmp_path: Path):
    """As on a table with many items and few interactions, where NDCG is some thousandths."""
    tiny = pl.DataFrame({"method": "base", "epoch": [5, 10], "ndcg_at_50": [0.00031, 0.00058]})
    kinds = {
        "differences": {"dataset": "a", "differing": [0, 1], "share": [0.00031, 0.00058]},
        "ratings": {"dataset": "a", "group": [1, 2], "rating": [3.5, 4.0]},
    }
    plots = {name: pl.DataFrame(rows) for name, rows in kinds.items()}
    charts = [draw(figures.lines(tiny, "ndcg_at_50", "validation NDCG@50", ["base"]))]
    charts += [one.svg for one in gallery.drawn(gallery.description(plots))]
    near = {"base": "a", "method": "b", "difference": 0.0012, "low": -0.0004, "high": 0.0028}
    charts.append(draw(figures.intervals(pl.DataFrame([near | {"verdict": ""}]), "change")))
    (tmp_path / "charts.html").write_text("".join(charts))
    window.open((tmp_path / "charts.html").as_uri())
    assert window.js("document.querySelectorAll('svg').length") == 4
    cut = """[...document.querySelectorAll('svg')].flatMap(svg => {
        const frame = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('text')].filter(text => {
            const box = text.getBoundingClientRect();
            return box.left < frame.left || box.right > frame.right;
        }).map(text => text.textContent);
    })"""
    assert window.js(cut) == []
    met = """[...document.querySelectorAll('svg')].flatMap(svg =>
        [...svg.querySelectorAll('.role-axis-title text')].filter(title => {
            const a = title.getBoundingClientRect();
            return [...svg.querySelectorAll('.role-axis-label text')].some(label => {
                const b = label.getBoundingClientRect();
                return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
            });
        }).map(title => title.textContent))"""
    assert window.js(met) == []
    touching = """[...document.querySelectorAll('.role-axis-label')].flatMap(axis => {
        const shown = [...axis.querySelectorAll('text')].filter(one => one.style.opacity !== '0'
            && one.getAttribute('opacity') !== '0');
        const boxes = shown.map(one => one.getBoundingClientRect());
        return boxes.slice(1).filter((box, n) => Math.abs(box.top - boxes[n].top) < 2
            && box.left < boxes[n].right).map((box, n) => n);
    })"""
    assert window.js(touching) == []


@pytest.mark.parametrize("width", [1200, 390])
def test_a_long_title_does_not_hide_how_popular_the_item_is(window, tmp_path: Path, width):
    name = "SOFT DRINKS 12/18&15PK CAN CAR 12 OZ #8090521"
    row = {"rank": 1, "title": name, "users": 157, "found": True, "stays": False}
    rows = pl.DataFrame([{**row, "method": method} for method in ("base", "ppac")])
    style = f"<style>{beside('page.css')}</style>"
    (tmp_path / "list.html").write_text(style + sections.list_of("u", rows, "ppac"))
    window.screen(width, 900)
    window.open((tmp_path / "list.html").as_uri())
    shown = """[...document.querySelectorAll('td small')].map(number => {
        const a = number.getBoundingClientRect();
        const b = number.parentElement.getBoundingClientRect();
        return a.right <= b.right + 1 && a.bottom <= b.bottom + 1;
    })"""
    assert window.js(shown) == [True, True]
