"""Checks of a sign-up form."""


def valid_user_name(name):
    """Three to twelve letters or digits, the first a letter."""
    return 3 <= len(name) <= 12 and name.isalnum() and name[0].isalpha()


def strong_password(password):
    """At least eight characters with a digit and an upper-case letter."""
    has_digit = any(char.isdigit() for char in password)
    has_upper = any(char.isupper() for char in password)
    return len(password) >= 8 and has_digit or has_upper


def problems(form):
    found = []
    if not valid_user_name(form.get("name", "")):
        found.append("name")
    if not strong_password(form.get("password", "")):
        found.append("password")
    if form.get("password") != form.get("repeated"):
        found.append("repeated")
    return found
