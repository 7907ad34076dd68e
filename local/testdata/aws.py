"""The AWS CLI for many calls, each of which would import it again. "aws.py serve SOCKET" imports it once and makes each call in a
fork, with the arguments, the variables, the folder and the files of the caller. When its input ends, it removes the folder of the
socket. "aws.py call SOCKET ARGUMENT…" is a caller."""
import os
import socket
import sys
import time


def call(path, arguments):
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        variables = (f"{name}={value}" for name, value in os.environ.items())
        text = os.fsencode("\0".join([os.getcwd(), str(len(arguments)), *arguments, *variables]))
        socket.send_fds(server, [len(text).to_bytes(4, "big")], [0, 1, 2])
        server.sendall(text)
        return (server.recv(1) or b"\xff")[0]


def serve(path):
    import gc
    import select
    import shutil
    import signal

    import botocore.waiter
    from awscli.clidriver import create_clidriver

    botocore.waiter.time = Clock()
    driver = create_clidriver()
    for service in "cloudformation", "s3", "cloudcontrol":
        driver.session.get_service_model(service)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # calls that have ended are not waited for
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    print("ready", flush=True)
    while 0 not in select.select([listener, 0], [], [])[0]:
        caller, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            answer(caller, driver)
        caller.close()
    shutil.rmtree(os.path.dirname(path))


class Clock:
    """The clock of waiters: they look again after 0.2 s and then less often, and not after 5 or 30 s at once."""

    def __init__(self):
        self.pause = 0.2

    def sleep(self, seconds):
        time.sleep(min(seconds, self.pause))
        self.pause *= 1.5


def answer(caller, driver):
    code = 255
    try:
        size, files, _, _ = socket.recv_fds(caller, 4, 3)
        text = caller.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        folder, count, *rest = os.fsdecode(text).split("\0")
        os.environ.clear()
        os.environ.update(variable.split("=", 1) for variable in rest[int(count):])
        os.chdir(folder)
        code = driver.main(rest[:int(count)])
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        caller.send(bytes([code]))
        os._exit(0)


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    sys.exit(call(sys.argv[2], sys.argv[3:]))
