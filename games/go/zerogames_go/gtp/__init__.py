"""The Go Text Protocol, version 2, with the extensions of KGS, Leela Zero and KataGo."""
