"""Run a program as another user, because PostgreSQL refuses to run as root: `python step_down.py USER reach|plain PROGRAM ARGUMENT…`.

With `reach` the program may still pass through folders that are closed to that user (root's own home, for one), by one capability
that it keeps; nobody's folder has to be opened for it. Imports nothing of Comporta, so that it starts quickly.
"""

import ctypes
import os
import pwd
import sys

_PR_SET_SECUREBITS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 28, 47, 2
_SECBIT_NO_SETUID_FIXUP = 1 << 2
_CAP_DAC_OVERRIDE = 1
_CAPABILITY_VERSION_3 = 0x20080522


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Sets(ctypes.Structure):
    _fields_ = [("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32)]


def become(user: str, *, reach: bool) -> None:
    """Give up root for good; with `reach`, all of its powers but the one to pass through closed folders."""
    entry = pwd.getpwnam(user)
    libc = ctypes.CDLL(None, use_errno=True)
    if reach:
        # Without this bit, access(2) would ask in the name of the plain user and deny what open(2) allows.
        _check(libc.prctl(_PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP, 0, 0, 0))
    os.setgroups([])
    os.setresgid(entry.pw_gid, entry.pw_gid, entry.pw_gid)
    os.setresuid(entry.pw_uid, entry.pw_uid, entry.pw_uid)
    if reach:
        kept = 1 << _CAP_DAC_OVERRIDE
        header = _Header(_CAPABILITY_VERSION_3, 0)
        sets = (_Sets * 2)(_Sets(kept, kept, kept), _Sets(0, 0, 0))
        _check(libc.capset(ctypes.byref(header), ctypes.byref(sets)))
        _check(libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE, 0, 0))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        sys.exit(f"cannot step down from root ({os.strerror(number)}): put COMPORTA_HOME and this Python where other users may enter")


if __name__ == "__main__":
    become(sys.argv[1], reach=sys.argv[2] == "reach")
    os.execv(sys.argv[3], sys.argv[3:])  # noqa: S606 - the program is named by full path
