import os
import subprocess
import sys

from formwork_cfn import find_cfn


def main():
    try:
        path = find_cfn()
    except FileNotFoundError as err:
        sys.exit("error: %s" % err)
    arguments = [path] + sys.argv[1:]
    if os.name != "nt":
        os.execv(path, arguments)
    # There is no exec on Windows. Ctrl-C reaches both programs: this one waits for cfn to end.
    process = subprocess.Popen(arguments)
    while True:
        try:
            sys.exit(process.wait())
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
