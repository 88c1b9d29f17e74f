import pytest

from routes import Router, match


def test_plain():
    assert match("/users", "/users/") == {}


def test_field():
    assert match("/users/{id}", "/users/7") == {"id": "7"}


def test_no_match():
    assert match("/users/{id}", "/orders/7") is None
    assert match("/users", "/users/7") is None


def test_dispatch():
    router = Router()
    router.add("/users/{name}/posts/{post}", lambda name, post: (name, post))
    assert router.dispatch("/users/ada/posts/3") == ("ada", "3")
    with pytest.raises(LookupError):
        router.dispatch("/nowhere")
