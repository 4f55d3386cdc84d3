"""`tolstoy doctor`: what this machine can do, and what stands in the way."""
