"""The report of a run: one HTML file that needs no network and no scripts."""
