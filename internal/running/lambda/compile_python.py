"""Compiles the modules below the folder in its argument, and runs none of them.

It prints each module: a line with the lengths of its path and of itself, the path below the
folder, and the module, which Python uses as long as the source is the one it was compiled from.
"""
import importlib.util
import marshal
import os
import sys

MEMORY = 1 << 30  # bytes
SECONDS = 120  # of processor time


def limit():
    """Compiles slowly rather than in the way of functions, and within bounds."""
    if hasattr(os, "nice"):
        os.nice(10)
    try:
        import resource
    except ImportError:
        return  # not on Windows
    for kind, most in (("RLIMIT_AS", MEMORY), ("RLIMIT_CPU", SECONDS), ("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0)):
        try:
            resource.setrlimit(getattr(resource, kind), (most, most))
        except (AttributeError, ValueError, OSError):
            pass


def sources(root):
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.endswith(".py") and os.path.isfile(path) and not os.path.islink(path):
                yield path


def compiled(path):
    with open(path, "rb") as file:
        source = file.read()
    code = compile(source, path, "exec", dont_inherit=True)
    checked = (3).to_bytes(4, "little")  # by the hash of the source, and at each import
    return importlib.util.MAGIC_NUMBER + checked + importlib.util.source_hash(source) + marshal.dumps(code)


def main(root):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    limit()
    for path in sources(root):
        try:
            module = compiled(path)
        except Exception:
            continue  # the function will report it, if it imports this
        name = os.fsencode(os.path.relpath(path, root).replace(os.sep, "/") + "c")
        sys.stdout.buffer.write(b"%d %d\n%s%s" % (len(name), len(module), name, module))
        sys.stdout.buffer.flush()


main(sys.argv[1])
