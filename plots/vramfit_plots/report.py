"""The whole report, written into one folder."""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vramfit_plots import captions, figures, publish
from vramfit_plots.accuracy import chapter as accuracy
from vramfit_plots.contradictions import Contradictions, contradictions
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.files import writing
from vramfit_plots.history.page import write_history
from vramfit_plots.history.runs import History
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables import (
    checkpointing,
    claims,
    comparison,
    inference,
    kv_caches,
    latency,
    levels,
    lora,
    multi_gpu,
    oom_cliff,
    ops,
    precisions,
    scaling,
    sharded,
    sweep,
    waterfall,
    waterfall_optimizers,
    wrong,
)
from vramfit_plots.tables.table import Table
from vramfit_plots.templates import environment


@dataclass(frozen=True)
class _Chapter:
    build: Callable[[Inputs], list[Table]]
    draw: Callable[[Inputs], Picture] | None = None
    picture_key: str = ""  # names its files also where it is not drawn


# Of each: the article's own table, the same by source, and tables that go further.
_ARTICLE = (
    _Chapter(inference.build, figures.inference.draw, "inference"),
    _Chapter(waterfall.build, figures.waterfall.draw, "waterfall"),
    _Chapter(oom_cliff.build, figures.oom_cliff.draw, "oom_cliff"),
    _Chapter(multi_gpu.build, figures.multi_gpu.draw, "multi_gpu"),
)
_FURTHER = (
    _Chapter(sharded.build, figures.sharded.draw, "sharded"),
    _Chapter(scaling.build, figures.scaling.draw, "scaling"),
    _Chapter(claims.build),
    _Chapter(waterfall_optimizers.build, figures.waterfall_optimizers.draw, "waterfall_optimizers"),
    _Chapter(checkpointing.build, figures.checkpointing.draw, "checkpointing"),
    _Chapter(lora.build, figures.lora.draw, "lora"),
    _Chapter(accuracy.build, accuracy.draw, "accuracy"),
    _Chapter(precisions.build, figures.precisions.draw, "precisions"),
    _Chapter(precisions.build_rounding, figures.rounding.draw, "rounding"),
    _Chapter(kv_caches.build, figures.kv_caches.draw, "kv_caches"),
    _Chapter(levels.build, figures.levels.draw, "levels"),
    _Chapter(comparison.build),
    _Chapter(ops.build, figures.ops.draw, "ops"),
    _Chapter(sweep.build),
    _Chapter(latency.build),
)
_IN_ONE = _Chapter(lambda _: [], figures.article.draw, "article")


@dataclass(frozen=True)
class Section:
    tables: list[Table]
    picture: Picture | None
    not_drawn: str  # why there is no picture; "" where none is meant
    svg: str = ""

    @property
    def large(self) -> bool:
        """Whether its picture is as wide as the page."""
        return self.picture is not None and self.picture.large

    @property
    def anchor(self) -> str:
        return self.tables[0].key


def _section(chapter: _Chapter, inputs: Inputs) -> Section:
    built = [table for table in chapter.build(inputs) if table.rows]
    if chapter.draw is None:
        return Section(built, None, "")
    with style.styled():
        try:
            picture = chapter.draw(inputs)
        except AbsentError as missing:
            return Section(built, None, f"Not drawn: this run does not hold {missing}.")
        return Section(built, picture, "", publish.signed_svg(picture))


def _write_pictures(sections: list[Section], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # A picture that this run does not have must not be an older run's.
    for chapter in (*_ARTICLE, *_FURTHER, _IN_ONE):
        for suffix in (".png", ".svg"):
            (folder / f"{chapter.picture_key}{suffix}").unlink(missing_ok=True)
    for section in sections:
        if section.picture:
            publish.write_picture(section.picture, section.svg, folder)


@dataclass(frozen=True)
class _Page:
    """What both templates are filled from."""

    in_one: Section
    article: list[Section]
    further: list[Section]
    contradictions: Contradictions
    summary: str
    provenance: dict[str, str]
    commands: list[str]
    context: dict[str, str]

    @property
    def sections(self) -> list[Section]:
        return [self.in_one, *self.article, *self.further]

    @property
    def details(self) -> list[Table]:
        """What goes further about the article's own tables."""
        return [table for section in self.article for table in section.tables[2:]]

    @property
    def tables(self) -> list[Table]:
        found = [table for section in self.sections for table in section.tables]
        return [*found, wrong.table(self.contradictions)]

    @property
    def rows_commands(self) -> dict[str, list[str]]:
        """The tables that each command makes the rows of."""
        found: dict[str, list[str]] = {}
        for table in self.tables:
            if table.caption.command:
                found.setdefault(table.caption.command, []).append(table.key)
        return found


def _page(inputs: Inputs, out: Path) -> _Page:
    further = [_section(chapter, inputs) for chapter in _FURTHER]
    return _Page(
        in_one=_section(_IN_ONE, inputs),
        article=[_section(chapter, inputs) for chapter in _ARTICLE],
        further=[section for section in further if section.tables],
        contradictions=contradictions(inputs),
        summary=captions.summary(inputs),
        provenance=captions.provenance(inputs),
        commands=captions.commands(inputs, out),
        context=captions.context(inputs),
    )


@contextmanager
def _writing_history(history: History | None, out: Path) -> Iterator[None]:
    """Meanwhile, in a process of its own: it has half of all that is drawn."""
    if history is None:
        write_history(None, out)
        yield
        return
    with ProcessPoolExecutor(1) as process:
        written = process.submit(write_history, history, out)
        yield
        written.result()


def write_report(inputs: Inputs, out: Path) -> Path:
    """Everything into the folder `out`; the page to open comes back."""
    with writing():
        out.mkdir(parents=True, exist_ok=True)  # first: the page takes long
    with _writing_history(inputs.history, out):
        page, templates = _page(inputs, out), environment()
        with writing():
            _write_pictures(page.sections, out / "figures")
            publish.write_fragments(page.tables, out / "fragments")
            for name in ("tables.md", "tables.html"):
                text = templates.get_template(f"{name}.j2").render(page=page)
                (out / name).write_text(text, encoding="utf-8")
    return out / "tables.html"
