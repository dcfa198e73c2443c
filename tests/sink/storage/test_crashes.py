"""Crashes at every step of a commit, and owners that come back: the folder ends as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tailrace.change.tso import Ts
from tailrace.errors import Fenced, SinkRefused, WorkerLost
from tailrace.observe import failpoints
from tailrace.observe.failpoints import VARIABLE
from tailrace.progress.cut import Cut, Receipt
from tests.sink.storage.folders import Run, batch, check_folder, data_files, ids, spec, table, tree, ts

TABLES = [table(f"t{n}", table_id=100 + n) for n in range(3)]
DAY = 24 * 3600 * 1000
CUTS = [[ts(1), ts(2)], [ts(3), ts(DAY - 1), ts(DAY)], [ts(DAY + 1)], [ts(DAY + 2), ts(2 * DAY)]]
COMMIT_POINTS = ["before-naming", "after-naming", "between-files", "before-index", "before-metadata"]


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    failpoints.reset()
    yield
    failpoints.reset()


def pieces(run: Run, cut: Cut, commits: list[Ts]) -> list[Receipt]:
    """Two pieces for each table, of which the second holds the last commit."""
    receipts: list[Receipt] = []
    for each in TABLES:
        for part in (commits[:-1], commits[-1:]):
            receipts.append(run.write(cut, [batch(each, part)] if part else [], len(receipts)))
    return receipts


def deliver(run: Run, commits: list[Ts]) -> None:
    cut = run.cut(commits[-1])
    run.sink.commit(cut, pieces(run, cut, commits))
    run.conclude(cut)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What is there when nothing goes wrong."""
    root = tmp_path_factory.mktemp("undisturbed")
    run = Run(spec(root))
    for commits in CUTS:
        deliver(run, commits)
    check_folder(root)
    return tree(root)


def in_spite_of(run: Run, commits: list[Ts]) -> None:
    """Deliver a cut; after each crash a new owner finds out what is left to do."""
    number = run.ledger.last_cut + 1
    while run.ledger.last_cut < number:
        try:
            deliver(run, commits)
        except WorkerLost:
            run.start()


@pytest.mark.parametrize("at_pass", [1, 4])
@pytest.mark.parametrize("point", [*COMMIT_POINTS, "stage-file"])
def test_a_crash_at_any_step_leaves_the_folder_as_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: dict[str, bytes], point: str, at_pass: int
) -> None:
    run = Run(spec(tmp_path))
    monkeypatch.setenv(VARIABLE, f"{point}=raise@{at_pass}")
    for commits in CUTS:
        in_spite_of(run, commits)
    assert tree(tmp_path) == expected
    assert run.ledger.epoch == (2 if at_pass <= len(CUTS) or point in ("between-files", "stage-file") else 1)
    assert list((tmp_path / ".tailrace/stage").iterdir()) == []


@pytest.mark.parametrize("second", COMMIT_POINTS[1:])
@pytest.mark.parametrize("first", COMMIT_POINTS[1:])
def test_a_crash_in_the_replay_of_a_crash_changes_nothing_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: dict[str, bytes], first: str, second: str
) -> None:
    run = Run(spec(tmp_path))
    monkeypatch.setenv(VARIABLE, f"{first}=raise")
    with pytest.raises(WorkerLost):
        deliver(run, CUTS[0])
    failpoints.reset()
    monkeypatch.setenv(VARIABLE, f"{second}=raise")
    for _ in range(2):
        try:
            run.start()
        except WorkerLost:
            continue
        break
    monkeypatch.delenv(VARIABLE)
    for commits in CUTS[run.ledger.last_cut :]:
        deliver(run, commits)
    assert tree(tmp_path) == expected


@pytest.mark.parametrize("point", COMMIT_POINTS[:4])
def test_the_same_owner_may_call_commit_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    run = Run(spec(tmp_path))
    deliver(run, CUTS[0])
    cut = run.cut(CUTS[1][-1])
    receipts = pieces(run, cut, CUTS[1])
    monkeypatch.setenv(VARIABLE, f"{point}=raise")
    with pytest.raises(WorkerLost):
        run.sink.commit(cut, receipts)
    run.sink.commit(cut, receipts)
    run.conclude(cut)
    check_folder(tmp_path)
    assert sorted(ids(tmp_path)) == sorted(3 * [*CUTS[0], *CUTS[1]])


def test_pieces_written_again_after_the_naming_was_saved_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(spec(tmp_path))
    cut = run.cut(CUTS[0][-1])
    first = pieces(run, cut, CUTS[0])
    monkeypatch.setenv(VARIABLE, "after-naming=raise")
    with pytest.raises(WorkerLost):
        run.sink.commit(cut, first)
    run.sink.commit(cut, pieces(run, cut, CUTS[0]))
    check_folder(tmp_path)
    assert sorted(ids(tmp_path)) == sorted(3 * CUTS[0])
    assert list((tmp_path / ".tailrace/stage").iterdir()) == []


