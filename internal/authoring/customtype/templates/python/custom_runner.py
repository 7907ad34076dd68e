"""Runs one request to the code of a custom resource in a process of its own, and takes the response that it sends.

The folder with the code is the first argument; the request is on the standard input. What the code prints is the log.
"""
import http.server
import importlib
import json
import os
import socket
import socketserver
import ssl
import sys
import threading
import time
import traceback

MAX_RESPONSE = 4096  # bytes
order = json.load(sys.stdin)
event = order["event"]
responses = []
arrived = threading.Event()


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes the response in the place of CloudFormation."""

    def do_PUT(self):
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), MAX_RESPONSE + 1))
        responses.append(body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        arrived.set()

    def log_message(self, format, *args):
        pass


class Server(socketserver.ThreadingTCPServer):
    """A server of HTTP that looks up no name of this machine."""

    daemon_threads = True


server = Server(("127.0.0.1", 0), Receiver)
receiver = threading.Thread(target=server.serve_forever, daemon=True)
receiver.start()

# Code sends by https, or to port 443, whatever the URL says: all connections to this address lead to the receiver.
ADDRESS = "127.77.77.77"
event["ResponseURL"] = "http://%s:%d/response?to=receiver" % (ADDRESS, server.server_address[1])
connect, wrap_socket = socket.socket.connect, ssl.SSLContext.wrap_socket


def connect_receiver(self, address):
    return connect(self, server.server_address if address[0] == ADDRESS else address)


def wrap_others(self, sock, *args, **keywords):
    """Leaves connections to the receiver without TLS."""
    if sock.getpeername()[:2] == server.server_address[:2]:
        return sock
    return wrap_socket(self, sock, *args, **keywords)


socket.socket.connect, ssl.SSLContext.wrap_socket = connect_receiver, wrap_others


class Context:
    """The context of an invocation."""

    def __init__(self):
        self.end = time.monotonic() + order["seconds"]
        self.aws_request_id = event["RequestId"]
        self.invoked_function_arn = order["token"]
        self.function_name = os.environ.get("AWS_LAMBDA_FUNCTION_NAME") or order["token"].split(":")[-1]
        self.function_version = "$LATEST"
        self.memory_limit_in_mb = os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE") or "256"
        self.log_group_name = os.environ.get("AWS_LAMBDA_LOG_GROUP_NAME") or "/aws/lambda/" + self.function_name
        # Libraries make the PhysicalResourceId of it: that of a resource stays.
        self.log_stream_name = event.get("PhysicalResourceId") or "%s-%s" % (event["LogicalResourceId"], event["RequestId"][:12])
        self.identity = self.client_context = None

    def get_remaining_time_in_millis(self):
        return max(0, int(1000 * (self.end - time.monotonic())))


def prepare_crhelper():
    """Lets crhelper poll by calls of the handler, and not by rules of EventBridge."""
    try:
        from crhelper import CfnResource
    except ImportError:
        return

    def setup(self):
        self._event.update(
            CrHelperData=self.Data, CrHelperPoll=True, CrHelperPermission="none", CrHelperRule="arn:aws:events:::rule/none"
        )

    def remove(self):
        self._event.pop("CrHelperData", None)
        self.Data.pop("PhysicalResourceId", None)

    CfnResource._setup_polling, CfnResource._remove_polling = setup, remove
    CfnResource._wait_for_cwlogs = lambda self, *args, **keywords: None


def run():
    """Calls the code and returns its response."""
    sys.path.insert(0, sys.argv[1])
    os.chdir(sys.argv[1])
    prepare_crhelper()
    module, _, name = order["function"].rpartition(".")
    function = getattr(importlib.import_module(module.replace("/", ".")), name)
    returned = function(event, Context())
    if event["RequestType"] == "Read":
        return {"Status": "SUCCESS", "Data": returned}
    if not responses and event.get("CrHelperPoll"):
        poll = {key: value for key, value in event.items() if key.startswith("CrHelper")}
        identifier = (event.get("CrHelperData") or {}).get("PhysicalResourceId")
        return {"Status": "PENDING", "Poll": poll, "PhysicalResourceId": identifier}
    if not responses and isinstance(returned, dict) and returned.get("Status") in (None, "SUCCESS"):
        # Code for a framework returns what it would send, and raises what fails.
        identifier = returned.get("PhysicalResourceId") or event.get("PhysicalResourceId") or event["RequestId"]
        return {"Status": "SUCCESS", "PhysicalResourceId": identifier, "Data": returned.get("Data")}
    end = time.monotonic() + order["seconds"]
    while not responses and time.monotonic() < end and others():
        arrived.wait(0.05)
    return response()


def others():
    """Reports whether a thread is left that may send the response."""
    return any(thread not in (receiver, threading.main_thread()) for thread in threading.enumerate())


def response():
    """Returns the response that was sent."""
    if not responses:
        return {"Status": "FAILED", "Reason": "the code of the custom resource sent no response"}
    body = responses[0]
    if len(body) > MAX_RESPONSE:
        return {"Status": "FAILED", "Reason": "Response object is too long."}
    try:
        sent = json.loads(body)
    except ValueError:
        sent = None
    if not isinstance(sent, dict) or sent.get("Status") not in ("SUCCESS", "FAILED"):
        return {"Status": "FAILED", "Reason": "the code of the custom resource sent a response without a Status"}
    if sent["Status"] == "SUCCESS" and not isinstance(sent.get("PhysicalResourceId"), str):
        return {"Status": "FAILED", "Reason": "Vendor response doesn't contain PhysicalResourceId key"}
    return sent


try:
    answer = run()
except BaseException as error:  # also what ends the process
    traceback.print_exc()
    answer = response() if responses else {"Status": "FAILED", "Reason": "%s: %s" % (type(error).__name__, error)}
with open(order["result"], "w", encoding="utf-8") as file:
    json.dump(answer, file)
sys.stdout.flush()
os._exit(0)  # threads of the code do not keep the process
