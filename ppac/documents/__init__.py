"""Tables of docs/, written from what the pipelines and the benchmarks committed."""
