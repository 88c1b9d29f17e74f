from pager import Pager


def test_pages_cover_everything():
    for size in range(1, 8):
        pager = Pager(range(17), size)
        joined = [item for number in range(1, pager.page_count + 1) for item in pager.page(number)]
        assert joined == list(range(17))
