"""Extended headers, block status, trims and zeros, said byte by byte: SOCKET SIZE KIND, KIND being what the volume lies on."""

import struct
import sys

from raw import *

path, size, lies_on = sys.argv[1], int(sys.argv[2]), sys.argv[3]
MIB = 1 << 20
ALL = ["base:allocation", "halfturn:rate"]


def holds(what, found, wanted):
    assert found == wanted, f"{what}: {found}, not {wanted}"


client = Client(path, "disk", contexts=ALL)
holds("contexts", client.contexts, {ALL[0]: 1, ALL[1]: 2})
holds("flags", client.flags >> 11 & 3, 3)
holds("size", client.size, size)

# What has no payload may be longer than 4 GiB can say.
huge = min(size, 5 << 30)
holds("trim of all", client.do(TRIM, 0, huge)[0], 0)
holds("zeroes of all", client.do(ZEROES, 0, huge)[0], 0)
holds("zeroes, FUA", client.do(ZEROES, 100, huge - 200, FUA)[0], 0)
holds("trim, FUA", client.do(TRIM, 100, huge - 200, FUA)[0], 0)
holds("past the end", client.do(TRIM, size - 512, 1024)[0], EINVAL)
holds("past all numbers", client.do(TRIM, 512, (1 << 64) - 512)[0], EINVAL)
holds("trim of all again", client.do(TRIM, 0, huge)[0], 0)
told = client.status(0, huge)
holds("a hole", told[1], [(huge, 3)])
holds("a rate", (sum(length for length, _ in told[2]), told[2][0][1] > 0), (huge, lies_on == "disk"))

# A write, in extended headers with and without the flag that tells of its payload.
holds("write", client.write(4 * MIB, b"\x5a" * MIB), 0)
holds("write without the flag", client.do(WRITE, 6 * MIB, 512, 0, b"\x33" * 512)[0], 0)
holds("read", client.read(4 * MIB - 512, 1024), bytes(512) + b"\x5a" * 512)
told = client.status(0, 8 * MIB)
holds("data", sum(length for length, state in told[1] if state == 0) >= MIB, True)
holds("not all data", told[1][0][1], 3)
holds("lengths", [sum(length for length, _ in told[n]) for n in told], [8 * MIB] * 2)
holds("one", [len(told) for told in client.status(0, 8 * MIB, REQ_ONE).values()], [1, 1])

# A block status with a payload is of what that names.
query = lambda length, *numbers: struct.pack(f">Q{len(numbers)}I", length, *numbers)
holds("one context", list(client.status(0, 12, PAYLOAD_LEN, query(huge, 2))), [2])
for payload in [query(512, 3), query(512, 1, 1), query(0, 1), query(size + 512, 1), query(512), b"x" * 13, b"y" * 400]:
    holds(f"a payload of {len(payload)}", client.do(STATUS, 0, len(payload), PAYLOAD_LEN, payload)[0], EINVAL)
holds("a payload for a read", client.do(READ, 0, 512, PAYLOAD_LEN, bytes(512))[0], EINVAL)
holds("the connection lives", client.read(6 * MIB, 512), b"\x33" * 512)

# Part of a block is not given up; zeros are where they are asked for, to the byte.
client.write(0, b"\x11" * 8192)
client.do(TRIM, 100, 300)
holds("less than a block", client.read(0, 512), b"\x11" * 512)
client.do(ZEROES, 700, 3000)
holds("zeros", client.read(0, 8192), b"\x11" * 700 + bytes(3000) + b"\x11" * 4492)
client.do(ZEROES, 4196, 3000, NO_HOLE | FUA)
holds("zeros that are kept", client.read(4096, 4096), b"\x11" * 100 + bytes(3000) + b"\x11" * 996)
# Zeros are fast, or not written.
fast = client.do(ZEROES, 4 * MIB, MIB, FAST_ZERO)[0]
holds("fast zeros", fast, {"disk": ENOTSUP}.get(lies_on, 0))
holds("are there, or what was", client.read(4 * MIB, 512), bytes(512) if fast == 0 else b"\x5a" * 512)
if lies_on == "ram":
    holds("fast zeros that are kept", client.do(ZEROES, 0, MIB, FAST_ZERO | NO_HOLE)[0], ENOTSUP)

# Whoever does not ask for extended headers does not meet them.
compact = Client(path, "disk", headers=STRUCTURED, contexts=[ALL[0]])
holds("flags without", compact.flags >> 12 & 1, 0)
holds("compact status", sum(length for length, _ in compact.status(0, MIB)[1]), MIB)
holds("compact trim", compact.do(TRIM, 0, 8192)[0], 0)
holds("a flag it does not have", compact.do(TRIM, 0, 512, PAYLOAD_LEN)[0], EINVAL)
simple = Client(path, "disk", headers=None)
holds("simple", simple.read(6 * MIB, 512), b"\x33" * 512)

# The magic of the other header ends the connection, and no other.
for wrong in (client, compact):
    wrong.extended = not wrong.extended
    wrong.ask(READ, 0, 512, payload=bytes(4))
    try:
        wrong.take(1)
        raise AssertionError("the wrong header was taken")
    except (EOFError, ConnectionResetError):
        pass
holds("simple, still", simple.read(6 * MIB, 512), b"\x33" * 512)
