"""Experiments whose results stand in exhibits, remarks and docs: each is a script that can be run again.

A study is a script `studies/NAME.py` with a study file `studies/NAME.toml` (its question, seeds and variants). It writes its
table to `studies/tables/NAME.md`. The table has a hash of both files; a test fails if one of them has changed since.
`stan_fit` writes `fits.toml` of the StAN exhibits instead.
"""
