"""Renderers for data sets whose official files are missing: same factor grid, similar pictures.

`scenes` describes solids and cameras, `caster` finds what a camera sees, `cars` and `toys` hold
the shapes, and every other module draws one data set (`scream` one painting).
"""
