"""What was said and done, as blocks of a page. Pure: no clock, no files, no tasks."""
