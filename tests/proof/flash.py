"""The bytes of a 32-bit ELF file that are stored in flash: every allocated section with contents."""

import struct
import sys

elf = open(sys.argv[1], "rb").read()
(shoff,) = struct.unpack_from("<I", elf, 32)
size, count = struct.unpack_from("<HH", elf, 46)
total = 0
for i in range(count):
    _, kind, flags, _, _, length = struct.unpack_from("<6I", elf, shoff + i * size)
    if flags & 2 and kind != 8:
        total += length
print(total)
