// {{.Marker}}
package {{.Package}};

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.MissingNode;
{{- if .API.Query}}
import com.fasterxml.jackson.databind.node.NullNode;
{{- end}}
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.io.ByteArrayInputStream;
import java.io.IOException;
{{- if .API.Query}}
import java.util.StringJoiner;
{{- else}}
import java.util.regex.Pattern;
{{- end}}
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
{{- if not .API.Query}}
import software.amazon.cloudformation.proxy.HandlerErrorCode;
{{- end}}

/** Bodies as trees: an element of XML is its text or an object of the elements in it; a list is elements of the same name. */
final class ApiXml {
    private static final int MAX_DEPTH = 100;
{{- if not .API.Query}}
    private static final Pattern FORBIDDEN = Pattern.compile("[^\\t\\n\\r\\x{20}-\\x{D7FF}\\x{E000}-\\x{FFFD}\\x{10000}-\\x{10FFFF}]");
{{- end}}

    private ApiXml() {
    }

    /** Returns a value on the wire as a tree, if it is in the body. */
    static JsonNode tree(final JsonNode value, final ApiBinding.Bound bound) {
        return bound.in().equals("body") ? tree(value, bound.shape()) : value;
    }

    private static JsonNode tree(final JsonNode value, final ApiBinding.Shape shape) {
        return switch (shape.kind()) {
            case "list" -> {
                final ArrayNode items = ApiCodec.JSON.createArrayNode();
                value.forEach(item -> items.add(tree(item, shape.item())));
                yield within(shape.element(), items);
            }
            case "map" -> {
                final ArrayNode entries = ApiCodec.JSON.createArrayNode();
                value.fields().forEachRemaining(entry ->
                    entries.addObject().put(shape.key(), entry.getKey()).set(shape.value(), tree(entry.getValue(), shape.item())));
                yield {{if .API.Query}}entries.isEmpty() ? NullNode.getInstance() : {{end}}within(shape.element(), entries);
            }
            case "object" -> {
                final ObjectNode object = ApiCodec.JSON.createObjectNode();
                for (final ApiBinding.Member member : ApiClient.BINDING.members(shape)) {
                    if (value.has(member.wire())) {
                        object.set(member.wire(), tree(value.get(member.wire()), member.shape()));
                    }
                }
                yield object;
            }
            default -> value;
        };
    }

    private static JsonNode within(final String element, final ArrayNode items) {
        return element == null{{if .API.Query}} || items.isEmpty(){{end}} ? items : ApiCodec.JSON.createObjectNode().set(element, items);
    }

    /** Returns the value of a tree on the wire. */
    static JsonNode value(final JsonNode tree, final ApiBinding.Shape shape) {
        if (tree == null || tree.isMissingNode()) {
            return tree;
        }
        final JsonNode inner = elements(shape.element() == null ? tree : tree.path(shape.element()));
        final JsonNode trimmed = tree.isTextual() ? TextNode.valueOf(tree.textValue().strip()) : tree;
        return switch (shape.kind()) {
            case "list" -> {
                final ArrayNode list = ApiCodec.JSON.createArrayNode();
                inner.forEach(item -> list.add(value(item, shape.item())));
                yield list;
            }
            case "map" -> {
                final ObjectNode map = ApiCodec.JSON.createObjectNode();
                inner.forEach(entry -> map.set(entry.path(shape.key()).asText(), value(entry.get(shape.value()), shape.item())));
                yield map;
            }
            case "object" -> {
                final ObjectNode object = ApiCodec.JSON.createObjectNode();
                for (final ApiBinding.Member member : ApiClient.BINDING.members(shape)) {
                    if (tree.has(member.wire())) {
                        object.set(member.wire(), value(tree.get(member.wire()), member.shape()));
                    }
                }
                yield object;
            }
            case "boolean" -> trimmed.asText().matches("true|false") ? BooleanNode.valueOf(trimmed.asText().equals("true")) : tree;
            case "integer", "number" -> ApiCodec.number(trimmed);
            case "timestamp" -> "epoch-seconds".equals(shape.format()) ? ApiCodec.number(trimmed) : tree;
            default -> tree;
        };
    }

