# {{.Marker}}
"""{{if .API.Query}}Requests as forms, and responses in XML{{else}}Requests and responses in XML{{end}}.

Their bodies are trees: an element is its text, or a dictionary of the elements in it.
A list is the elements of the same name.
"""

import {{if .API.Query}}urllib.parse{{else}}re{{end}}
from typing import Any, Dict, {{if .API.Query}}Iterable, List, Mapping{{else}}List, Mapping, Optional{{end}}, Tuple
from xml.parsers import expat
{{- if not .API.Query}}
from xml.sax.saxutils import escape, quoteattr

from cloudformation_cli_python_lib import exceptions
{{- end}}

from .wire import ANY, API, Operation, dig, number, text_of

MAX_DEPTH = 100  # of elements


def tree_of(value: Any, shape: Mapping[str, Any]) -> Any:
    """Returns a value on the wire as a tree."""
    kind, item = shape["kind"], shape.get("item", ANY)
    if kind == "object" and isinstance(value, dict):
        return {
            member["wire"]: tree_of(value[member["wire"]], member["shape"])
            for member in API["shapes"][shape["name"]]
            if member["wire"] in value
        }
    if kind == "map" and isinstance(value, dict):
        names = shape["key"], shape["value"]
        pairs = [(key, tree_of(each, item)) for key, each in value.items()]
        items = [dict(zip(names, pair)) for pair in pairs]
    elif kind == "list" and isinstance(value, list):
        items = [tree_of(each, item) for each in value]
    else:
        return value
    element = shape.get("element")
    if items:
        return {element: items} if element else items
{{- if .API.Query}}
    return None if kind == "map" else ""  # there is no form of an empty map
{{- else}}
    return "" if element else None
{{- end}}


def value_of(tree: Any, shape: Mapping[str, Any]) -> Any:
    """Returns the value on the wire that a tree is."""
    if tree is None:
        return None
    kind, item = shape["kind"], shape.get("item", ANY)
    if kind == "object":
        return {
            member["wire"]: value_of(dig(tree, [member["wire"]]), member["shape"])
            for member in API["shapes"][shape["name"]]
        }
    if kind in ("list", "map"):
        element = shape.get("element")
        items = elements(dig(tree, [element]) if element else tree)
        if kind == "list":
            return [value_of(each, item) for each in items]
        key, value = shape["key"], shape["value"]
        entries = [entry for entry in items if isinstance(entry, dict)]
        return {
            text_of(entry.get(key, "")): value_of(entry.get(value), item)
            for entry in entries
        }
    if not isinstance(tree, str):
        return tree
    text = tree.strip()
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    if kind in ("integer", "number") or shape.get("format") == "epoch-seconds":
        return number(text)
    return tree


def elements(tree: Any) -> List[Any]:
    """Returns the elements at a place of a tree: none, one or several."""
    if tree is None:
        return []
    return tree if isinstance(tree, list) else [tree]


{{if .API.Query -}}
def content_type(_: Operation) -> str:
    return "application/x-www-form-urlencoded; charset=utf-8"


def body_of(operation: Operation, tree: Any) -> bytes:
    """Returns the form of a request: a.b=c and a.1=d."""
    fields = [("Action", operation["name"]), ("Version", API["version"])]
    return urllib.parse.urlencode([*fields, *_fields("", tree)]).encode()


def _fields(name: str, tree: Any) -> Iterable[Tuple[str, str]]:
    if isinstance(tree, (dict, list)):
        pairs = tree.items() if isinstance(tree, dict) else enumerate(tree, 1)
        for key, inner in pairs:
            yield from _fields(f"{name}.{key}" if name else str(key), inner)
    elif tree is not None:
        yield name, text_of(tree)
{{- else -}}
def content_type(operation: Operation) -> str:
    return str(operation.get("contentType", "application/xml"))


def body_of(operation: Operation, tree: Any) -> Optional[bytes]:
    """Returns the document of a request, None if it has none."""
    root = operation.get("root")
    if not root:
        return None
    namespace = API.get("namespace")
    attribute = f" xmlns={quoteattr(namespace)}" if namespace else ""
    try:
        return f"<{root}{attribute}>{_inside(root, tree)}</{root}>".encode()
    except ValueError as problem:
        raise exceptions.InvalidRequest(f"{operation['name']}: {problem}") from None


# What a document in XML 1.0 cannot have.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _inside(name: str, tree: Any) -> str:
    """Returns what is in an element."""
    if isinstance(tree, dict):
        inner = [(key, each) for key in tree for each in elements(tree[key])]
        return "".join(f"<{key}>{_inside(key, each)}</{key}>" for key, each in inner)
    text = "" if tree is None else text_of(tree)
    if _FORBIDDEN.search(text):
        raise ValueError(f"a control character in {name} cannot be part of XML")
    return escape(text, {"\r": "&#13;"})
{{- end}}


def parse(document: bytes) -> Any:
    """Returns what is in the root of a document, without attributes and namespaces.

    Not being XML is a ValueError.
    """
    # The elements that are open: the name, the text and the elements in each.
    path: List[Tuple[str, List[str], Dict[str, List[Any]]]] = [("", [], {})]

    def start(name: str, _: Any) -> None:
        if len(path) > MAX_DEPTH:
            raise ValueError("too deep")
        path.append((name.rpartition(":")[2], [], {}))

    def end(_: str) -> None:
        name, texts, inner = path.pop()
        members = {k: v if len(v) > 1 else v[0] for k, v in inner.items()}
        path[-1][2].setdefault(name, []).append(members or "".join(texts))

    def refuse(*_: Any) -> None:
        raise ValueError("document type")  # it can define entities

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda text: path[-1][1].append(text)
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(document, True)
    except (expat.ExpatError, LookupError) as problem:  # LookupError: the encoding
        raise ValueError(str(problem)) from None
    ((root,),) = path[0][2].values()
    return root
