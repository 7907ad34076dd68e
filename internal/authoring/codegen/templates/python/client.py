# {{.Marker}}
"""Calls the service: HTTP, credentials, pages, errors. api.json has the operations."""

import base64
import hashlib
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from http.client import HTTPException, IncompleteRead
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from botocore.auth import SigV4Auth  # type: ignore
from botocore.awsrequest import AWSRequest  # type: ignore
from cloudformation_cli_python_lib import Resource, SessionProxy, exceptions

from . import wire
from .models import ResourceHandlerRequest, ResourceModel
from .wire import API, Operation, Values

REQUEST_SECONDS = 25  # of a request, within the 30 seconds of READ and LIST
HANDLER_SECONDS = 50  # of all requests of a call, within its 60 seconds
MAX_RESPONSE = 8 << 20  # bytes
RETRIES = 2  # of a read; CloudFormation repeats everything else

Sent = Tuple[Mapping[str, Any], Any]  # a place in the request, and the value there


class PagedResource(Resource):
    """A Resource whose LIST handler gets the nextToken, which the library drops."""

    def _cast_resource_request(self, request: Any) -> Any:
        modelled = super()._cast_resource_request(request)
        modelled.nextToken = request.nextToken
        return modelled


class Client:
    """Calls the service for one request of CloudFormation."""

    def __init__(
        self, session: Optional[SessionProxy], request: ResourceHandlerRequest
    ) -> None:
        configuration = request.typeConfiguration
        self._settings = configuration._serialize() if configuration else {}
        self._session = session
        self._region = self._settings.get("Region") or request.region or ""
        self._deadline = time.monotonic() + HANDLER_SECONDS
        seed = f"{request.clientRequestToken}/{request.logicalResourceIdentifier}"
        digest = hashlib.sha256(seed.encode()).digest()
        # The same in every delivery of the request.
        self.token = str(uuid.UUID(bytes=digest[:16], version=5))
        endpoint = self._settings.get("Endpoint")
        if not endpoint and API["auth"]["kind"] == "sigv4":
            endpoint = os.environ.get("AWS_ENDPOINT_URL")
        endpoint = endpoint or API.get("endpoint", "")
        self._endpoint = endpoint.replace("{Region}", self._region).rstrip("/")
        if not _is_http(self._endpoint):
            raise exceptions.InvalidTypeConfiguration(
                API["typeName"],
                "the endpoint of the service is unknown: set Endpoint to its URL, "
                "which begins with https:// or http://",
            )
        self._opener = urllib.request.build_opener(_SameServer)

    # Operations

    def call(
        self, operation: Operation, values: Values, extra: Iterable[Sent] = ()
    ) -> Values:
        """Calls an operation with properties and returns those of its response."""
        body, headers = self._send(operation, values, extra)
        return wire.receive(operation, body, headers)

    def read(self, values: Values) -> Values:
        """Returns the properties of the resource that the identifiers in values name."""
        named = {name: values[name] for name in API["identifier"] if values.get(name)}
        if len(named) < len(API["identifier"]):
            raise exceptions.NotFound(API["typeName"], identifier_of(values))
        live = {**named, **self.call(API["read"], named)}
        wait = API.get("wait")
        if wait and live.get(wait["property"]) in wait.get("gone", []):
            raise exceptions.NotFound(API["typeName"], identifier_of(values))
        tags = API.get("tags")
        if tags and "list" in tags:
            listed = tags["list"]
            body, _ = self._send(listed["call"], live)
            found = wire.read_tags(wire.dig(body, listed["at"]), listed["form"])
            if found:
                live[tags["property"]] = wire.write_tags(found, tags["form"])
        return properties(model(live))

    def page(
        self, values: Values, token: Optional[str] = None
    ) -> Tuple[List[Values], Optional[str]]:
        """Returns the resources on a page, and the token of the next page."""
        operation = API["list"]
        paging = operation.get("page")
        extra: List[Sent] = []
        if paging:
            if paging["style"] in ("number", "offset"):
                token = str(paging.get("first", 0)) if token is None else token
                if not re.fullmatch("[0-9]{1,15}", token):
                    raise exceptions.InvalidRequest("the token is not one of a list")
                extra.append((paging, int(token)))
            elif token:
                extra.append((paging, token))
            if paging.get("size") and paging.get("count"):
                extra.append((paging["size"], paging["count"]))
        body, _ = self._send(operation, values, extra)
        items = wire.dig(body, operation.get("items", []))
        found = [
            # Items do not repeat the identifiers of their parents.
            {
                **{k: values[k] for k in API["identifier"] if values.get(k)},
                **wire.receive(operation, item),
            }
            for item in (items if isinstance(items, list) else [])
        ]
        following = wire.next_page(paging, body, token, found) if paging else None
        return found, following if following != token else None

    def find(self, desired: Values) -> Optional[Values]:
        """Returns the resource whose unique properties are those of another one."""
        names, token, pages = API["find"]["properties"], None, 0
        while pages < 1000:
            items, token = self.page(desired, token)
            for item in items:
                if all(item.get(name) == desired.get(name) for name in names):
                    return item
            pages += 1
            if token is None:
                return None
        raise exceptions.ServiceInternalError("the list does not end")

    def update(
        self, operation: Operation, desired: Values, before: Values, live: Values
    ) -> bool:
        """Calls an update if it changes something, and reports whether it does."""
        partial = operation.get("partial", False)
        values: Values = {}
        extra: List[Sent] = []
        changes = False
        for entry in operation.get("send", []):
            name = entry["property"]
            changed = name in operation["changes"] and desired.get(name) != before.get(
                name
            )
            if name in API["identifier"]:
                values[name] = live[name]
            elif name in desired:
                changes = changes or changed
                if changed or entry.get("required") or not partial:
                    values[name] = desired[name]
            elif changed and "reset" in entry:
                changes = True
                extra.append((entry, entry["reset"]))
            elif entry.get("required") and name in live:
                values[name] = live[name]
            elif not partial:
                changes = changes or changed
        if changes:
            self._send(operation, values, extra)
        return changes

    def retag(self, desired: Values, live: Values) -> None:
        """Gives the resource the tags of other properties."""
        tags = API["tags"]
        have = wire.read_tags(live.get(tags["property"]), tags["form"])
        want = wire.read_tags(desired.get(tags["property"]), tags["form"])
        gone = {key: value for key, value in have.items() if key not in want}
        new = {key: value for key, value in want.items() if have.get(key) != value}
        for change, some in (tags["untag"], gone), (tags["tag"], new):
            if some:
                place = {"in": change["in"], "at": change["at"]}
                value = wire.write_tags(some, change["form"])
                self._send(change["call"], live, [(place, value)])

    # Requests and responses

    def _send(
        self, operation: Operation, values: Values, extra: Iterable[Sent] = ()
    ) -> Tuple[Any, Mapping[str, str]]:
        reading = operation["method"] == "GET" or any(
            operation is API.get(name) for name in ("read", "list")
        )
        request = self._request(operation, values, extra)
        for attempt in range(RETRIES + 1):
            status, headers, text = self._exchange(operation["name"], request)
            try:
                body = wire.parse(text) if text.strip() else None
            except ValueError:
                if 200 <= status < 300:
                    raise exceptions.ServiceInternalError(
                        f"{operation['name']}: the response is not JSON"
                    ) from None
                body = None
            if 200 <= status < 300:
                return body, headers
            failure = _failure(operation, values, status, headers, body)
            busy = status == 503 or isinstance(failure, exceptions.Throttling)
            delay = _retry_after(headers, 0.2 * (attempt + 1))
            if not (reading and busy and attempt < RETRIES and delay <= 5):
                break
            time.sleep(delay)
        if status == 401:
            _access_tokens.clear()
        raise failure

    def _request(
        self, operation: Operation, values: Values, extra: Iterable[Sent]
    ) -> urllib.request.Request:
        path, body, name = operation["path"], None, operation["name"]
        query: List[Tuple[str, str]] = []
        headers = {"Accept": operation.get("accept", "application/json")}
        sent: List[Sent] = [
            (entry, wire.encode(values[entry["property"]], entry["shape"]))
            for entry in operation.get("send", [])
            if values.get(entry["property"]) is not None
        ]
        if "token" in operation:
            sent.append((operation["token"], self.token))
        for place, value in [*sent, *extra]:
            where, at = place["in"], place["at"]
            items = value if isinstance(value, list) else [value]
            if where == "path":
                path = wire.fill(path, at[0], wire.text_of(value))
            elif where == "query":
                query += [(at[0], wire.text_of(item)) for item in items]
            elif where == "header":
                headers[at[0]] = ",".join(map(wire.text_of, items))
            else:
                body = wire.put(body, at, value)
        if "{" in path:
            raise exceptions.InvalidRequest(
                f"{name}: the request lacks a property for the path {path}"
            )
        data = wire.body_of(operation, body)
        if data is not None:
            headers["Content-Type"] = wire.content_type(operation)
        if "target" in operation:
            headers["X-Amz-Target"] = operation["target"]
        self._authenticate(headers, query)
        url = self._endpoint + path
        if query:
            url += "&" if "?" in path else "?"
            url += urllib.parse.urlencode(query, quote_via=urllib.parse.quote)
        if API["auth"]["kind"] == "sigv4":
            headers = self._sign(operation["method"], url, data, headers)
        if any(not value.isprintable() for value in headers.values()):
            raise exceptions.InvalidRequest(f"{name}: a header cannot have line breaks")
        headers = {k: v.encode().decode("latin-1") for k, v in headers.items()}
        return urllib.request.Request(url, data, headers, method=operation["method"])

    def _exchange(
        self, name: str, request: urllib.request.Request
    ) -> Tuple[int, Mapping[str, str], bytes]:
        """Sends a request and returns the status, the headers and the body."""
        left = self._deadline - time.monotonic()
        deadline = time.monotonic() + min(left, REQUEST_SECONDS)
        text = b""
        try:
            if left <= 0:
                raise TimeoutError("the time of the handler is over")
            try:
                response = self._opener.open(request, timeout=min(left, REQUEST_SECONDS))
            except urllib.error.HTTPError as refusal:
                response = refusal
            with response:
                while chunk := response.read1(1 << 16):
                    text += chunk
                    if len(text) > MAX_RESPONSE:
                        raise exceptions.ServiceInternalError(
                            f"{name}: the response is larger than {MAX_RESPONSE} bytes"
                        )
                    if time.monotonic() > deadline:
                        raise TimeoutError("timed out")
                if getattr(response, "length", None):
                    raise IncompleteRead(text)
                return response.status, response.headers, text
        except (OSError, HTTPException) as problem:
            # Other texts than those of OSError may have the URL, which may have a key.
            reason = getattr(problem, "reason", problem)
            known = reason if isinstance(reason, OSError) else type(problem).__name__
            raise exceptions.NetworkFailure(f"{name}: {known}") from None

    # Credentials

    def _setting(self, *path: str) -> str:
        value = wire.dig(self._settings, path)
        if not value:
            raise exceptions.InvalidCredentials(
                f"set {'.'.join(path)} in the configuration of {API['typeName']}"
            )
        return wire.text_of(value)

    def _authenticate(self, headers: Dict[str, str], query: List[Tuple[str, str]]) -> None:
        auth = API["auth"]
        kind = auth["kind"]
        if kind == "apiKey":
            key = self._setting("ApiKey")
            if auth["in"] == "query":
                query.append((auth["name"], key))
            elif auth["in"] == "cookie":
                headers["Cookie"] = f"{auth['name']}={urllib.parse.quote(key)}"
            else:
                headers[auth["name"]] = key
        elif kind == "bearer":
            headers["Authorization"] = "Bearer " + self._setting("BearerToken")
        elif kind == "basic":
            headers["Authorization"] = _basic(
                self._setting("Basic", "Username"), self._setting("Basic", "Password")
            )
        elif kind == "oauth2":
            headers["Authorization"] = "Bearer " + self._access_token()

    def _access_token(self) -> str:
        """Returns the token of the OAuth client, which is kept until it expires."""
        url = wire.dig(self._settings, ["OAuth", "TokenUrl"]) or API["auth"].get("tokenUrl", "")
        url = urllib.parse.urljoin(self._endpoint + "/", url)
        if not _is_http(url):
            self._setting("OAuth", "TokenUrl of the service")
        client = self._setting("OAuth", "ClientId"), self._setting("OAuth", "ClientSecret")
        scopes = wire.dig(self._settings, ["OAuth", "Scopes"]) or []
        form = {"grant_type": "client_credentials"}
        if scopes:
            form["scope"] = scopes if isinstance(scopes, str) else " ".join(scopes)
        key = (url, *client, form.get("scope", ""))
        token, expires = _access_tokens.get(key, ("", 0.0))
        if time.monotonic() < expires:
            return token
        headers = {"Accept": "application/json", "Authorization": _basic(*client)}
        request = urllib.request.Request(
            url, urllib.parse.urlencode(form).encode(), headers, method="POST"
        )
        status, _, text = self._exchange("the token URL", request)
        try:
            answer = wire.parse(text)
            token = answer["access_token"]
            seconds = float(answer.get("expires_in", 60))
        except (ValueError, TypeError, KeyError, AttributeError):
            token = ""
        if status != 200 or not token or not isinstance(token, str):
            if status in (429, 503):
                raise exceptions.Throttling(f"the token URL: status {status}")
            raise exceptions.InvalidCredentials(
                f"the token URL: status {status} and no token; "
                "check OAuth in the type configuration"
            )
        _access_tokens[key] = token, time.monotonic() + seconds - 30
        return token

    def _sign(
        self, method: str, url: str, data: Optional[bytes], headers: Dict[str, str]
    ) -> Dict[str, str]:
        credentials = self._session and self._session.session.get_credentials()
        if not credentials:
            raise exceptions.InvalidCredentials("the request has no credentials")
        if not self._region:
            self._setting("Region")
        request = AWSRequest(method, url, headers=headers, data=data)
        SigV4Auth(credentials, API["auth"]["service"], self._region).add_auth(request)
        return dict(request.headers.items())


