"""Programs for the client's own Python, sent as text through its command tool. They import the standard library and
pytest only, and run on Python 3.8 and later. `common` precedes `survey` or `trial` in what is sent; `JOB` comes first.
"""
