"""Renderers for data sets whose official files are missing: same factor grid, similar pictures.

- `scenes` describes solids and cameras; `caster` computes what a camera sees
- `cars` and `toys` define the shapes
- `shading`, `turntable` and `mixing` compute brightness and colours
- `cars3d`, `shapes3d` and `smallnorb` draw a data set each, `scream` a painting
"""
