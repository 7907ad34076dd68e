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
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from botocore.auth import {{if .API.S3}}S3{{end}}SigV4Auth  # type: ignore
from botocore.awsrequest import AWSRequest  # type: ignore
from cloudformation_cli_python_lib import Resource, SessionProxy, exceptions
from cloudformation_cli_python_lib.interface import BaseModel

from . import wire{{if .API.XML}}, wire_xml{{end}}
from .models import ResourceHandlerRequest, ResourceModel
from .wire import API, Operation, Values, identifier_of

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


def properties(of: Optional[BaseModel]) -> Values:
    """Returns the properties of a model."""
    return dict(of._serialize()) if of else {}


def model(values: Values) -> ResourceModel:
    """Returns the model with properties that the service returned."""
    try:
        return ResourceModel._deserialize(values) or ResourceModel()
    except exceptions.InvalidRequest as problem:
        raise exceptions.GeneralServiceException(
            f"the service returned a value that the schema does not allow: {problem}"
        ) from None


def identified(values: Values) -> Values:
    """Returns the properties of the identifier, all of them."""
    for name in API["identifier"]:
        if not values.get(name):
            raise exceptions.GeneralServiceException(
                f"{API['create']['name']} returned no {name}"
            )
    return {name: values[name] for name in API["identifier"]}


def with_stack_tags(values: Values, request: ResourceHandlerRequest) -> Values:
    """Returns properties with the tags of the stack beside their own."""
    name, form = API["tags"]["property"], API["tags"]["form"]
    own = wire.read_tags(values.get(name), form)
    tags = {**(request.desiredResourceTags or {}), **own}
    return {**values, name: wire.write_tags(tags, form)} if tags else values


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
        self._token_key: Tuple[str, ...] = ()
        seed = f"{request.clientRequestToken}/{request.logicalResourceIdentifier}"
        digest = hashlib.sha256(seed.encode()).digest()
        # The same in every delivery of the request.
        self.token = str(uuid.UUID(bytes=digest[:16], version=5))
        endpoint = self._settings.get("Endpoint")
        if not endpoint and API["auth"]["kind"] == "sigv4":
            endpoint = os.environ.get("AWS_ENDPOINT_URL")
{{- if .API.Host}}
        self._prefixed = not endpoint  # operations have hosts below that of the API
{{- end}}
        endpoint = endpoint or API.get("endpoint", "")
        self._endpoint = endpoint.replace("{Region}", self._region).rstrip("/")
        if not _is_http(self._endpoint):
            raise exceptions.InvalidTypeConfiguration(
                API["typeName"],
                "the endpoint of the service is unknown: "
                "set Endpoint in the type configuration to its http or https URL",
            )
        self._opener = urllib.request.build_opener(_NoRedirects)

    # Operations

    def call(self, operation: Operation, values: Values) -> Values:
        """Calls an operation with properties and returns those of its response."""
{{- if .API.Among}}
        if operation.get("among"):
            return self._selected(operation, values)
{{- end}}
        body, headers = self._send(operation, values)
        return _receive(operation, body, headers)

    def read(self, values: Values) -> Values:
        """Returns the properties of a resource by its identifier."""
        operation = API["read"]
        named = {name: values[name] for name in API["identifier"] if values.get(name)}
        if len(named) < len(API["identifier"]) or not wire.possible(operation, named):
            raise exceptions.NotFound(API["typeName"], identifier_of(values))
        live = {**named, **self.call(operation, named)}
        if _is_gone(live):
            raise exceptions.NotFound(API["typeName"], identifier_of(values))
        tags = API.get("tags", {})
        if "list" in tags:
            listing = tags["list"]
            body, _ = self._send(listing["call"], live)
            listed = wire.dig(body, listing["at"])
            found = wire.read_tags({{if .API.XML}}wire_xml.elements(listed){{else}}listed{{end}}, listing["form"])
            if found:
                live[tags["property"]] = wire.write_tags(found, tags["form"])
        return properties(model(live))

