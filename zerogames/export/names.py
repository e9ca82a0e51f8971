"""The names of an exported net's tensors: Lc0's, so that its tools understand them."""

INPUT_PLANES = "/input/planes"
OUTPUT_POLICY = "/output/policy"
OUTPUT_WDL = "/output/wdl"
OUTPUT_MOVES_LEFT = "/output/mlh"
