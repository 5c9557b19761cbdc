"""What a study needs beyond the measures, one module a study."""