# The access tokens of OAuth clients, and when they expire.
_access_tokens: Dict[Tuple[str, ...], Tuple[str, float]] = {}


class _SameServer(urllib.request.HTTPRedirectHandler):
    """Follows redirects of reads on the same server: others must not see credentials."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore
        old, new = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        if req.get_method() == "GET" and old[:2] == new[:2]:
            return super().redirect_request(req, fp, code, msg, headers, newurl)
        return None


def properties(of: Optional[ResourceModel]) -> Values:
    """Returns the properties of a model."""
    return dict(of._serialize()) if of else {}


def model(values: Values) -> ResourceModel:
    """Returns the model with properties that the service returned."""
    try:
        return ResourceModel._deserialize(values) or ResourceModel()
    except exceptions.InvalidRequest as problem:
        raise exceptions.ServiceInternalError(
            f"the service returned a value that the schema does not allow: {problem}"
        ) from None


def identifier_of(values: Values) -> str:
    """Returns the identifier of a resource as CloudFormation writes it."""
    return "|".join(wire.text_of(values.get(name, "")) for name in API["identifier"])


def _is_http(url: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and url.isprintable()


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _failure(
    operation: Operation, values: Values, status: int, headers: Any, body: Any
) -> Exception:
    """Returns the exception for a response that is an error."""
    members = body if isinstance(body, dict) else {}
    names = [headers.get("X-Amzn-Errortype"), members.get("__type"), members.get("code")]
    name = next((name for name in names if isinstance(name, str) and name), "")
    name = name.rsplit("#")[-1].split(":")[0]
    errors = operation.get("errors", {})
    code = errors.get(name) or errors.get(str(status)) or API["statuses"].get(str(status))
    code = code or ("ServiceInternalError" if status >= 500 else "InvalidRequest")
    if code in ("NotFound", "AlreadyExists"):
        return getattr(exceptions, code)(API["typeName"], identifier_of(values))
    message = f"{operation['name']}: status {status}"
    for member in ("message", "Message", "error", "detail", "title"):
        if isinstance(members.get(member), str):
            message += ": " + members[member][:300]
            break
    return getattr(exceptions, code)(message)


def _retry_after(headers: Any, otherwise: float) -> float:
    value = headers.get("Retry-After", "")
    return float(value) if re.fullmatch("[0-9]{1,6}", value) else otherwise