    /** Returns the elements at a place of a tree: none, one or several. */
    static JsonNode elements(final JsonNode tree) {
        if (tree.isArray()) {
            return tree;
        }
        final ArrayNode elements = ApiCodec.JSON.createArrayNode();
        return tree.isMissingNode() ? elements : elements.add(tree);
    }
{{- if .API.Query}}

    /** Writes a request as a form: {@code a.b=c} for members, {@code a.1=c} for items. */
    static String write(final ApiBinding.Call call, final JsonNode body) {
        final StringJoiner pairs = new StringJoiner("&");
        write(pairs, "Action", TextNode.valueOf(call.name()));
        write(pairs, "Version", TextNode.valueOf(ApiClient.BINDING.version()));
        body.fields().forEachRemaining(field -> write(pairs, field.getKey(), field.getValue()));
        return pairs.toString();
    }

    private static void write(final StringJoiner pairs, final String name, final JsonNode tree) {
        if (tree.isObject()) {
            tree.fields().forEachRemaining(field -> write(pairs, name + "." + field.getKey(), field.getValue()));
        } else if (tree.isArray() && !tree.isEmpty()) {
            for (int i = 0; i < tree.size(); i++) {
                write(pairs, name + "." + (i + 1), tree.get(i));
            }
        } else if (!tree.isNull()) {
            pairs.add(ApiCodec.escape(name) + "=" + ApiCodec.escape(tree.asText()));
        }
    }
{{- else}}

    /** Writes the body of a request. */
    static String write(final ApiBinding.Call call, final JsonNode body) {
        final StringBuilder out = new StringBuilder();
        final String namespace = ApiClient.BINDING.namespace();
        write(out, call, call.root(), namespace == null ? "" : " xmlns=\"" + escape(namespace) + "\"", body);
        return out.toString();
    }

    private static void write(
        final StringBuilder out, final ApiBinding.Call call, final String name, final String attributes, final JsonNode tree) {

        out.append('<').append(name).append(attributes).append('>');
        if (tree.isObject()) {
            tree.fields().forEachRemaining(field -> elements(field.getValue()).forEach(item -> write(out, call, field.getKey(), "", item)));
        } else if (FORBIDDEN.matcher(tree.asText()).find()) {
            throw new ApiException(HandlerErrorCode.InvalidRequest, call.name() + ": a control character in " + name + " cannot be part of XML");
        } else {
            out.append(escape(tree.asText()));
        }
        out.append("</").append(name).append('>');
    }

    /** Escapes what is markup, and carriage returns, which would be read as line feeds. */
    private static String escape(final String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;").replace("\r", "&#13;");
    }
{{- end}}

    /** Returns what is in the root element of a text. Attributes and namespaces are left out. */
    static JsonNode read(final byte[] text) throws IOException {
        final XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        factory.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
        factory.setProperty(XMLInputFactory.IS_COALESCING, true); // CDATA is text
        JsonNode root = MissingNode.getInstance();
        try {
            final XMLStreamReader in = factory.createXMLStreamReader(new ByteArrayInputStream(text));
            while (in.hasNext()) {
                final int event = in.next();
                if (event == XMLStreamConstants.DTD) {
                    throw new IOException("the document has a type definition");
                }
                if (event == XMLStreamConstants.START_ELEMENT) {
                    root = element(in, 1);
                }
            }
        } catch (XMLStreamException e) {
            throw new IOException(e);
        }
        return root;
    }

    private static JsonNode element(final XMLStreamReader in, final int depth) throws IOException, XMLStreamException {
        if (depth > MAX_DEPTH) {
            throw new IOException("the elements are too deep");
        }
        final StringBuilder text = new StringBuilder();
        final ObjectNode members = ApiCodec.JSON.createObjectNode();
        while (in.next() != XMLStreamConstants.END_ELEMENT) {
            if (in.isStartElement()) {
                final String name = in.getLocalName();
                final JsonNode member = element(in, depth + 1);
                if (members.has(name)) {
                    members.set(name, ((ArrayNode) elements(members.get(name))).add(member));
                } else {
                    members.set(name, member);
                }
            } else if (in.isCharacters()) {
                text.append(in.getText());
            }
        }
        return members.isEmpty() ? TextNode.valueOf(text.toString()) : members;
    }
}
