from contacts import AddressBook


def test_values_are_no_fields():
    book = AddressBook()
    book.put("Ann", phone="mail")
    book.put("Bob", mail="phone", phone="")
    assert book.with_detail("mail") == ["Bob"]
    assert book.with_detail("phone") == ["Ann", "Bob"]