{{- if .API.Among}}

    def _selected(self, operation: Operation, values: Values) -> Values:
        """Returns the properties of the resource that is meant, among several."""
        named = {name: values[name] for name in API["identifier"] if values.get(name)}
        token = None
        while True:
            items, token = self.page(values, token, operation)
            for found in items:
                if all(found.get(name) == value for name, value in named.items()):
                    return found
            if token is None:
                raise exceptions.NotFound(API["typeName"], identifier_of(values))
{{- end}}

    def page(
        self,
        values: Values,
        token: Optional[str] = None,
        operation: Optional[Operation] = None,
    ) -> Tuple[List[Values], Optional[str]]:
        """Returns the resources on a page of the list, and the next token."""
        operation = operation or API["list"]
        paging = operation.get("page")
        extra: List[Sent] = []
        if paging:
            if paging["style"] == "number" and not token:
                token = str(paging.get("first", 0))
            if token:
                extra.append((paging, wire.page_token(paging, token)))
            if "size" in paging:
                extra.append((paging["size"], paging["count"]))
        body, _ = self._send(operation, values, extra)
        # Items do not repeat the identifiers of their parents.
        parents = {name: values[name] for name in API["identifier"] if name in values}
        items = [_receive(operation, item, {}) for item in _items(operation, body)]
        found = [{**parents, **item} for item in items]
        following = wire.next_page(paging, body, token, found) if paging else None
        live = [item for item in found if not _is_gone(item)]
        return live, following if following != token else None

    def find(self, desired: Values, names: Iterable[str]) -> Iterator[Values]:
        """Returns the resources of the list with the same values of some properties."""
        token = None
        while True:
            items, token = self.page(desired, token)
            for item in items:
                if any(name not in item for name in names):
                    try:
                        item = self.read(item)  # the list is shorter than the resource
                    except exceptions.NotFound:
                        continue
                if all(item.get(name) == desired.get(name) for name in names):
                    yield item
            if token is None:
                return

    def update(
        self, operation: Operation, desired: Values, before: Values, live: Values
    ) -> bool:
        """Calls an update if properties that it sets differ from those before."""
        partial = operation.get("partial", False)
        keeps = operation["method"] != "PUT" or API["protocol"] != "openapi"
        merges = "merge-patch" in operation.get("contentType", "")
        values = {name: live[name] for name in API["identifier"]}
        on_wire: Values = {}
        called = False
        for entry in operation["send"]:
            name = entry["property"]
            if name in API["identifier"]:
                continue
            if entry.get("live"):
                values[name] = live.get(name)
                continue
            changed = name in operation["changes"]
            changed = changed and desired.get(name) != before.get(name)
            if name not in desired and changed and partial:
                changed = "reset" in entry
            called = called or changed
            if name in desired and changed and merges and name in before:
                value = wire.encode(desired[name], entry["shape"])
                old = wire.encode(before[name], entry["shape"])
                on_wire[name] = wire.merge_patch(value, old)
            elif name in desired and (changed or entry.get("required") or not partial):
                values[name] = desired[name]
            elif changed and "reset" in entry and (keeps or entry.get("required")):
                on_wire[name] = entry["reset"]
            elif entry.get("required"):
                values[name] = live.get(name)
        if called:
            self._send(operation, values, on_wire=on_wire)
        return called

    def retag(self, live: Values, desired: Values) -> None:
        """Gives the resource the tags of other properties."""
        tags = API["tags"]
        have = wire.read_tags(live.get(tags["property"]), tags["form"])
        want = wire.read_tags(desired.get(tags["property"]), tags["form"])
        gone = {key: value for key, value in have.items() if key not in want}
        new = {key: value for key, value in want.items() if have.get(key) != value}
        for change, some in (tags["untag"], gone), (tags["tag"], new):
            if some:
                value = wire.write_tags(some, change["form"])
                self._send(change["call"], live, [(change, value)])

    # Requests and responses

    def _send(
        self,
        operation: Operation,
        values: Values,
        extra: Iterable[Sent] = (),
        on_wire: Optional[Values] = None,
    ) -> Tuple[Any, Mapping[str, str]]:
        """Sends a request and returns the body and the headers of the response.

        on_wire are properties that are encoded already.
        """
        name, reading = operation["name"], operation["method"] == "GET"
        reading = reading or operation is API["read"] or operation is API.get("list")
        on_wire = on_wire or {}
        sent: List[Sent] = []
        for entry in operation.get("send", []):  # in the order of the API
            prop = entry["property"]
            if prop in on_wire:
                sent.append((entry, on_wire[prop]))
            elif values.get(prop) is not None:
                sent.append((entry, wire.encode(values[prop], entry["shape"])))
        sent += [(fixed, fixed["value"]) for fixed in operation.get("fixed", [])]
        if "token" in operation:
            sent.append((operation["token"], self.token))
        sent += extra
        for attempt in range(RETRIES + 1):
            request = self._request(operation, sent)
            status, headers, text = self._exchange(name, request)
            if status == 401 and self._forget_token():
                request = self._request(operation, sent)
                status, headers, text = self._exchange(name, request)
            try:
                body = wire{{if .API.XML}}_xml{{end}}.parse(text) if text.strip() else None
            except ValueError:
                if status < 300 and operation is not API["delete"]:
                    raise exceptions.GeneralServiceException(
                        f"{name}: the response is not {{if .API.XML}}XML{{else}}JSON{{end}}"
                    ) from None
                body = None
            if status < 300:
                return {{if .API.Query}}wire.dig(body, [operation["result"]]){{else}}body{{end}}, headers
            secrets = self._secrets(sent, request)
            failure = wire.failure(operation, values, status, headers, body, secrets)
            busy = status == 503 or isinstance(failure, exceptions.Throttling)
            delay = wire.retry_after(headers) or 0.2 * (attempt + 1)
            if not (reading and busy and attempt < RETRIES and delay <= 5):
                break
            time.sleep(delay)
        raise failure

    def _request(
        self, operation: Operation, sent: List[Sent]
    ) -> urllib.request.Request:
        name, method, path = operation["name"], operation["method"], operation["path"]
        query: List[Tuple[str, str]] = []
        headers = {"Accept": {{if .API.XML}}"application/xml"{{else}}operation.get("accept", "application/json"){{end}}}
{{- if .API.Host}}
        host = operation.get("host", "")
{{- end}}
{{- if .API.XML}}
        body = None
{{- else}}
        body = {operation["envelope"]: {}} if "envelope" in operation else None
{{- end}}
        for place, value in sent:
            where, at = place["in"], place["at"]
            if where == "body":
{{- if .API.XML}}
                value = wire_xml.tree_of(value, place.get("shape", wire.ANY))
{{- end}}
                body = wire.put(body, at, value)
                continue
            items = value if isinstance(value, list) else [value]
            texts = list(map(wire.text_of, items))
            if where == "path":
                path = wire.fill(path, at[0], texts[0])
{{- if .API.Host}}
            elif where == "host":
                host = wire.fill_host(operation, host, at[0], texts[0])
{{- end}}
            elif where == "query":
                query += [(at[0], text) for text in texts]
            else:
                headers[at[0]] = ",".join(texts)
        if "{" in path{{if .API.Host}} + host{{end}}:
            raise exceptions.InvalidRequest(f"{name}: a property of {path} is missing")
        data = wire{{if .API.XML}}_xml{{end}}.body_of(operation, body)
        if data is not None:
            headers["Content-Type"] = wire{{if .API.XML}}_xml{{end}}.content_type(operation)
        if "target" in operation:
            headers["X-Amz-Target"] = operation["target"]
        self._authenticate(headers, query)
        url = self._endpoint + path
{{- if .API.Host}}
        if self._prefixed:
            url = url.replace("://", f"://{host}", 1)
{{- end}}
        if query:
            url += "&" if "?" in path else "?"
            url += urllib.parse.urlencode(query, quote_via=urllib.parse.quote)
        if API["auth"]["kind"] == "sigv4":
            headers = self._sign(method, url, data, headers)
        for header, text in headers.items():
            if re.search("[\\x00-\\x1f\\x7f-\\x9f]", text):
                raise exceptions.InvalidRequest(
                    f"{name}: the header {header} cannot have line breaks "
                    "or other control characters"
                )
        headers = {k: text.encode().decode("latin-1") for k, text in headers.items()}
        return urllib.request.Request(url, data, headers, method=method)

    def _exchange(
        self, name: str, request: urllib.request.Request
    ) -> Tuple[int, Mapping[str, str], bytes]:
        """Sends a request and returns the status, the headers and the body."""
        seconds = min(REQUEST_SECONDS, self._deadline - time.monotonic())
        deadline = time.monotonic() + seconds
        text = b""
        try:
            if seconds <= 0:
                raise TimeoutError("timed out")
            try:
                response = self._opener.open(request, timeout=seconds)
            except urllib.error.HTTPError as refused:
                response = refused
            with response:
                while chunk := response.read1(1 << 16):
                    text += chunk
                    if len(text) > MAX_RESPONSE:
                        raise exceptions.GeneralServiceException(
                            f"{name}: the response is larger than {MAX_RESPONSE} bytes"
                        )
                    if time.monotonic() > deadline:
                        raise TimeoutError("timed out")
                if getattr(response, "length", None):
                    raise IncompleteRead(text)
                return response.status, response.headers, text
        except (OSError, HTTPException) as problem:
            # The texts of other errors may have the URL, which may have a key.
            cause = getattr(problem, "reason", problem)
            reason = cause if isinstance(cause, OSError) else type(problem).__name__
            raise exceptions.NetworkFailure(f"{name}: {reason}") from None

    # Credentials

    def _setting(self, *path: str) -> str:
        value = wire.dig(self._settings, path)
        if not value:
            raise exceptions.InvalidCredentials(
                f"the type configuration has no {'.'.join(path)}: "
                "set it with SetTypeConfiguration"
            )
        return wire.text_of(value)

    def _authenticate(
        self, headers: Dict[str, str], query: List[Tuple[str, str]]
    ) -> None:
        auth = API["auth"]
        for key in auth.get("keys", []):
            value = self._setting(key["property"])
            if key["in"] == "query":
                query.append((key["name"], value))
            elif key["in"] == "cookie":
                others = headers.get("Cookie", "")
                headers["Cookie"] = f"{others}; {key['name']}={value}".lstrip("; ")
            else:
                headers[key["name"]] = value
        if auth["kind"] == "bearer":
            headers["Authorization"] = "Bearer " + self._setting("BearerToken")
        elif auth["kind"] == "basic":
            user = self._setting("Basic", "Username")
            headers["Authorization"] = _basic(user, self._setting("Basic", "Password"))
        elif auth["kind"] == "oauth2":
            headers["Authorization"] = "Bearer " + self._access_token()

    def _access_token(self) -> str:
        """Returns the token for the OAuth client, which is kept until it expires."""
        name = "request an access token"
        client = self._setting("OAuth", "ClientId")
        secret = self._setting("OAuth", "ClientSecret")
        options = self._settings["OAuth"]
        url = options.get("TokenUrl") or API["auth"].get("tokenUrl", "")
        url = urllib.parse.urljoin(self._endpoint + "/", url)
        if not _is_http(url):
            raise exceptions.InvalidCredentials(f"{name}: OAuth.TokenUrl is not a URL")
        form = {"grant_type": "client_credentials"}
        if options.get("Scopes"):
            form["scope"] = options["Scopes"]
        self._token_key = key = (url, client, secret, form.get("scope", ""))
        token, expires = _access_tokens.get(key, ("", 0.0))
        if time.monotonic() < expires:
            return token
        headers = {
            "Accept": "application/json",
            "Authorization": _basic(*map(urllib.parse.quote_plus, (client, secret))),
        }
        data = urllib.parse.urlencode(form).encode()
        request = urllib.request.Request(url, data, headers, method="POST")
        status, _, text = self._exchange(name, request)
        if status >= 500:
            raise exceptions.ServiceInternalError(f"{name}: status {status}")
        try:
            answer = wire.parse(text)
            token, seconds = answer["access_token"], float(answer.get("expires_in", 60))
        except (ValueError, TypeError, KeyError, AttributeError):
            token, seconds = "", 0
        if status != 200 or not token:
            raise exceptions.InvalidCredentials(f"{name}: status {status}, no token")
        _access_tokens[key] = token, time.monotonic() + min(seconds, 86400) - 30
        return token

    def _forget_token(self) -> bool:
        """Drops an access token that the service refuses, if there was one."""
        return _access_tokens.pop(self._token_key, None) is not None

    def _secrets(self, sent: List[Sent], request: urllib.request.Request) -> List[str]:
        """Returns what messages must not repeat: credentials, and secret values."""
        paths = ["BearerToken", "Basic.Password", "OAuth.ClientSecret"]
        keys = API["auth"].get("keys", [])
        paths += [key["property"] for key in keys if key.get("secret")]
        secrets = [wire.dig(self._settings, path.split(".")) for path in paths]
        secrets.append(request.get_header("Authorization", "").partition(" ")[2])
        secrets.append(request.get_header("X-amz-security-token"))
        for place, value in sent:
            if place.get("property") not in API["identifier"]:
                shape, secret = place.get("shape", wire.ANY), place.get("secret", False)
                secrets += wire.secrets_in(value, shape, secret)
        return [text for text in secrets if isinstance(text, str) and text]

    def _sign(
        self, method: str, url: str, data: Optional[bytes], headers: Dict[str, str]
    ) -> Dict[str, str]:
        credentials = self._session and self._session.session.get_credentials()
        if not credentials:
            raise exceptions.InvalidCredentials(
                "the request has no AWS credentials: the type needs an execution role"
            )
{{- if .API.S3}}
        if data is not None:  # S3 refuses some requests without it
            digest = base64.b64encode(hashlib.md5(data).digest())
            headers = {**headers, "Content-MD5": digest.decode()}
{{- end}}
        request = AWSRequest(method, url, headers=headers, data=data)
        {{if .API.S3}}S3{{end}}SigV4Auth(credentials, API["auth"]["service"], self._region).add_auth(request)
        return dict(request.headers.items())


