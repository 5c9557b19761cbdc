"""What lessons and commands need beyond the measures, a module for each topic."""
