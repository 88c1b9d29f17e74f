"""Groups of articles by their tags."""


def by_tag(articles):
    """Tag -> titles, from (title, tags) pairs."""
    groups = {}
    for title, tags in articles:
        for tag in tags:
            groups.setdefault(tag, []).append(title)
    return groups


def common_tags(articles):
    """Tags that every article has; an empty set without articles."""
    common = set()
    for _, tags in articles:
        if common is None:
            common = set(tags)
        else:
            common &= set(tags)
    return common or set()


def tag_cloud(articles):
    return {tag: len(titles) for tag, titles in sorted(by_tag(articles).items())}
