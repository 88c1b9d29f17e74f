from staff import Employee, Manager, Trainee, payroll


def test_employee():
    assert Employee("Ann", 100).label() == "Ann (100)"


def test_manager():
    assert Manager("Bob", 100, 50).pay() == 150


def test_trainee():
    assert Trainee("Cid", 100).label() == "Cid (50)"


def test_payroll():
    assert payroll([Employee("Ann", 10), Trainee("Cid", 10)]) == 15
