"""What the studies need beyond the measures, in one module per study."""
