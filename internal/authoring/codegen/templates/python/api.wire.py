# {{.Marker}}
"""What requests and responses contain: properties on the wire and back.

api.json says which operations there are, which properties each of them sends and
returns, and where. Properties are values as in JSON, by their names in the schema.
"""

import json
import math
import re
import urllib.parse
from datetime import datetime, timezone
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional{{if not .API.XML}}, Tuple{{end}}

from cloudformation_cli_python_lib import exceptions

API: Dict[str, Any] = json.loads(
    Path(__file__).with_name("api.json").read_text(encoding="utf-8")
)
Values = Dict[str, Any]
Operation = Mapping[str, Any]
ANY = {"kind": "any"}  # the shape of what api.json does not describe


def identifier_of(values: Values) -> str:
    """Returns the identifier of a resource as CloudFormation writes it."""
    return "|".join(text_of(values.get(name, "")) for name in API["identifier"])


def fill(path: str, label: str, value: str) -> str:
    """Fills in {label} of a path, or {label+}, which may contain slashes."""
    if _resolved(path, label, value):
        raise exceptions.InvalidRequest(f"{value!r} cannot be part of a path")
    path = path.replace("{%s+}" % label, urllib.parse.quote(value, safe="/"))
    return path.replace("{%s}" % label, urllib.parse.quote(value, safe=""))
{{- if .API.Host}}


def fill_host(operation: Operation, host: str, label: str, value: str) -> str:
    """Fills in {label} of a host.

    A value is within one part of the name, so that it does not choose another host.
    """
    if not re.fullmatch("(?!-)[A-Za-z0-9-]{1,63}(?<!-)", value):
        raise exceptions.InvalidRequest(
            f"{operation['name']}: {label} is part of the host name: "
            "it must be 1 to 63 letters, digits and inner hyphens"
        )
    return host.replace("{%s}" % label, value)
{{- end}}


def _resolved(path: str, label: str, value: str) -> bool:
    """Reports whether servers would resolve a value in a path, as they do folders."""
    parts = value.split("/") if "{%s+}" % label in path else [value]
    return not {"", ".", ".."}.isdisjoint(parts)


def possible(operation: Operation, values: Values) -> bool:
    """Reports whether something can have these identifiers."""
    for entry in operation.get("send", []):
        text = text_of(values.get(entry["property"]))
        if entry["shape"].get("text") and isinstance(number(text), str):
            return False
        if entry["in"] == "path" and _resolved(operation["path"], entry["at"][0], text):
            return False
    return True
{{- if not .API.XML}}


def content_type(operation: Operation) -> str:
    if API["protocol"].startswith("awsJson1_"):
        return f"application/x-amz-json-1.{API['protocol'][-1]}"
    return str(operation.get("contentType", "application/json"))


def body_of(operation: Operation, body: Any) -> Optional[bytes]:
    in_body = any(entry["in"] == "body" for entry in operation.get("send", []))
    if body is None and not in_body and "target" not in operation:
        return None
    body = {} if body is None else body
    if content_type(operation).startswith("application/x-www-form-urlencoded"):
        return urllib.parse.urlencode(list(_form("", body))).encode()
    return json.dumps(body).encode()


def _form(name: str, value: Any) -> Iterable[Tuple[str, str]]:
    """Returns the fields of a form: a[b]=c and a[0]=d."""
    if isinstance(value, (dict, list)):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in pairs:
            yield from _form(f"{name}[{key}]" if name else str(key), member)
    else:
        yield name, "" if value is None else text_of(value)
{{- end}}


