from typing import NamedTuple

class Id(NamedTuple):
    scheme: str
    id: str

class ACL(NamedTuple):
    perms: int
    id: Id

def make_digest_acl(username: str, password: str, *, all: bool = False) -> ACL: ...
