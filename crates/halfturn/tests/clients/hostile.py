"""What a client may not do, done to an NBD server: `hostile.py SOCKET SIZE CASE...`

The server has the exports `disk`, the default, and `fixed`, which is read-only; reads and writes of any
bytes, up to 64 MiB at once. Each case ends with the server still serving others. Nothing here is random.
"""

import socket
import struct
import sys

import nbd

SOCKET, SIZE, CASES = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
LEAST, LONGEST = 512, 64 << 20
SECONDS = 20
READ, WRITE, DISC, FLUSH, TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS = range(8)
EINVAL = 22


def connected(export="disk", contexts=False):
    """A client of libnbd that sends whatever it is told to."""
    client = nbd.NBD()
    client.set_strict_mode(0)
    client.set_export_name(export)
    if contexts:
        client.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
    client.connect_unix(SOCKET)
    return client


def alive():
    """The server serves a client that does nothing wrong."""
    client = connected()
    data = bytes([7]) * 4096
    client.pwrite(data, 8 << 20)
    assert client.pread(4096, 8 << 20) == data
    client.shutdown()


def fails(error, do):
    """The server answers with an error, and goes on serving the same client."""
    try:
        do()
    except nbd.Error as failed:
        assert failed.errno == error, f"{failed.errno} instead of {error}: {failed}"
    else:
        raise AssertionError(f"nothing is wrong, instead of {error}")


class Raw:
    """A connection without a library."""

    def __init__(self, flags=3):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(SECONDS)
        self.socket.connect(SOCKET)
        assert self.take(18) == b"NBDMAGICIHAVEOPT\0\3"
        self.send(struct.pack(">I", flags))

    def send(self, data):
        self.socket.sendall(data)

    def take(self, length):
        taken = b""
        while len(taken) < length:
            more = self.socket.recv(length - len(taken))
            if not more:
                raise EOFError
            taken += more
        return taken

    def option(self, number, data=b"", length=None):
        self.send(b"IHAVEOPT" + struct.pack(">II", number, len(data) if length is None else length) + data)

    def answer(self):
        """Option, kind and data of the next answer in the handshake."""
        magic, option, kind, length = struct.unpack(">QIII", self.take(20))
        assert magic == 0x3E889045565A9
        return option, kind, self.take(length)

    def chosen(self, export=b"disk"):
        """Into transmission, with simple replies."""
        self.option(1, export)
        self.take(10)
        return self

    def ask(self, command, cookie, offset=0, length=0, flags=0, magic=0x25609513):
        self.send(struct.pack(">IHHQQI", magic, flags, command, cookie, offset, length))

    def reply(self):
        """Error and cookie of the next simple reply; the data of a read are the caller's."""
        magic, error, cookie = struct.unpack(">IIQ", self.take(16))
        assert magic == 0x67446698, hex(magic)
        return error, cookie

    def is_closed(self):
        """The server hangs up, whatever it says before."""
        try:
            while self.socket.recv(1 << 16):
                pass
        except ConnectionError:
            pass
        self.socket.close()
        return True

    def close(self):
        self.socket.close()


def flags():
    client = connected(contexts=True)
    block = bytes(LEAST)
    fails("EINVAL", lambda: client.pread(LEAST, 0, flags=nbd.CMD_FLAG_NO_HOLE))
    fails("EINVAL", lambda: client.pread(LEAST, 0, flags=1 << 14))
    fails("EINVAL", lambda: client.pwrite(block, 0, flags=nbd.CMD_FLAG_DF))
    fails("EINVAL", lambda: client.pwrite(block, 0, flags=1 << 9))
    fails("EINVAL", lambda: client.trim(LEAST, 0, flags=nbd.CMD_FLAG_NO_HOLE))
    fails("EINVAL", lambda: client.flush(flags=nbd.CMD_FLAG_REQ_ONE))
    fails("EINVAL", lambda: client.block_status(LEAST, 0, lambda *_: 0, flags=nbd.CMD_FLAG_DF))
    assert client.pread(LEAST, 0, flags=nbd.CMD_FLAG_DF | nbd.CMD_FLAG_FUA)
    fails("EINVAL", lambda: connected().block_status(LEAST, 0, lambda *_: 0))
    extents = []
    client.block_status(1 << 20, 0, lambda _, offset, found, error: extents.extend(found), nbd.CMD_FLAG_REQ_ONE)
    assert len(extents) == 2 and 0 < extents[0] <= 1 << 20
    client.shutdown()


