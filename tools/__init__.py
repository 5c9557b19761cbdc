"""What builds and documents the project: the environment, the site, generated pages. No notebook imports it."""
