"""Turning nets into files that other programs run."""
