"""What `gapless check` finds: is a model optimal, as good as expected, and suited to a table?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from gapless.certificates import Certificate, certify_model
from gapless.choosing import Metric, TableModel
from gapless.choosing.exploring import MapReport, TableMap
from gapless.data import (
    LEVEL,
    Finding,
    ReadingOptions,
    Table,
    TableError,
    Tally,
    TrainingRowSearch,
    batches_like,
    counted,
    found,
    is_more,
    joined_batches,
    judge_tally,
    listed,
    read_target,
    row_hashes,
    similar_spellings,
    spelling_findings,
    totals_row,
)
from gapless.metrics import Score, decimals, written

from .._ground.percent import percent
from .results import recorded_report

Array = np.ndarray


Batch = tuple[pl.DataFrame, pl.DataFrame]

# Score at most this many rows, and this many values.
MOST_SCORED, MOST_VALUES = 100_000, 20_000_000


@dataclass(frozen=True, eq=False)
class TableScan:
    """The results of one pass.

    Attributes
    ----------
    tally : Tally
        The columns, counted.
    search : TrainingRowSearch
        The training rows among the rows.
    training : ndarray or None
        Which rows are the training rows, if the table is the one of the fit.
    table : Table
        All rows if it is; otherwise the scored ones.
    known : int
        The number of rows with a target.
    """

    tally: Tally
    search: TrainingRowSearch
    training: Array | None
    table: Table
    known: int


def scan_table(model: TableModel | TableMap, batches: Iterable[Batch], source: Any) -> TableScan:
    """Read a table once.

    Parameters
    ----------
    model : TableModel or TableMap
        The model.
    batches : iterable of two polars.DataFrame
        The table, from `batches_like` with the columns of the model.
    source : str, Path, bytes or binary stream
        Where it comes from.

    Returns
    -------
    TableScan

    Notes
    -----
    Rows are kept as long as the table may be the one of the fit, which was in memory then; their
    hashes show very soon if it is not.
    """
    profile = model.profile_
    tally, search, sampled = (
        Tally(profile),
        TrainingRowSearch(profile.fingerprint),
        RandomSample(None if isinstance(model, TableMap) else model.target_),
    )
    frames: list[pl.DataFrame] = []
    for raw, values in batches:
        series = tally.add(raw, values)
        hashes = None
        if len(series) == len(profile.columns):
            hashes = row_hashes(series)
            search.add(hashes)
            frames = [*frames, values] if search.may_be_it else []
        sampled.add(values, hashes)
    training = search.training_rows() if frames else None
    kept = sampled.sample() if training is None else frames
    return TableScan(
        tally, search, training, joined_batches(kept, source, model.columns_), sampled.known
    )


@dataclass(eq=False)
class RandomSample:
    """A random sample of the rows, of those with a target if it is named: the smallest hashes."""

    target: str | None
    known: int = 0
    frames: list[pl.DataFrame] = field(default_factory=list)
    _hashes: Array = field(default_factory=lambda: np.zeros(0, np.uint64))

    def add(self, frame: pl.DataFrame, hashes: Array | None) -> None:
        """Sample from more rows; without hashes, if columns are missing, none is scored."""
        if hashes is None or self.target not in (None, *frame.columns):
            self.frames = self.frames or [frame.clear()]
            return
        has_target = np.ones(frame.height, dtype=bool)
        if self.target is not None:
            has_target = frame[self.target].is_not_null().to_numpy()
        self.known += int(has_target.sum())
        hashes, frame = hashes[has_target], frame.filter(has_target)
        self.frames = [*self.frames, frame]
        self._hashes = np.concatenate([self._hashes, hashes])
        if len(self._hashes) > 2 * self._most:
            self._cut()

    def sample(self) -> list[pl.DataFrame]:
        """The sampled rows, all equally likely."""
        if len(self._hashes) > self._most:
            self._cut()
        return self.frames

    @property
    def _most(self) -> int:
        return min(MOST_SCORED, MOST_VALUES // max(self.frames[0].width, 1))

    def _cut(self) -> None:
        chosen = np.sort(np.argpartition(self._hashes, self._most)[: self._most])
        self.frames = [pl.concat(self.frames, how="diagonal_relaxed")[chosen]]
        self._hashes = self._hashes[chosen]


# By chance a score is further below the expected one only once in two hundred times.
STANDARD_ERRORS = 2.6
NOT_AGAIN = "(from the fit; recomputing it requires the training rows)"
# From this share of training rows among the rows on, a score is too optimistic.
MANY = 0.05


@dataclass(frozen=True)
class Checked:
    """What was found about a model and a table.

    Attributes
    ----------
    rows : int
        The number of rows of the table.
    is_training : bool
        Whether the training rows are among them, all and known.
    training_rows : int
        The number of the model's training rows.
    certificate : Certificate or None
        From the training rows; None if they are not there, or the model has no objective.
    optimality : str
        The same in words, or why there is none.
    score : Score or None
        Of the rows that are not training rows; of all if there are no others.
    scored : str
        What was scored, or why nothing was.
    expected, expected_error : float
        The score that was expected, and its standard error; NaN if not known.
    behind : float
        By how many standard errors the score is worse than expected; NaN if not known.
    overlap : float
        The approximate share of scored rows that equal training rows.
    findings : tuple of Finding
        Warnings first.
    placed : str
        For a map, how many rows are further out than nearly all training rows; "" for models with a
        target.
    """

    rows: int
    is_training: bool
    training_rows: int
    certificate: Certificate | None
    optimality: str
    score: Score | None
    scored: str
    expected: float
    expected_error: float
    behind: float
    overlap: float
    findings: tuple[Finding, ...]
    placed: str = ""

    @property
    def warnings(self) -> int:
        """How many of the findings are warnings."""
        return sum(finding.severity == "warning" for finding in self.findings)

    @property
    def is_too_short(self) -> bool:
        """Whether the table has too few rows to compare with the training rows."""
        return any(finding.code == "S309" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain strings, numbers and lists; None for what is not known."""
        return {
            "answer": self.answer,
            "warnings": self.warnings,
            "rows": self.rows,
            "is_training": self.is_training,
            "training_rows": self.training_rows,
            "certificate": None if self.certificate is None else plain(self.certificate.to_dict()),
            "optimality": self.optimality,
            "score": None if self.score is None else plain(self.score.to_dict()),
            "scored": self.scored,
            "expected": plain(self.expected),
            "expected_error": plain(self.expected_error),
            "behind": plain(self.behind),
            "overlap": self.overlap,
            "findings": [plain(finding.to_dict()) for finding in self.findings],
            **({"placed": self.placed} if self.placed else {}),
        }

    @property
    def answer(self) -> str:
        """What matters, in one sentence."""
        codes = {finding.code for finding in self.findings if finding.severity == "warning"}
        drifts = len(codes & {f"S30{k}" for k in range(10)})
        parts = [self.placed or self._of_score("S311" in codes)]
        if "S312" in codes:
            parts.append("it is not optimal for its objective")
        elif self.certificate is not None and self.certificate.kind in ("exact", "optimal"):
            how = "optimal" if self.certificate.kind == "optimal" else "solved exactly"
            parts.append(f"it is {how} (recomputed)")
        if self.is_training:
            parts.append("the table contains the training rows")
        elif not self.is_too_short or drifts:
            parts.append(f"the table {'differs from' if drifts else 'resembles'} the training rows")
        fine = "Too few rows to judge" if self.is_too_short else "Fine"
        return f"{'Needs attention' if codes else fine}: {'; '.join(parts)}."

    def _of_score(self, is_behind: bool) -> str:
        if self.score is None:
            return "the model was not scored"
        value = written(self.score.value, decimals(self.score.low, self.score.high, 1))
        said = f"the model scores {value} ({self.score.name})"
        if math.isnan(self.behind):
            return said
        if is_behind:
            return f"{said}, {self.behind:.1f} standard errors worse than expected"
        if self.overlap > MANY:
            overlap = percent(self.overlap, 0)
            return f"{said}, but {overlap} of the rows equal training rows"
        if self.is_too_short:
            return f"{said} on {counted(self.rows, 'row')}"
        return f"{said}, {'as' if self.behind > -STANDARD_ERRORS else 'better than'} expected"

    def __str__(self) -> str:
        return "\n".join([self.answer, "", *self._lines()])

    def _lines(self) -> Iterator[str]:
        if self.is_training:
            others = self.rows - self.training_rows
            known = counted(self.training_rows, "training row")
            yield f"table       {known}, {others:,} others"
        else:
            yield f"table       {counted(self.rows, 'row')}, not those of training"
        yield f"optimality  {self.optimality}"
        if not self.placed:
            yield f"score       {self.score or self.scored}"
        if self.score is not None:
            yield f"            on {self.scored}"
        if not math.isnan(self.expected):
            digits = decimals(-self.expected_error, self.expected_error, self.expected)
            error = f" ± {written(self.expected_error, digits)}" if self.expected_error else ""
            yield f"expected    {written(self.expected, digits)}{error}"
        if self.findings:
            yield ""
        for finding in self.findings:
            yield f"{finding.severity}: {finding}"


