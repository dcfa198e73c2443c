"""The write-ahead log: what was appended is found again, damage is never passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.dataserver.wal import Kind, Record, WriteAheadLog
from tailrace.errors import DecodeError, UpstreamAway


def record(index: int) -> Record:
    return Record(Kind.PREWRITE, 9, index, 100 + index, 0, 1, 1)


def opened(folder: Path, segment_bytes: int = 1 << 20) -> WriteAheadLog:
    log = WriteAheadLog(folder, fsync=False, segment_bytes=segment_bytes)
    log.start()
    return log


def test_records_come_back_in_order_with_their_payloads(tmp_path: Path) -> None:
    log = opened(tmp_path, segment_bytes=500)
    payloads = [bytes([at]) * at * 40 for at in range(20)]
    for at, payload in enumerate(payloads):
        log.append(record(at), payload)
    log.close()
    again = opened(tmp_path)
    found = list(again.replay())
    assert [each for each, _ in found] == [record(at) for at in range(20)]
    assert [again.read(place) for _, place in found] == payloads
    assert len(again.segments) > 3
    again.close()


def test_a_torn_end_is_cut_off_and_written_over(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append(record(1), b"whole")
    log.append(record(2), b"torn in the middle")
    log.close()
    path = tmp_path / "wal-00000001.log"
    path.write_bytes(path.read_bytes()[:-5])
    again = opened(tmp_path)
    assert [each.index for each, _ in again.replay()] == [1]
    again.append(record(3), b"after")
    again.close()
    third = opened(tmp_path)
    assert [each.index for each, _ in third.replay()] == [1, 3]
    third.close()


def test_damage_before_the_end_is_refused_with_its_place(tmp_path: Path) -> None:
    log = opened(tmp_path, segment_bytes=100)
    for at in range(4):
        log.append(record(at), b"x" * 100)
    log.close()
    path = tmp_path / "wal-00000002.log"
    data = bytearray(path.read_bytes())
    data[90] ^= 1
    path.write_bytes(bytes(data))
    again = opened(tmp_path)
    with pytest.raises(DecodeError, match=r"wal-00000002.log is damaged at byte 0"):
        list(again.replay())
    again.close()


def test_a_dropped_segment_is_gone_and_the_rest_is_not(tmp_path: Path) -> None:
    log = opened(tmp_path, segment_bytes=100)
    places = [log.append(record(at), b"x" * 100) for at in range(3)]
    log.drop(1)
    with pytest.raises(DecodeError, match="wal-00000001"):
        log.read(places[0])
    assert log.read(places[2]) == b"x" * 100
    log.close()


def test_a_log_that_is_closed_takes_nothing(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.close()
    with pytest.raises(UpstreamAway, match="takes no records"):
        log.append(record(1))
