"""Runs a Lambda handler written in Python: the client of the Runtime API.

It does what the service's own runtime does, with the standard library alone, for every
Python from 3.6 on. The handler is _HANDLER in LAMBDA_TASK_ROOT.
"""
import decimal
import http.client
import importlib
import json
import logging
import os
import sys
import time
import traceback

API = "/2018-06-01/runtime/"


class CognitoIdentity(object):
    __slots__ = ["cognito_identity_id", "cognito_identity_pool_id"]

    def __init__(self, document):
        self.cognito_identity_id = document.get("cognitoIdentityId")
        self.cognito_identity_pool_id = document.get("cognitoIdentityPoolId")

    def __repr__(self):
        return "CognitoIdentity([cognito_identity_id=%s,cognito_identity_pool_id=%s])" % (
            self.cognito_identity_id,
            self.cognito_identity_pool_id,
        )


class Client(object):
    __slots__ = ["installation_id", "app_title", "app_version_name", "app_version_code", "app_package_name"]

    def __init__(self, document):
        for name in self.__slots__:
            setattr(self, name, document.get(name))


class ClientContext(object):
    __slots__ = ["custom", "env", "client"]

    def __init__(self, document):
        self.custom = document.get("custom")
        self.env = document.get("env")
        client = document.get("client")
        self.client = Client(client) if client else None


class LambdaContext(object):
    def __init__(self, headers):
        env = os.environ
        self.aws_request_id = headers.get("Lambda-Runtime-Aws-Request-Id")
        self.invoked_function_arn = headers.get("Lambda-Runtime-Invoked-Function-Arn")
        self.function_name = env.get("AWS_LAMBDA_FUNCTION_NAME")
        self.function_version = env.get("AWS_LAMBDA_FUNCTION_VERSION")
        self.memory_limit_in_mb = env.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
        self.log_group_name = env.get("AWS_LAMBDA_LOG_GROUP_NAME")
        self.log_stream_name = env.get("AWS_LAMBDA_LOG_STREAM_NAME")
        self._epoch_deadline_time_in_ms = int(headers.get("Lambda-Runtime-Deadline-Ms") or 0)
        client = document_of(headers.get("Lambda-Runtime-Client-Context"))
        self.client_context = ClientContext(client) if client else None
        self.identity = CognitoIdentity(document_of(headers.get("Lambda-Runtime-Cognito-Identity")) or {})

    def get_remaining_time_in_millis(self):
        return max(self._epoch_deadline_time_in_ms - int(time.time() * 1000), 0)

    def log(self, message):
        sys.stdout.write(str(message))

    def __repr__(self):
        return "LambdaContext([aws_request_id=%s,function_name=%s,invoked_function_arn=%s])" % (
            self.aws_request_id,
            self.function_name,
            self.invoked_function_arn,
        )


def document_of(header):
    return json.loads(header) if header else None


class LogHandler(logging.Handler):
    """Prints what is logged in the service's form."""

    request_id = ""

    def emit(self, record):
        try:
            record.aws_request_id = LogHandler.request_id
            sys.stdout.write(self.format(record))
        except Exception:
            self.handleError(record)


class Failure(Exception):
    """What is reported instead of a reply."""

    def __init__(self, kind, message, trace=None):
        Exception.__init__(self, message)
        self.kind = kind
        self.trace = trace or []


class RuntimeAPI(object):
    """The Runtime API over one connection, which is made again when it is lost."""

    def __init__(self, address):
        self.address = address
        self.connection = None

    def call(self, method, path, body=None, headers=None):
        for attempt in (1, 2):
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.address)
                attempt = 2
            try:
                self.connection.request(method, API + path, body, headers or {})
                response = self.connection.getresponse()
                return response, response.read()
            except (http.client.HTTPException, OSError):
                self.connection.close()
                self.connection = None
                if attempt == 2:
                    raise

    def next(self):
        response, body = self.call("GET", "invocation/next")
        if response.status != 200:
            raise RuntimeError("the runtime API answered %d: %s" % (response.status, body.decode("utf-8", "replace")))
        return response.headers, body

    def report(self, path, failure, request_id=""):
        document = {
            "errorMessage": str(failure),
            "errorType": failure.kind,
            "requestId": request_id,
            "stackTrace": failure.trace,
        }
        body = json.dumps(document).encode("utf-8")
        headers = {"Content-Type": "application/json", "Lambda-Runtime-Function-Error-Type": failure.kind}
        self.call("POST", path, body, headers)


def find(reference):
    """Returns the function that "folder/module.function" names."""
    if "." not in reference:
        raise Failure("Runtime.MalformedHandlerName", "Bad handler '%s': not enough values to unpack (expected 2, got 1)" % reference)
    name, function = reference.rsplit(".", 1)
    if name.split(".")[0] in sys.builtin_module_names:
        raise Failure(
            "Runtime.BuiltInModuleConflict",
            "Cannot use built-in module %s as a handler module" % name,
        )
    try:
        module = importlib.import_module(name.replace("/", "."))
    except ImportError as error:
        message = "Unable to import module '%s': %s" % (name, error)
        if error.name in ("boto3", "botocore"):
            message += "; Lambda provides it, here it must be installed: %s -m pip install boto3" % sys.executable
        raise Failure("Runtime.ImportModuleError", message, frames(error))
    except SyntaxError as error:
        trace = ["  File \"%s\" Line %s\n    %s" % (error.filename, error.lineno, error.text)]
        raise Failure("Runtime.UserCodeSyntaxError", "Syntax error in module '%s': %s" % (name, error), trace)
    except Exception as error:
        raise Failure(type(error).__name__, str(error), frames(error))
    found = getattr(module, function, None)
    if not callable(found):
        raise Failure("Runtime.HandlerNotFound", "Handler '%s' missing on module '%s'" % (function, name))
    return found


