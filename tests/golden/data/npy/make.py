"""Writes the .npy files of this folder with NumPy (1.24). Tests read them and need no Python."""
import numpy as np
from numpy.lib import format as npy

np.save("f8_2x3", np.array([[0.1, -2.5, 1e300], [5e-324, 0.0, 1 / 3]]))
np.save("f4_1x2x1x2", np.array([0.1, -1.5, 2**24, np.inf], "f4").reshape(1, 2, 1, 2))
np.save("f2_6", np.array([1, -2, 65504, 2.0**-24, -np.inf, 2.0**-14], "f2"))
np.save("i8_3", np.array([-(2**53), 0, 7], "i8"))
np.save("i2_2x2", np.array([[-32768, 1], [2, 32767]], "i2"))
np.save("u1_4", np.array([0, 1, 128, 255], "u1"))
np.save("b1_3", np.array([True, False, True]))
np.save("f8_scalar", np.float64(42))
np.save("f8_0x4", np.zeros((0, 4)))
for version in (2, 3):
    with open(f"f8_version{version}_2.npy", "wb") as file:
        npy.write_array(file, np.array([1.0, 2.0]), version=(version, 0))

# What is refused.
np.save("fortran_2x3", np.asfortranarray(np.arange(6.0).reshape(2, 3)))
np.save("big_endian_2", np.array([1.0, 2.0], ">f8"))
np.save("complex_2", np.array([1, 2j]))
np.save("structured_2", np.array([(1, 2.0), (3, 4.0)], [("a", "<i4"), ("b", "<f8")]))
np.save("object_1", np.array([{"a": 1}], dtype=object), allow_pickle=True)
np.save("text_2", np.array(["ab", "c"]))
