"""The Practical Molecular Optimization benchmark (Gao et al. 2022, arXiv:2206.12411) through the HTTP APIs."""
