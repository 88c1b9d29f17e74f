"""The web dashboard: pages, live stream and API over the hub. No bundler, and nothing is loaded from elsewhere."""