# The access tokens of OAuth clients, and when they expire.
_access_tokens: Dict[Tuple[str, ...], Tuple[str, float]] = {}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirects: they could take the credentials to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _is_http(url: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return False
    known = parts.scheme in ("http", "https") and bool(parts.hostname)
    return known and url.isprintable() and " " not in url


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _items(operation: Operation, body: Any) -> List[Any]:
    """Returns the items in a body."""
    items = wire.dig(body, operation.get("items", []))
    return {{if .API.XML}}wire_xml.elements(items){{else}}items if isinstance(items, list) else []{{end}}


def _receive(operation: Operation, body: Any, headers: Mapping[str, str]) -> Values:
    """Returns the properties in a response."""
    values: Values = {}
    for entry in operation.get("receive", []):
        value = wire.dig(body, entry["at"])
{{- if .API.ETag}}
        if entry["in"] == "header":
            value = headers.get(entry["at"][0])
{{- end}}
{{- if .API.XML}}
        value = wire_xml.value_of(value, entry["shape"])
{{- end}}
        value = wire.decode(value, entry["shape"])
        if value is not None:
            values.setdefault(entry["property"], value)
    return values


def _is_gone(live: Values) -> bool:
    """Reports whether the service still shows a resource that was deleted."""
    wait = API.get("wait", {})
    return "gone" in wait and live.get(wait["property"]) in wait["gone"]