def parse(text: bytes) -> Any:
    """Returns the value of a JSON text. Not being one is a ValueError."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("too deep") from None


def page_token(paging: Mapping[str, Any], token: str) -> Any:
    """Returns the token of a page as the service expects it."""
    if paging["style"] not in ("number", "offset"):
        return token
    if not re.fullmatch("[0-9]{1,15}", token):
        raise exceptions.InvalidRequest("nextToken is not one of this list")
    return int(token)


def next_page(
    paging: Mapping[str, Any], body: Any, token: Optional[str], items: List[Values]
) -> Optional[str]:
    style, count = paging["style"], paging.get("count", 0)
    if style == "token":
        value = dig(body, paging["next"])
        following = "" if value is None else text_of(value)
        query = urllib.parse.parse_qs(following.partition("?")[2])
        return query.get(paging["at"][0], [following])[0] or None
    if not items or len(items) < count:
        return None
    if style == "last":
        return text_of(items[-1].get(API["identifier"][-1], "")) or None
    return str(int(token or 0) + (1 if style == "number" else len(items)))


def failure(
    operation: Operation,
    values: Values,
    status: int,
    headers: Any,
    body: Any,
    secrets: Iterable[str],
) -> Exception:
    """Returns the exception for a response that is an error."""
    members = body if isinstance(body, dict) else {}
{{- if .API.XML}}
    members = members["Error"] if isinstance(members.get("Error"), dict) else members
{{- end}}
    names = [headers.get("X-Amzn-Errortype")]
    names += map(members.get, ("__type", "code", "Code"))
    name = next((name for name in names if isinstance(name, str) and name), "")
    name = name.rsplit("#")[-1].split(":")[0]
    errors = operation.get("errors", {})
    code = errors.get(name) or errors.get(str(status))
    code = code or API["statuses"].get(str(status))
    code = code or ("ServiceInternalError" if status >= 500 else "InvalidRequest")
    kind: Callable[..., Exception] = getattr(exceptions, code)
    if code in ("NotFound", "AlreadyExists"):
        return kind(API["typeName"], identifier_of(values))
    message = f"{operation['name']}: status {status}"
    detail = members.get("detail")
    if isinstance(detail, list) and detail:
        # Of FastAPI, whose other members repeat the request.
        members = {"detail": dig(detail[0], ["msg"])}
    said = _said(members)
    several = members.get("errors")
    if not said and isinstance(several, list) and several:
        said = several[0] if isinstance(several[0], str) else _said(several[0])
    if status < 400:
        said = "redirects are not followed; "
        said += "set Endpoint in the type configuration to the URL of the API"
    for secret in sorted(secrets, key=len, reverse=True):
        said = hide(said, secret)
    return kind(f"{message}: {said[:300]}" if said else message)


def _said(members: Any) -> str:
    """Returns the message of an error, wherever APIs put it."""
    names = ["message", "Message", "error", "detail", "title"]
    for name in [*names, "errorSummary", "error_description"]:
        for text in (dig(members, [name]), dig(members, [name, "message"])):
            if text and isinstance(text, str):
                return text
    return ""


def retry_after(headers: Any) -> float:
    value = headers.get("Retry-After") or ""
    return float(value) if re.fullmatch("[0-9]{1,6}", value) else 0


def dig(value: Any, path: Iterable[str]) -> Any:
    """Returns the value at a path in a body, or None."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def put(body: Any, path: List[str], value: Any) -> Any:
    """Returns a body with a value at a path; an empty path is the whole body."""
    if not path:
        return value
    body = body if isinstance(body, dict) else {}
    body[path[0]] = put(body.get(path[0]), path[1:], value)
    return body


def text_of(value: Any) -> str:
    """Returns a value as it is written in a path, a query or a header."""
    return value if isinstance(value, str) else json.dumps(value)


def hide(said: str, secret: str) -> str:
    """Replaces a secret in a message.

    One of fewer than 4 characters is replaced only where no letter or digit is next
    to it: words may contain it, and the message would be unreadable.
    """
    if len(secret) > 3:
        return said.replace(secret, "***")
    return re.sub(rf"(?<![^\W_]){re.escape(secret)}(?![^\W_])", "***", said)


def secrets_in(value: Any, shape: Mapping[str, Any], secret: bool) -> Iterable[str]:
    """Returns the texts in a value on the wire that are secret, or all of them."""
    item = shape.get("item", ANY)
    if isinstance(value, str) and secret:
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from secrets_in(each, item, secret)
    elif isinstance(value, dict) and shape["kind"] != "object":
        for each in value.values():
            yield from secrets_in(each, item, secret)
    elif isinstance(value, dict):
        for member in API["shapes"][shape["name"]]:
            hidden = secret or member.get("secret", False)
            yield from secrets_in(value.get(member["wire"]), member["shape"], hidden)


