"""The sources of the site: the pages of docs/ and those that are made from code and measurements.

`python -m docs.building build/docs/source` writes them, and Sphinx (docs/conf.py) builds the site.

pages.py       links that a code host understands become links of the site; indexes become its tree
reference.py   the pages of all public names
benchmarks.py  tables from benchmarks/results
pictures.py    figures of the gallery, once they are finished
docstrings.py  an extension of Sphinx: formulas in docstrings are text, not markup
"""
