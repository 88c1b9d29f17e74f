"""Forms with fields and their errors."""


class Form:
    def __init__(self, fields):
        self.fields = fields
        self.errors = {}

    def validate(self, data):
        self.errors = {}
        for name, check in self.fields.items():
            problem = check(data.get(name))
            if problem:
                self.errors[name] = problem
        return not self.errors


class Wizard:
    """Several forms in a row."""

    answers = {}

    def __init__(self, forms):
        self.forms = forms
        self.step = 0

    def submit(self, data):
        if not self.forms[self.step].validate(data):
            return False
        self.answers.update(data)
        self.step += 1
        return True

    @property
    def finished(self):
        return self.step == len(self.forms)
