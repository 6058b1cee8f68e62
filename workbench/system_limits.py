"""What the system's refusals mean: full disks, limits of memory, processes and files."""

from __future__ import annotations

import errno
import resource
import tempfile

NO_THREADS = "DALI could not start its threads"
"""How the message begins where the system refuses them."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def describe_refusal(error: OSError) -> str:
    """What a refusal means, and what to do; empty where it is none of the system's limits."""
    reason = error.strerror or str(error)
    match error.errno:
        case errno.EAGAIN:
            why = "the limit of processes or threads is reached"
            remedy = "End other notebooks or programs, or raise it (`ulimit -u`), then try again."
            remedy = f"{remedy} {memory_limit_words()}".rstrip()  # of which threads take much
        case errno.ENOMEM:
            why, remedy = "the memory does not suffice", memory_remedy()
        case errno.EMFILE | errno.ENFILE:
            why = "too many files are open"
            remedy = "End other notebooks or programs, or raise it (`ulimit -n`), then try again."
        case errno.ENOSPC | errno.EDQUOT:
            place = error.filename or tempfile.gettempdir()
            why = f"there is no space left in {place}"
            remedy = "Free some, or set TMPDIR to another folder, then try again."
        case errno.ENOENT if "temporary directory" in reason:  # as ``tempfile`` says
            why = "there is no space for temporary files"
            remedy = (
                "Free some, or set TMPDIR to another folder, or raise the limit of files "
                "(`ulimit -f`), then try again."
            )
        case errno.EFBIG:
            why = f"{error.filename or 'a file'} would be larger than is allowed"
            remedy = "Raise the limit (`ulimit -f`), then try again."
        case _:
            return ""
    return f"{why} ({reason}). {remedy}"


def is_full(error: OSError) -> bool:
    """Whether what was written did not fit."""
    return error.errno in _FULL


def memory_remedy() -> str:
    """What to do where memory is refused: a limit of this process is named."""
    return memory_limit_words() or "End other notebooks or programs, then try again."


def memory_limit_words() -> str:
    """The limit of memory of this process and how to raise it; empty where there is none."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return ""
    return (
        f"This shell allows {limit / 2**30:.1f} GiB of address space, and DALI needs 4: raise it "
        f"(`ulimit -v unlimited`), then try again."
    )


def is_memory_refusal(error: BaseException) -> bool:
    """Whether memory was refused: to Python, or to a library that is loaded."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    try:
        text = str(error)
    except Exception:  # of a class of the user's own, which cannot say what it is
        return False
    return says_memory_refusal(text)


def says_memory_refusal(text: str) -> bool:
    """Whether what a process or a library said means that memory was refused."""
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