def check(
    model: TableModel | TableMap, source: Any, options: ReadingOptions | None = None
) -> Checked:
    """Check a model against a table.

    Parameters
    ----------
    model : TableModel or TableMap
        A model of `gapless fit` or `gapless explore`.
    source : str, Path, bytes or binary stream
        A table with the columns of the model, as for `read_table`; it is read piece by piece.
    options : ReadingOptions or None, default=None
        How it is read; like the table of the fit if None.

    Returns
    -------
    Checked
    """
    batches = batches_like(source, model.columns_, options or model.reading_)
    scan = scan_table(model, batches, source)
    if isinstance(model, TableMap):
        return _checked_map(model, scan)
    certificate, optimality = _certified(model, scan)
    score, scored = _scored(model, scan)
    is_unseen = scan.training is None or len(scan.training) < scan.tally.rows
    behind = _behind(model, score) if is_unseen else math.nan
    overlap = _overlap(scan)
    findings = [
        *(judge_tally(scan.tally) if scan.training is None else ()),
        *_of_spellings(scan.tally),
        *_of_overlap(overlap),
        *_of_certificate(certificate),
        *_of_score(behind, score, model),
    ]
    return Checked(
        rows=scan.tally.rows,
        is_training=scan.training is not None,
        training_rows=model.profile_.rows,
        certificate=certificate,
        optimality=optimality,
        score=score,
        scored=scored,
        expected=model.expected_,
        expected_error=model.expected_error_,
        behind=behind,
        overlap=overlap,
        findings=tuple(sorted(findings, key=lambda each: each.severity != "warning")),
    )


