"""The site of lesson 00 that runs in a browser: ``python -m tools.lite``.

JupyterLite serves the notebook, and Pyodide is its kernel. What the notebook imports
from `lib` goes in as one wheel with the vectors of its sentences, which Pyodide cannot
compute. All of that is made anew by each build, from the checkout.

Variables: ``PYODIDE``, if set, is a folder with Pyodide 0.27.7, which then goes into
the site, and nothing outside is asked for. Otherwise a reader's browser takes it from
its CDN.
"""
