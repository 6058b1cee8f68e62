"""Explain errors of the operating system: full disks, limits of memory, processes and files."""

from __future__ import annotations

import errno
import resource
import tempfile

NO_THREADS = "DALI could not start its threads"
"""Start of the error message for threads that the operating system refused to create."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def describe_refusal(error: OSError) -> str:
    """Explain an error and its fix, or return "" if no limit of the operating system caused it."""
    reason = error.strerror or str(error)
    match error.errno:
        case errno.EAGAIN:
            why = "the limit of processes or threads is reached"
            remedy = "End other programs, or raise the limit (`ulimit -u`), then try again."
            remedy = f"{remedy} {memory_limit_text()}".rstrip()  # threads need much of it
        case errno.ENOMEM:
            why, remedy = "there is not enough memory", memory_remedy()
        case errno.EMFILE | errno.ENFILE:
            why = "too many files are open"
            remedy = "End other programs, or raise the limit (`ulimit -n`), then try again."
        case errno.ENOSPC | errno.EDQUOT:
            place = error.filename or tempfile.gettempdir()
            why = f"there is no space left in {place}"
            remedy = "Free some space, or set TMPDIR to another folder, then try again."
        case errno.ENOENT if "temporary directory" in reason:  # message of ``tempfile``
            why = "there is no space for temporary files"
            remedy = (
                "Free some space, set TMPDIR to another folder, or raise the limit of files "
                "(`ulimit -f`), then try again."
            )
        case errno.EFBIG:
            why = f"{error.filename or 'a file'} would be larger than is allowed"
            remedy = "Raise the limit (`ulimit -f`), then try again."
        case _:
            return ""
    return f"{why} ({reason}). {remedy}"


def is_full(error: OSError) -> bool:
    """Return whether a write failed because the disk is full or a size limit was reached."""
    return error.errno in _FULL


def memory_remedy() -> str:
    """Return the fix for a lack of memory, with the limit of this process if there is one."""
    return memory_limit_text() or "End other notebooks or programs, then try again."


def memory_limit_text() -> str:
    """Describe the memory limit of this process and how to raise it, or return ""."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return ""
    return (
        f"This shell allows {limit / 2**30:.1f} GiB of address space, but DALI needs 4. Raise the "
        "limit (`ulimit -v unlimited`), then try again."
    )


def is_memory_refusal(error: BaseException) -> bool:
    """Return whether an exception means that Python or a loaded library ran out of memory."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    try:
        text = str(error)
    except Exception:  # a user's exception class without a working __str__
        return False
    return reports_out_of_memory(text)


def reports_out_of_memory(text: str) -> bool:
    """Return whether the output of a process or a library means that it ran out of memory."""
    text = text.lower()
    return any(
        words in text
        for words in (
            "failed to map segment",
            "cannot allocate memory",
            "can't start new thread",
            "memoryerror",
            "bad_alloc",
            "want of memory",
        )
    )
