"""Paired measurements; each figure in README has its script here."""
