import pytest

from forms import Form, Wizard


def required(value):
    return None if value else "missing"


@pytest.fixture
def wizard():
    return Wizard([Form({"name": required}), Form({"city": required})])


def test_errors():
    form = Form({"name": required})
    assert not form.validate({})
    assert form.errors == {"name": "missing"}


def test_finished(wizard):
    assert wizard.submit({"name": "Ann"})
    assert wizard.submit({"city": "Ulm"})
    assert wizard.finished
    assert wizard.answers == {"name": "Ann", "city": "Ulm"}


def test_refused(wizard):
    assert not wizard.submit({})
    assert wizard.step == 0


def test_wizards_are_apart(wizard):
    wizard.submit({"name": "Bob"})
    other = Wizard([])
    assert other.answers == {}
