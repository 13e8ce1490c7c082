"""Figures of steadhold beside its peers, taken in one interleaved run on one machine. See README.md."""
