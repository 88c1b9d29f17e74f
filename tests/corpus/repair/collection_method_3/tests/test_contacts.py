import pytest

from contacts import AddressBook


@pytest.fixture
def book():
    book = AddressBook()
    book.put("Ann", phone="12", mail="ann@example.org")
    book.put("Bob", phone="34")
    book.put("Cid", mail="cid@example.org")
    return book


def test_phone(book):
    assert book.phone("Bob") == "34"
    assert book.phone("Cid") == "unknown"
    assert book.phone("Zoe") == "unknown"


def test_update(book):
    book.put("Bob", mail="bob@example.org")
    assert book.phone("Bob") == "34"


def test_with_detail(book):
    assert book.with_detail("mail") == ["Ann", "Cid"]
    assert book.with_detail("fax") == []


def test_remove(book):
    book.remove("Ann")
    book.remove("Ann")
    assert book.names() == ["Bob", "Cid"]
