"""What builds and documents the project; no notebook imports it.

The environment, the site, and generated pages.
"""
