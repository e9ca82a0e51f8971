"""Leela Zero's nets, in the text form in which it keeps them."""
