"""A real cluster of processes on this machine gives the same bits, and its workers may die.

One test for all: to start a cluster takes longer than to use it.
"""

import os
import signal
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
from sklearn.base import clone
from tables import NAMES, ROWS, make_table

from gapless import (
    PCA,
    GaussianNB,
    KMeans,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    Ridge,
    in_parts,
)
from gapless._ground.interrupt import TimeLimit, time_limit
from gapless.streaming import Task, Training, total

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

COLUMNS = [*NAMES, "answer", "number"]


class Slowly(Task):
    """Sums the rows, and takes its time for it."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, rows):
        time.sleep(self.seconds)
        return rows.X.sum(axis=0)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("cluster") / "rows.parquet"
    make_table().select(COLUMNS).write_parquet(path, row_group_size=500)
    return path


def cluster_of(count, **options):
    return distributed.LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        memory_limit=None,
        **options,
    )


def test_a_cluster_gives_the_same_bits_whatever_happens_to_it(file):
    here = in_parts(file, columns=[*NAMES, "answer"], rows=16)
    alone = LogisticRegression(C=0.1).fit(here, "answer")
    with cluster_of(2) as cluster, distributed.Client(cluster) as client:
        there = in_parts(here, client=client)
        model = LogisticRegression(C=0.1).fit(there, "answer")
        _same(model, alone)
        assert model.generalization_ == alone.generalization_
        assert model.predict(there).tolist() == alone.predict(here).tolist()
        _check_families(here, there)
        _check_collections(client, file)
        _check_killed_workers(cluster, client, file)
        _check_limits(there)


def _same(model, other):
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_array_equal(model.intercept_, other.intercept_)
    assert model.certificate_ == other.certificate_


def _check_families(here, there):
    """Components, Bayes classifiers and clusters, with what they say of unseen rows."""
    for model, learned in (
        (PCA(2), "components_"),
        (GaussianNB(), "var_"),
        (LinearDiscriminantAnalysis(), "coef_"),
        (KMeans(3, random_state=0, max_iter=3), "cluster_centers_"),
    ):
        alone, found = clone(model).fit(here, "answer"), clone(model).fit(there, "answer")
        np.testing.assert_array_equal(getattr(found, learned), getattr(alone, learned))
        assert found.certificate_ == alone.certificate_
        assert found.generalization_ == alone.generalization_
        answer = "predict" if hasattr(model, "predict") else "transform"
        features = in_parts(there, columns=NAMES)
        np.testing.assert_array_equal(
            getattr(found, answer)(features), getattr(alone, answer)(in_parts(here, columns=NAMES))
        )


def _check_collections(client, file):
    """Arrays and frames of Dask: their client is found."""
    dask_array = pytest.importorskip("dask.array")
    dask_frame = pytest.importorskip("dask.dataframe")
    table = make_table()
    X = table.select(NAMES).to_numpy()
    alone = Ridge().fit(in_parts(X, rows=ROWS), table["number"])
    arrays = dask_array.from_array(X, chunks=(170, 2))
    y = dask_array.from_array(table["number"].to_numpy(), chunks=333)
    parts = in_parts(arrays, rows=ROWS)
    assert parts.client is client
    _same(Ridge().fit(parts, y), alone)
    frame = dask_frame.read_parquet(file)
    of_frame = Ridge().fit(in_parts(frame, columns=[*NAMES, "number"], rows=ROWS), "number")
    _same(of_frame, alone)
    classes = LogisticRegression().fit(in_parts(frame, columns=[*NAMES, "answer"]), "answer")
    assert classes.classes_.tolist() == ["no", "yes"]


def _check_killed_workers(cluster, client, file):
    """Two workers die in the middle of a sum."""
    training = Training(in_parts(file, columns=NAMES, rows=16, client=client))
    alone = total(Training(in_parts(file, columns=NAMES, rows=16)), Slowly(0.0))
    victims = []

    def kill():
        for _ in range(2):
            # A worker that is being started again has no process yet.
            while not (alive := {w.pid for w in cluster.workers.values()} - {None, *victims}):
                time.sleep(0.05)
            victims.append(min(alive))
            os.kill(victims[-1], signal.SIGKILL)
            time.sleep(0.2)

    killer = threading.Thread(target=kill)
    killer.start()
    found = total(training, Slowly(0.02))
    killer.join()
    assert len(victims) == 2
    np.testing.assert_array_equal(found, alone)


def _check_limits(parts):
    with pytest.raises(TimeLimit), time_limit(0.1):
        total(Training(parts), Slowly(0.5))


def test_a_scheduler_that_is_gone_is_an_error_and_not_a_hang(file):
    """The scheduler speaks TLS, as one between machines would."""
    security = distributed.Security.temporary()
    cluster = cluster_of(1, security=security, processes=False)
    client = distributed.Client(cluster, timeout=20)
    try:
        parts = in_parts(file, columns=[*NAMES, "number"], rows=ROWS, client=client)
        assert client.scheduler.address.startswith("tls://")
        np.testing.assert_array_equal(
            Ridge().fit(parts, "number").coef_,
            Ridge().fit(in_parts(file, columns=[*NAMES, "number"], rows=ROWS), "number").coef_,
        )
        stopper = threading.Timer(0.3, lambda: client.sync(cluster.scheduler.close))
        stopper.start()
        with pytest.raises(ConnectionError, match="scheduler"):
            total(Training(parts), Slowly(1.0))
        stopper.join()
    finally:
        for each in (client, cluster):  # they cannot say goodbye to it
            with suppress(TimeoutError):
                each.close(timeout=1)