def encode(value: Any, shape: Mapping[str, Any]) -> Any:
    """Returns the value of a property as the service expects it."""
    kind = shape["kind"]
    if isinstance(value, list):
        item = shape.get("item", ANY)
        return [encode(each, item) for each in value if each is not None]
    if isinstance(value, dict):
        return _members(value, shape, "property", "wire", encode)
{{- if .API.Among}}
    if kind == "list" and value is not None:
        return encode([value], shape)  # the only item
{{- end}}
    if isinstance(value, str) and shape.get("text"):
        return number(value)
    if isinstance(value, str) and kind == "timestamp":
        return _timestamp(value, shape.get("format"))
    return value


def decode(value: Any, shape: Mapping[str, Any]) -> Any:
    """Returns a value of the service as that of a property, without nulls."""
    kind = shape["kind"]
    if isinstance(value, list):
        item = shape.get("item", ANY)
        return [decode(each, item) for each in value if each is not None]
    if isinstance(value, dict):
        return _members(value, shape, "wire", "property", decode)
    if kind == "timestamp":
        return _date_time(value, shape.get("format"))
    if value is not None and not isinstance(value, str):
        return text_of(value) if kind == "string" or shape.get("text") else value
    return value


def merge_patch(value: Any, old: Any) -> Any:
    """Returns a value with nulls for the members of an old one that it lacks."""
    if not isinstance(value, dict) or not isinstance(old, dict):
        return value
    gone = {key: None for key in old if key not in value}
    return {**{k: merge_patch(v, old.get(k)) for k, v in value.items()}, **gone}


def _members(
    value: Values, shape: Mapping[str, Any], source: str, target: str, convert: Any
) -> Values:
    if shape["kind"] != "object":
        item = shape.get("item", ANY)
        return {k: convert(v, item) for k, v in value.items() if v is not None}
    return {
        member[target]: convert(value[member[source]], member["shape"])
        for member in API["shapes"][shape["name"]]
        if value.get(member[source]) is not None
    }


def number(text: str) -> Any:
    """Returns the number that a text is in JSON, else the text."""
    match = re.fullmatch(r"-?(0|[1-9]\d{0,300})(\.\d+)?([eE][+-]?\d+)?", text, re.A)
    if not match:
        return text
    if match[2] or match[3]:
        return float(text) if math.isfinite(float(text)) else text
    return int(text)


def _timestamp(text: str, wire: Optional[str]) -> Any:
    try:
        when = datetime.fromisoformat(re.sub("[Zz]$", "+00:00", text))
    except ValueError:
        return text
    when = when if when.tzinfo else when.replace(tzinfo=timezone.utc)
    if wire == "epoch-seconds":
        seconds = round(when.timestamp(), 3)
        return int(seconds) if seconds.is_integer() else seconds
    if wire == "http-date":
        return format_datetime(when.astimezone(timezone.utc), usegmt=True)
    return text


def _date_time(value: Any, wire: Optional[str]) -> Any:
    try:
        if isinstance(value, (int, float)):
            when = datetime.fromtimestamp(value, timezone.utc)
        elif wire == "http-date" and value is not None:
            when = parsedate_to_datetime(value).astimezone(timezone.utc)
        else:
            return value
    except (ValueError, TypeError, OverflowError, OSError):
        return text_of(value)
    whole, _, fraction = when.isoformat(timespec="milliseconds")[:-6].partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}Z" if fraction else whole + "Z"


def read_tags(value: Any, form: Mapping[str, Any]) -> Dict[str, str]:
    """Returns the tags of the service or of a property, without those of AWS."""
    pairs: Iterable[Any] = value.items() if isinstance(value, dict) else []
    if form["kind"] == "list" and isinstance(value, list):
        items = [item for item in value if isinstance(item, dict)]
        pairs = [(item.get(form["key"], ""), item.get(form["value"])) for item in items]
    return {
        key: "" if text is None else text_of(text)
        for key, text in pairs
        if isinstance(key, str) and not key.startswith("aws:")
    }


def write_tags(tags: Dict[str, str], form: Mapping[str, Any]) -> Any:
    if form["kind"] == "keys":
        return sorted(tags)
    if form["kind"] == "map":
        return tags
    names = form["key"], form.get("value")
    return [
        {name: text for name, text in zip(names, pair) if name}
        for pair in sorted(tags.items())
    ]
