"""The compiled trunks of nets: `float_trunk.Trunk` in float32, `int8.Trunk` in 8-bit integers.

Each name is the variant of the module that this CPU runs best (see `zerogames_kernels.native`).
"""

from zerogames_kernels import _float_trunk as float_trunk
from zerogames_kernels import _int8 as int8

__all__ = ["float_trunk", "int8"]
