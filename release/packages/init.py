"""The program cfn, as a package. Run it with cfn, or with python -m formwork_cfn."""

import os
import sys
import sysconfig


def find_cfn():
    """Return the path of the program. Raise FileNotFoundError if the package is installed without it."""
    name = "cfn.exe" if os.name == "nt" else "cfn"
    folders = [sysconfig.get_path("scripts")]
    scheme = getattr(sysconfig, "get_preferred_scheme", None)
    if scheme is not None:
        folders.append(sysconfig.get_path("scripts", scheme("user")))
    # "pip install --target DIR" makes DIR/bin beside this package, and --prefix a folder above it.
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders.append(os.path.join(packages, "bin"))
    folders.append(os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(packages))), "bin"))
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(
        "the program cfn is not in %s; install it again: %s -m pip install --force-reinstall formwork-cfn"
        % (" or ".join(folders), sys.executable)
    )