def oversize():
    client = connected()
    whole = bytes([1, 2, 3, 4]) * (LONGEST // 4)
    client.pwrite(whole, 0)
    assert client.pread(LONGEST, 0) == whole
    client.shutdown()
    raw = Raw().chosen()
    for cookie, length in enumerate([LONGEST + LEAST, 0xFFFFFE00]):
        raw.ask(READ, cookie, 0, length)
        assert raw.reply() == (EINVAL, cookie)
    raw.ask(WRITE, 1, 0, LONGEST + LEAST)
    raw.send(bytes(LONGEST + LEAST))
    assert raw.reply() == (EINVAL, 1)
    raw.ask(WRITE, 2, 0, 0xFFFFFE00)
    assert raw.is_closed()


def past_the_end():
    client = connected(contexts=True)
    block = bytes(2 * LEAST)
    for offset in [SIZE, SIZE - LEAST, 1 << 62]:
        fails("EINVAL", lambda: client.pread(2 * LEAST, offset))
        fails("ENOSPC", lambda: client.pwrite(block, offset))
        fails("ENOSPC", lambda: client.zero(2 * LEAST, offset))
        fails("EINVAL", lambda: client.trim(2 * LEAST, offset))
        fails("EINVAL", lambda: client.cache(2 * LEAST, offset))
        fails("EINVAL", lambda: client.block_status(2 * LEAST, offset, lambda *_: 0))
    raw = Raw().chosen()
    raw.ask(READ, 1, (1 << 64) - LEAST, 2 * LEAST)
    assert raw.reply() == (EINVAL, 1)
    raw.close()
    assert len(client.pread(LEAST, SIZE - LEAST)) == LEAST
    client.shutdown()


def odd_places():
    """Parts of blocks, against what they should hold."""
    client = connected()
    model = bytearray(1 << 20)
    client.pwrite(bytes(model), 0)
    for step in range(400):
        at = step * 7919 * 131 % len(model)
        length = min(1 + step * 104729 % (20000 if step % 4 == 0 else 600), len(model) - at)
        if step % 5 == 0:
            client.zero(length, at)
            model[at : at + length] = bytes(length)
        else:
            model[at : at + length] = bytes([step % 255 + 1]) * length
            client.pwrite(bytes(model[at : at + length]), at, flags=nbd.CMD_FLAG_FUA if step % 7 == 0 else 0)
        assert client.pread(length, at) == model[at : at + length], (step, at, length)
    assert client.pread(len(model), 0) == model
    client.trim(1000, 1)
    assert client.pread(1, 0) == model[:1] and client.pread(512, 1001) == model[1001:1513], "a trim of more"
    client.shutdown()


def neighbours():
    """Many writes at once that share blocks: none undoes another."""
    raws = [Raw().chosen() for _ in range(4)]
    for round in range(20):
        for cookie in range(64):
            for number, raw in enumerate(raws):
                raw.ask(WRITE, cookie, cookie * 400 + number * 100, 100)
                raw.send(bytes([(round + cookie + number) % 256]) * 100)
        for raw in raws:
            assert sorted(raw.reply() for _ in range(64)) == [(0, cookie) for cookie in range(64)]
        raws[0].ask(READ, 99, 0, 64 * 400)
        assert raws[0].reply() == (0, 99)
        expected = b"".join(bytes([(round + cookie + number) % 256]) * 100 for cookie in range(64) for number in range(4))
        assert raws[0].take(64 * 400) == expected
    for raw in raws:
        raw.close()


def empty():
    raw = Raw().chosen()
    for cookie, command in enumerate([READ, WRITE, TRIM, CACHE, WRITE_ZEROES]):
        raw.ask(command, cookie)
        assert raw.reply() == (EINVAL, cookie)
    raw.ask(FLUSH, 9, LEAST, 0)
    assert raw.reply() == (EINVAL, 9)
    raw.ask(FLUSH, 10)
    assert raw.reply() == (0, 10)
    raw.close()


def read_only():
    client = connected("fixed")
    before = client.pread(4096, 0)
    fails("EPERM", lambda: client.pwrite(bytes([1]) * 4096, 0))
    fails("EPERM", lambda: client.pwrite(bytes(LONGEST), 0))
    for do in [client.zero, client.trim]:
        try:
            do(4096, 0)
        except nbd.Error as failed:
            assert failed.errno in ("EPERM", "EINVAL")
        else:
            raise AssertionError("a read-only export was written to")
    assert client.pread(4096, 0) == before
    client.shutdown()


def unknown_export():
    try:
        connected("no such export")
    except nbd.Error:
        pass
    else:
        raise AssertionError("an export that is not there was opened")
    raw = Raw()
    raw.option(7, struct.pack(">I", 4) + b"none" + struct.pack(">H", 0))
    assert raw.answer()[:2] == (7, 0x80000006)
    raw.option(7, struct.pack(">I", 4096) + b"x" * 4096 + struct.pack(">H", 0))
    assert raw.answer()[:2] == (7, 0x80000006)
    raw.option(1, b"none")
    assert raw.is_closed()


def handshakes():
    assert Raw(flags=0).is_closed()
    assert Raw(flags=0xFFFF).is_closed()
    for noise in [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\0" * 20, bytes(64)]:
        raw = Raw()
        raw.send(noise)
        assert raw.is_closed()
    raw = Raw()
    raw.option(7, length=0xFFFFFFFF)
    assert raw.is_closed()
    raw = Raw()
    for number, data, kind in [
        (5, b"", 0x80000001),
        (99, bytes(100), 0x80000001),
        (3, b"x", 0x80000003),
        (7, b"\0\0\xff\xff", 0x80000003),
        (10, b"\0\0\0\4disk\0\0\0\0", 0x80000003),
        (7, bytes(20000), 0x80000009),
        (2, b"", 1),
    ]:
        raw.option(number, data)
        assert raw.answer()[:2] == (number, kind)
    assert raw.is_closed()
    for length in range(4):
        raw = Raw()
        raw.send(b"IHAVEOPT\0\0\0\7\0\0\0\x10"[: 4 * length])
        raw.close()


def magic():
    raw = Raw().chosen()
    raw.ask(READ, 1, 0, LEAST)
    assert raw.reply() == (0, 1)
    raw.take(LEAST)
    raw.ask(READ, 2, 0, LEAST, magic=0x12560953)
    assert raw.is_closed()


def commands():
    raw = Raw().chosen()
    for command in [8, 42, 0xFFFF]:
        raw.ask(command, command, 0, LEAST)
        assert raw.reply() == (EINVAL, command)
    raw.ask(BLOCK_STATUS, 1, 0, LEAST)
    assert raw.reply() == (EINVAL, 1), "no metadata context was chosen"
    raw.close()


def cookies():
    """A cookie that is in use already is the client's affair: each request has its answer."""
    raw = Raw().chosen()
    for _ in range(8):
        raw.ask(WRITE, 7, 0, LEAST)
        raw.send(bytes([5]) * LEAST)
    assert all(raw.reply() == (0, 7) for _ in range(8))
    for _ in range(8):
        raw.ask(READ, 7, 0, LEAST)
    for _ in range(8):
        assert raw.reply() == (0, 7)
        assert raw.take(LEAST) == bytes([5]) * LEAST
    for first in range(0, 1000, 100):
        for cookie in range(first, first + 100):
            if cookie % 10 == 0:
                raw.ask(FLUSH, cookie)
            else:
                raw.ask(WRITE_ZEROES, cookie, cookie * LEAST, LEAST)
        assert sorted(raw.reply() for _ in range(100)) == [(0, cookie) for cookie in range(first, first + 100)]
    raw.close()


def half_a_write():
    client = connected()
    client.pwrite(bytes([3]) * (1 << 20), 16 << 20)
    for sent in [0, 1, 511, 512, 100_000]:
        raw = Raw().chosen()
        raw.ask(WRITE, 1, 16 << 20, 1 << 20)
        raw.send(bytes([4]) * sent)
        raw.close()
        raw = Raw().chosen()
        raw.send(b"\x25\x60\x95\x13\0"[: sent % 6])
        raw.close()
    assert client.pread(1 << 20, 16 << 20) == bytes([3]) * (1 << 20), "half a write was done"
    client.shutdown()


def disconnect_waits():
    """What was asked before a soft disconnect is answered."""
    raw = Raw().chosen()
    for cookie in range(16):
        raw.ask(WRITE, cookie, cookie << 16, 1 << 16)
        raw.send(bytes([cookie]) * (1 << 16))
    raw.ask(DISC, 99)
    assert sorted(raw.reply() for _ in range(16)) == [(0, cookie) for cookie in range(16)]
    assert raw.is_closed()
    client = connected()
    for cookie in range(16):
        assert client.pread(1 << 16, cookie << 16) == bytes([cookie]) * (1 << 16)
    client.shutdown()


def fill():
    """Every block written, so that memory grows no more."""
    client = connected()
    for offset in range(0, SIZE, 16 << 20):
        client.pwrite(bytes([1]) * (16 << 20), offset)
    client.shutdown()


def vanish():
    """Clients that go with replies pending, and with half a request sent."""
    for number in range(1000):
        raw = Raw().chosen()
        for cookie in range(8):
            offset = (number * 8 + cookie) % 64 << 16
            raw.ask(READ, cookie, offset, 1 << 16)
            raw.ask(WRITE, cookie, offset, 1 << 12)
            raw.send(bytes([cookie]) * (1 << 12))
        if number % 3 == 0:
            raw.ask(WRITE, 99, 0, 1 << 20)
        if number % 3 == 1:
            raw.take(20)
        raw.close()
        if number % 100 == 0:
            alive()


def deaf():
    """Clients that ask without end and hear nothing: others are served, and the server takes no more from them."""
    clients = []
    for command, length in [(READ, 1 << 20)] * 8 + [(READ, 0), (CACHE, LEAST), (BLOCK_STATUS, LEAST)]:
        raw = Raw().chosen()
        raw.socket.settimeout(0.2)
        request = struct.pack(">IHHQQI", 0x25609513, 0, command, 1, 0, length)
        try:
            for _ in range(2000):
                raw.send(request * 1000)
        except TimeoutError:
            clients.append(raw)
        else:
            raise AssertionError(f"the server takes requests without end: {command}, {length} bytes")
    for _ in range(20):
        alive()
    for raw in clients:
        raw.close()


def crowd():
    """Clients that connect and say nothing keep nobody from being served who is in, and others only while they stay."""
    client = connected()
    silent = []
    for _ in range(500):
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(0.05)
        silent.append(one)
        try:
            one.connect(SOCKET)
        except (TimeoutError, BlockingIOError):
            break
    for offset in range(0, 1 << 20, 4096):
        client.pwrite(bytes([6]) * 4096, offset)
    assert client.pread(1 << 20, 0) == bytes([6]) * (1 << 20)
    for one in silent:
        one.close()
    client.shutdown()


for case in CASES:
    print(case, flush=True)
    globals()[case]()
    alive()
