"""Staff with different ways of pay."""


class Employee:
    def __init__(self, name, salary):
        self.name = name
        self.salary = salary

    def pay(self):
        return self.salary

    def label(self):
        return f"{self.name} ({self.pay()})"


class Manager(Employee):
    def __init__(self, name, salary, bonus):
        self.bonus = bonus

    def pay(self):
        return super().pay() + self.bonus


class Trainee(Employee):
    def pay(self):
        return super().pay() // 2


def payroll(staff):
    return sum(person.pay() for person in staff)
