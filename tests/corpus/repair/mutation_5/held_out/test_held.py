from schema import Schema


def test_change_of_a_record():
    schema = Schema({"a": 1})
    record = schema.record()
    record["a"] = 9
    record["z"] = 1
    assert schema.record() == {"a": 1}
    assert schema.fields == ["a"]
