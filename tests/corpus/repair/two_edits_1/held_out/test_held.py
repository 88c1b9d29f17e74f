from thermostat import Thermostat


def test_bounds_do_nothing():
    thermostat = Thermostat(10, 20)
    assert not thermostat.update(10)
    assert thermostat.update(9)
    assert thermostat.update(20)
    assert not thermostat.update(21)
