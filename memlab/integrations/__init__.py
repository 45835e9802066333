"""memlab behind the hooks of other people's benchmarks and agents."""
