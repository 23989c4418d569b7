from typing import NamedTuple

class ReplyHeader(NamedTuple):
    xid: int
    zxid: int
    err: int