def frames(error):
    """The lines of a traceback, without those of this file and of the import machinery."""
    kept = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame[0] != __file__ and not frame[0].startswith("<frozen importlib") and "/importlib/" not in frame[0]
    ]
    return traceback.format_list(kept)


def show(failure):
    """Prints a failure as the service does."""
    text = "[ERROR] %s: %s\n" % (failure.kind, failure)
    if failure.trace:
        text += "Traceback (most recent call last):\n" + "".join(failure.trace)
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def encode(value):
    def other(value):
        if isinstance(value, decimal.Decimal):
            return float(value)
        raise TypeError("Object of type %s is not JSON serializable" % type(value).__name__)

    try:
        return json.dumps(value, default=other).encode("utf-8")
    except Exception as error:
        raise Failure("Runtime.MarshalError", "Unable to marshal response: %s" % error)


def handle(handler, headers, body):
    try:
        event = json.loads(body.decode("utf-8"))
    except Exception as error:
        raise Failure("Runtime.UnmarshalError", "Unable to unmarshal input: %s" % error)
    try:
        result = handler(event, LambdaContext(headers))
    except Exception as error:
        raise Failure(type(error).__name__, str(error), frames(error))
    return encode(result)


def prepare():
    """Makes the interpreter look as it does at the service."""
    root = os.environ["LAMBDA_TASK_ROOT"]
    sys.path[0] = root  # instead of the folder of this file
    os.chdir(root)
    logs = LogHandler()
    form = logging.Formatter(
        "[%(levelname)s]\t%(asctime)s.%(msecs)03dZ\t%(aws_request_id)s\t%(message)s\n", "%Y-%m-%dT%H:%M:%S"
    )
    form.converter = time.gmtime
    logs.setFormatter(form)
    logging.getLogger().addHandler(logs)


def explain_unsent():
    """Prints what a handler returned that the official library cannot send: it answers InternalFailure without a word."""
    library = sys.modules.get("cloudformation_cli_python_lib.utils")
    interface = sys.modules.get("cloudformation_cli_python_lib.interface")
    if not hasattr(library, "KitchenSinkEncoder") or not hasattr(interface, "ProgressEvent"):
        return

    def explained(usual, why):
        def call(self, *args):
            try:
                return usual(self, *args)
            except Exception as error:
                what = why(self) or "what cannot be sent: %s: %s" % (type(error).__name__, error)
                sys.stdout.write("the handler returned %s\n" % what)
                raise

        return call

    event, encoder = interface.ProgressEvent, library.KitchenSinkEncoder
    event._serialize = explained(event._serialize, lambda self: wrong_member(interface, self))
    encoder.default = explained(encoder.default, lambda _: "")


def wrong_member(interface, event):
    """Names the member of a ProgressEvent that has the wrong type, without the values of a model."""
    code, status = getattr(event, "errorCode", None), getattr(event, "status", None)
    if code and not isinstance(code, interface.HandlerErrorCode):
        return "the error code %r, which is not a HandlerErrorCode" % (code,)
    if not isinstance(status, interface.OperationStatus):
        return "the status %r, which is not an OperationStatus" % (status,)
    for model in [event.resourceModel] + list(event.resourceModels or []):
        if model and not hasattr(model, "_serialize"):
            return "a model of the type %s instead of a ResourceModel" % type(model).__name__
    return ""


def use_compiled(root, folder):
    """Uses the compiled modules in a folder for the sources below another one. Where none is, Python does what it does."""
    machinery = importlib._bootstrap_external
    usual = machinery.cache_from_source
    prefix = os.path.join(root, "")

    def cache_from_source(path, *args, **options):
        if path.startswith(prefix):
            compiled = os.path.join(folder, path[len(prefix) :] + "c")
            if os.path.exists(compiled):
                return compiled
        return usual(path, *args, **options)

    machinery.cache_from_source = cache_from_source


def await_debugger(address):
    """Waits until a debugger has attached and set its breakpoints."""
    import debugpy

    host, port = address.rsplit(":", 1)
    debugpy.listen((host, int(port)))
    sys.stdout.write("Listening for debugpy at %s\n" % address)
    sys.stdout.flush()
    debugpy.wait_for_client()


def main():
    if os.environ.get("FORMWORK_DEBUGPY"):
        await_debugger(os.environ.pop("FORMWORK_DEBUGPY"))
    api = RuntimeAPI(os.environ["AWS_LAMBDA_RUNTIME_API"])
    prepare()
    compiled = os.environ.pop("FORMWORK_COMPILED", None)
    if compiled and not sys.flags.optimize:
        use_compiled(os.environ["LAMBDA_TASK_ROOT"], compiled)
    try:
        handler = find(os.environ["_HANDLER"])
    except Failure as failure:
        show(failure)
        api.report("init/error", failure)
        sys.exit(1)
    explain_unsent()
    while True:
        try:
            headers, body = api.next()
        except (OSError, http.client.HTTPException):
            sys.exit(1)  # the program that started this one is gone
        request_id = headers.get("Lambda-Runtime-Aws-Request-Id")
        LogHandler.request_id = request_id
        trace = headers.get("Lambda-Runtime-Trace-Id")
        if trace:
            os.environ["_X_AMZN_TRACE_ID"] = trace
        try:
            reply = handle(handler, headers, body)
        except Failure as failure:
            show(failure)
            api.report("invocation/%s/error" % request_id, failure, request_id)
            continue
        sys.stdout.flush()
        sys.stderr.flush()
        api.call("POST", "invocation/%s/response" % request_id, reply, {"Content-Type": "application/json"})


if __name__ == "__main__":
    main()