# ---- maps ----------------------------------------------------------------------------------------

# Rows further out than this share of the training rows count as odd.
OUTER = 0.99


def _checked_map(model: TableMap, scan: TableScan) -> Checked:
    """How a table differs from the rows of a map, and how many of its rows are far out on it."""
    rows, absent = scan.table.frame.height, len(scan.tally.names) < len(model.profile_.columns)
    count = 0 if absent or not rows else int(np.sum(model.unusual(scan.table) >= OUTER))
    share = percent(count / max(rows, 1), 1)
    usual = round((1 - OUTER) * model.rows_)
    is_worse = is_more(count, max(rows, 1), usual, model.rows_, LEVEL)
    placed = (
        f"{share} of the rows are further from every group than {percent(OUTER, 0)} of the "
        f"training rows, {'more than' if is_worse else 'as'} expected"
    )
    findings = [
        *(judge_tally(scan.tally) if scan.training is None else ()),
        *_of_spellings(scan.tally),
        *_of_overlap(_overlap(scan)),
    ]
    if is_worse:
        findings.append(
            found(
                "S313",
                "warning",
                f"{share} of the rows are further from every group than {percent(OUTER, 0)} of the "
                "training rows; gapless predict shows which.",
            )
        )
    return Checked(
        rows=scan.tally.rows,
        is_training=scan.training is not None,
        training_rows=model.profile_.rows,
        certificate=None,
        optimality=f"{_optimality_of_map(model)} {NOT_AGAIN}",
        score=None,
        scored="none: a map has no target",
        expected=math.nan,
        expected_error=math.nan,
        behind=math.nan,
        overlap=_overlap(scan),
        findings=tuple(sorted(findings, key=lambda each: each.severity != "warning")),
        placed="the table lacks columns of the map" if absent else placed,
    )


def _optimality_of_map(model: TableMap) -> str:
    """What the page of a map says of its components and groups."""
    report = recorded_report(model)
    if not isinstance(report, MapReport):
        return str(model.pipeline_[-1].certificate_.verdict)
    return " ".join(f"{gap.of}: {gap.optimality}" for gap in report.gaps)


# ---- optimality ----------------------------------------------------------------------------------