def test_a_file_that_a_reader_removed_after_its_index_is_not_missed(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    cut = run.cut(CUTS[0][-1])
    run.sink.commit(cut, pieces(run, cut, CUTS[0]))
    consumed = tmp_path / data_files(tmp_path)[0]
    consumed.unlink()
    run.start()
    assert run.ledger.last_cut == cut.number
    assert not consumed.exists()


def test_a_file_that_was_lost_before_its_index_stops_the_subscription(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(spec(tmp_path))
    monkeypatch.setenv(VARIABLE, "after-naming=raise")
    with pytest.raises(WorkerLost):
        deliver(run, CUTS[0])
    next((tmp_path / ".tailrace/stage").rglob("*.part")).unlink()
    with pytest.raises(SinkRefused, match="neither of them is there"):
        run.start()


def test_a_fenced_owner_changes_nothing_any_more(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    deliver(run, CUTS[0])
    old, old_cut = run.sink, run.cut(CUTS[1][-1])
    staged = pieces(run, old_cut, CUTS[1])
    run.start()
    before = tree(tmp_path)
    with pytest.raises(Fenced):
        old.commit(old_cut, staged)
    with pytest.raises(Fenced):
        old.advance(ts(9 * DAY))
    with pytest.raises(Fenced):
        old.ddl([])
    assert tree(tmp_path) == before
    for commits in CUTS[1:]:
        deliver(run, commits)
    check_folder(tmp_path)
    assert len(ids(tmp_path)) == 3 * sum(map(len, CUTS))


def test_an_owner_fenced_in_the_middle_of_its_moves_does_what_the_naming_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: dict[str, bytes]
) -> None:
    run = Run(spec(tmp_path))
    old, cut = run.sink, run.cut(CUTS[0][-1])
    receipts = pieces(run, cut, CUTS[0])
    monkeypatch.setenv(VARIABLE, "between-files=raise@2")
    with pytest.raises(WorkerLost):
        old.commit(cut, receipts)
    assert run.ledger.naming is not None
    naming = run.ledger.naming[1]
    run.start()
    deliver(run, CUTS[1])
    old.recover(cut, naming)
    for commits in CUTS[2:]:
        deliver(run, commits)
    files = tree(tmp_path)
    assert {name: data for name, data in files.items() if not name.endswith("CDC.index")} == {
        name: data for name, data in expected.items() if not name.endswith("CDC.index")
    }


def test_what_a_dead_epoch_staged_is_swept_and_a_living_one_is_not(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    pieces(run, run.cut(), CUTS[0])
    run.start()
    stage = tmp_path / ".tailrace/stage"
    assert list(stage.iterdir()) == []
    pieces(run, run.cut(), CUTS[0])
    (stage / "e99-c1").mkdir()
    (stage / "e99-c1/p0-a-0.part").write_text("of a newer owner")
    (stage / "litter").mkdir()
    run.sink.open(run.seat)
    assert [path.name for path in stage.iterdir()] == ["e99-c1"]


def test_numbers_start_above_index_and_listing_whichever_is_larger(tmp_path: Path) -> None:
    folder = tmp_path / f"shop/t0/{TABLES[0].version}/2026-01-01"
    (folder / "meta").mkdir(parents=True)
    (folder / "CDC00000000000000000004.csv").write_text("x")
    (folder / "meta/CDC.index").write_text("CDC00000000000000000003.csv\n")
    run = Run(spec(tmp_path))
    run.deliver([batch(TABLES[0], [ts(1)])])
    assert data_files(tmp_path)[-1].endswith("CDC00000000000000000005.csv")
    (folder / "meta/CDC.index").write_text("CDC00000000000000000009.csv\n")
    (folder / "CDC00000000000000000009.csv").write_text("x")
    run.start()
    run.deliver([batch(TABLES[0], [ts(2)])])
    assert data_files(tmp_path)[-1].endswith("CDC00000000000000000010.csv")


def test_a_file_of_others_is_never_overwritten(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    run.deliver([batch(TABLES[0], [ts(1)])])
    folder = tmp_path / f"shop/t0/{TABLES[0].version}/2026-01-01"
    foreign = folder / "CDC00000000000000000002.csv"
    foreign.write_text("of somebody else")
    with pytest.raises(Exception, match="nobody else may write"):
        run.deliver([batch(TABLES[0], [ts(2)])])
    assert foreign.read_text() == "of somebody else"
