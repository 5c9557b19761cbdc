"""The ground: errors, paths, parameters, progress, files and the cache."""