def _certified(model: TableModel, scan: TableScan) -> tuple[Certificate | None, str]:
    """The certificate, recomputed from the training rows, and it or its absence in words."""
    inner = model.pipeline_[-1]
    stored = getattr(inner, "certificate_", None)
    if stored is None:
        return None, "the model does not minimise a known objective"
    if scan.training is None:
        return None, f"{stored.verdict} {NOT_AGAIN}"
    target = read_target(scan.table, model.target_, model.task_)
    kept = np.isin(target.rows, scan.training)
    X = model.pipeline_[:-1].transform(scan.table.frame[target.rows[kept]])
    try:
        certificate = certify_model(inner, X, target.values[kept])
    except ValueError as error:
        # A model that recognises its rows refuses them if another version of a library prepares
        # them differently.
        return None, f"{stored.verdict} (from the fit; not recomputed: {error})"
    return certificate, f"{certificate.verdict.rstrip('.')} (recomputed from the training rows)."


def _of_certificate(certificate: Certificate | None) -> Iterator[Finding]:
    if certificate is not None and certificate.kind == "stopped":
        yield found("S312", "warning", certificate.verdict)


# ---- the score -----------------------------------------------------------------------------------


def _scored(model: TableModel, scan: TableScan) -> tuple[Score | None, str]:
    """The score of rows that are not training rows, if there are any; and what was scored."""
    table, training = scan.table, scan.training
    if model.target_ not in scan.tally.names:
        return None, f"none: the table has no column {model.target_!r}"
    absent = [c.name for c in model.columns_ if c.is_feature and c.name not in scan.tally.names]
    if absent:
        return None, f"none: the table lacks {listed(absent)}"
    rows = np.flatnonzero(table.frame[model.target_].is_not_null().to_numpy())
    rows = rows[rows != totals_row(table.frame)]
    what = "all rows with a target"
    if training is not None:
        others = np.setdiff1d(rows, training)
        rows = others if len(others) else rows
        what = (
            "the rows that are not training rows"
            if len(others)
            else "the training rows themselves, so the score is too optimistic"
        )
    elif len(table) < scan.known:
        what = f"{len(rows):,} of the {scan.known:,} rows with a target, drawn at random"
    try:
        return model.measure(table, rows=rows), what
    except (TableError, ValueError) as error:
        return None, f"none: {error}"


def _behind(model: TableModel, score: Score | None) -> float:
    """By how many standard errors a score is worse than expected."""
    if score is None or math.isnan(model.expected_):
        return math.nan
    own = (score.high - score.low) / (2 * stats.norm.isf((1 - score.level) / 2))
    error = math.hypot(own, 0.0 if math.isnan(model.expected_error_) else model.expected_error_)
    less = score.value - model.expected_
    if not Metric(model.metric_, model.classes_).is_loss:
        less = -less
    return less / error if error > 0 else math.nan


def _of_score(behind: float, score: Score | None, model: TableModel) -> Iterator[Finding]:
    if score is None or math.isnan(behind) or abs(behind) < STANDARD_ERRORS:
        return
    is_worse = behind > 0
    word = "worse" if is_worse else "better"
    yield found(
        "S311",
        "warning" if is_worse else "note",
        f"{score.name} {score.value:.4g} is {abs(behind):.1f} standard errors {word} than the "
        f"expected {model.expected_:.4g}.",
        (model.target_,),
    )


def _overlap(scan: TableScan) -> float:
    """The approximate share of rows of another table that equal training rows, beyond chance."""
    search = scan.search
    if scan.training is not None or not search.rows:
        return 0.0
    sampled = len(search.known.sample)
    if not is_more(search.found, sampled, search.expected, sampled, LEVEL):
        return 0.0
    return min(search.share * search.known.rows / search.rows, 1.0)


def _of_spellings(tally: Tally) -> Iterator[Finding]:
    """Whether categories look like spellings of one another, or of one seen in training."""
    for each in tally.columns:
        old = each.old
        if old.column.role in ("category", "target") and old.column.dtype == "String":
            known = dict(zip(old.levels, map(max, old.counts, each.counts.tolist())))
            found_now = {level for level, rows in zip(old.levels, each.counts) if rows}
            now = found_now | set(each.new_levels)
            groups = similar_spellings({**known, **each.new_levels})
            yield from spelling_findings(
                old.column, [group for group in groups if now & set(group)]
            )


def _of_overlap(overlap: float) -> Iterator[Finding]:
    if overlap > 0:
        yield found(
            "S310",
            "note",
            f"about {percent(overlap, 0)} of the rows equal training rows; the score on the other "
            "rows may be worse.",
        )


def plain(value: Any) -> Any:
    """Data of JSON: lists, and None for numbers that are not finite."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
