"""A bare NBD client, which can say what no library would, and knows of extended headers."""

import socket
import struct

READ, WRITE, FLUSH, TRIM, CACHE, ZEROES, STATUS = 0, 1, 3, 4, 5, 6, 7
FUA, NO_HOLE, DF, REQ_ONE, FAST_ZERO, PAYLOAD_LEN = 1, 2, 4, 8, 16, 32
EIO, EINVAL, ENOTSUP = 5, 22, 95
STRUCTURED, EXTENDED = 8, 11


class Client:
    def __init__(self, path, export, headers=EXTENDED, contexts=(), timeout=20):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.take(18)
        self.socket.sendall(struct.pack(">I", 3))
        self.extended, self.structured, self.contexts = False, False, {}
        if headers:
            kind = self.option(headers)[0][0]
            self.extended = headers == EXTENDED and kind == 1
            self.structured = kind == 1
        name = export.encode()
        name = struct.pack(">I", len(name)) + name
        if contexts:
            queries = b"".join(struct.pack(">I", len(query)) + query.encode() for query in contexts)
            for kind, data in self.option(10, name + struct.pack(">I", len(contexts)) + queries):
                if kind == 4:
                    self.contexts[data[4:].decode()] = struct.unpack(">I", data[:4])[0]
        replies = self.option(7, name + struct.pack(">H", 0))
        assert replies[-1][0] == 1, replies
        self.size, self.flags = struct.unpack(">QH", replies[0][1][2:12])

    def take(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise EOFError("the server hung up")
            data += more
        return data

    def option(self, number, data=b""):
        """The replies to an option, up to the last."""
        self.socket.sendall(struct.pack(">QII", 0x49484156454F5054, number, len(data)) + data)
        replies = []
        while True:
            _, _, kind, length = struct.unpack(">QIII", self.take(20))
            replies.append((kind, self.take(length)))
            if kind == 1 or kind >> 31:
                return replies

    def ask(self, command, offset, length, flags=0, payload=b"", cookie=7):
        if self.extended:
            header = struct.pack(">IHHQQQ", 0x21E41C71, flags, command, cookie, offset, length)
        else:
            header = struct.pack(">IHHQQI", 0x25609513, flags, command, cookie, offset, length)
        self.socket.sendall(header + payload)

    def answer(self, length=0):
        """The error, and all chunks as (kind, data), of one reply; `length` is that of a read, for a simple one."""
        error, chunks = 0, []
        while True:
            magic = struct.unpack(">I", self.take(4))[0]
            if magic == 0x67446698:
                assert not self.extended, "a simple reply with extended headers"
                error, _ = struct.unpack(">IQ", self.take(12))
                return error, [(1, self.take(length))] if length and not error else []
            if magic == 0x6E8A278C:
                assert self.extended
                flags, kind, _, _, length_ = struct.unpack(">HHQQQ", self.take(28))
            else:
                assert magic == 0x668E33EF and not self.extended, hex(magic)
                flags, kind, _, length_ = struct.unpack(">HHQI", self.take(16))
            data = self.take(length_)
            if kind >> 15:
                error = struct.unpack(">I", data[:4])[0]
            chunks.append((kind, data))
            if flags & 1:
                return error, chunks

    def do(self, command, offset, length, flags=0, payload=b""):
        self.ask(command, offset, length, flags, payload)
        return self.answer(length if command == READ else 0)

    def read(self, offset, length):
        error, chunks = self.do(READ, offset, length)
        assert error == 0, error
        data = bytearray(length)
        for kind, chunk in chunks:
            if kind == 1:
                at = 0 if not self.structured else struct.unpack(">Q", chunk[:8])[0] - offset
                chunk = chunk[8:] if self.structured else chunk
                data[at : at + len(chunk)] = chunk
        return bytes(data)

    def write(self, offset, data, flags=0):
        flags |= PAYLOAD_LEN if self.extended else 0
        return self.do(WRITE, offset, len(data), flags, data)[0]

    def status(self, offset, length, flags=0, payload=b""):
        """By number of context: what it tells, as pairs of length and state."""
        error, chunks = self.do(STATUS, offset, length, flags, payload)
        assert error == 0, error
        told = {}
        for kind, data in chunks:
            if kind == 6:
                number, count = struct.unpack(">II", data[:8])
                pairs = struct.iter_unpack(">QQ", data[8:])
            else:
                number, pairs = struct.unpack(">I", data[:4])[0], struct.iter_unpack(">II", data[4:])
            told[number] = list(pairs)
            assert kind == 5 or len(told[number]) == count
        return told
