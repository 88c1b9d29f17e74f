import pytest

from pager import Pager


def test_first_page():
    assert Pager(range(25), 10).page(1) == list(range(10))


def test_last_page_is_short():
    assert Pager(range(25), 10).page(3) == [20, 21, 22, 23, 24]


def test_counts():
    assert Pager(range(25), 10).page_count == 3
    assert Pager([], 10).page_count == 0


def test_unknown_page():
    with pytest.raises(IndexError):
        Pager(range(5), 10).page(2)


def test_has_next():
    pager = Pager(range(25), 10)
    assert pager.has_next(2)
    assert not pager.has_next(3)
