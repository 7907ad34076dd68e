// {{.Marker}}
package {{.Package}};

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.DecimalNode;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.math.BigDecimal;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
{{- if not .API.XML}}
import java.util.StringJoiner;
{{- end}}
import java.util.regex.Pattern;
import software.amazon.cloudformation.proxy.HandlerErrorCode;

/** Converts values between the model and the API. */
final class ApiCodec {
    static final JsonMapper JSON = JsonMapper.builder()
        .serializationInclusion(JsonInclude.Include.NON_NULL)
        .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
        .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
        .build();

    private static final DateTimeFormatter HTTP_DATE = DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH);

    /** A number as in JSON, with bounds that keep the work for hostile ones small. */
    private static final Pattern NUMBER = Pattern.compile("-?(0|[1-9][0-9]{0,400})(\\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?");

    private ApiCodec() {
    }

    /** Converts the value of a property. The result is null if there is none. */
    static JsonNode encode(final JsonNode value, final ApiBinding.Shape shape) {
        return convert(value, shape, true);
    }

    /** Converts a value of a response. The result is null if there is none. */
    static JsonNode decode(final JsonNode value, final ApiBinding.Shape shape) {
        return convert(value, shape, false);
    }

    /** Returns the properties in a response, or in an item of it. */
    static ObjectNode receive(final ApiBinding.Call call, final ApiConnection.Answer answer) {
        final ObjectNode values = JSON.createObjectNode();
        for (final ApiBinding.Bound bound : call.receive()) {
            JsonNode value = {{if .API.XML}}ApiXml.value(at(answer.body(), bound.at()), bound.shape()){{else}}at(answer.body(), bound.at()){{end}};
{{- if .API.ETag}}
            if (bound.in().equals("header")) {
                value = JSON.valueToTree(answer.headers().get(bound.at().get(0)));
            }
{{- end}}
            value = decode(value, bound.shape());
            if (value != null && !values.has(bound.property())) {
                values.set(bound.property(), value);
            }
        }
        return values;
    }

    private static JsonNode convert(final JsonNode value, final ApiBinding.Shape shape, final boolean sending) {
        if (value == null || value.isNull() || value.isMissingNode()) {
            return null;
        }
        return switch (shape.kind()) {
            case "list" -> list(value, shape, sending);
            case "map" -> map(value, shape, sending);
            case "object" -> object(value, ApiClient.BINDING.members(shape), sending);
            case "timestamp" -> sending ? wireTime(value, shape) : propertyTime(value, shape);
            case "integer", "number" -> sending && shape.text() ? number(value) : !sending && shape.text() ? text(value) : value;
            case "string" -> text(value);
            default -> value;
        };
    }

    private static JsonNode list(final JsonNode value, final ApiBinding.Shape shape, final boolean sending) {
{{- if .API.Among}}
        if (sending && !value.isArray()) {
            return list(JSON.createArrayNode().add(value), shape, sending); // its only item
        }
{{- end}}
        final ArrayNode items = JSON.createArrayNode();
        for (final JsonNode item : value) {
            final JsonNode converted = convert(item, shape.item(), sending);
            if (converted != null) {
                items.add(converted);
            }
        }
        return value.isArray() ? items : value;
    }

    private static JsonNode map(final JsonNode value, final ApiBinding.Shape shape, final boolean sending) {
        final ObjectNode entries = JSON.createObjectNode();
        value.fields().forEachRemaining(entry -> {
            final JsonNode converted = convert(entry.getValue(), shape.item(), sending);
            if (converted != null) {
                entries.set(entry.getKey(), converted);
            }
        });
        return value.isObject() ? entries : value;
    }

    private static JsonNode object(final JsonNode value, final List<ApiBinding.Member> members, final boolean sending) {
        final ObjectNode object = JSON.createObjectNode();
        for (final ApiBinding.Member member : members) {
            final JsonNode converted = convert(value.get(sending ? member.property() : member.wire()), member.shape(), sending);
            if (converted != null) {
                object.set(sending ? member.wire() : member.property(), converted);
            }
        }
        return value.isObject() ? object : value;
    }

    /** Returns the number in a text; the API judges what is not one. */
    static JsonNode number(final JsonNode value) {
        final String text = value.asText();
        return NUMBER.matcher(text).matches() ? DecimalNode.valueOf(new BigDecimal(text)) : value;
    }

    private static JsonNode text(final JsonNode value) {
        return value.isContainerNode() ? value : TextNode.valueOf(value.asText());
    }

    private static JsonNode wireTime(final JsonNode value, final ApiBinding.Shape shape) {
        if (shape.format() == null || shape.format().equals("date-time")) {
            return value;
        }
        try {
            final Instant time = OffsetDateTime.parse(value.asText()).toInstant();
            if (shape.format().equals("http-date")) {
                return TextNode.valueOf(HTTP_DATE.format(time.atOffset(ZoneOffset.UTC)));
            }
            return time.getNano() == 0
                ? LongNode.valueOf(time.getEpochSecond())
                : DecimalNode.valueOf(BigDecimal.valueOf(time.getEpochSecond()).add(BigDecimal.valueOf(time.getNano(), 9)).stripTrailingZeros());
        } catch (DateTimeException e) {
            throw new ApiException(HandlerErrorCode.InvalidRequest, "expected a timestamp such as 2030-12-31T23:59:59Z", e);
        }
    }

    private static JsonNode propertyTime(final JsonNode value, final ApiBinding.Shape shape) {
        try {
            if (value.isNumber()) {
                final BigDecimal[] parts = value.decimalValue().divideAndRemainder(BigDecimal.ONE);
                return TextNode.valueOf(Instant.ofEpochSecond(parts[0].longValueExact(), parts[1].movePointRight(9).longValue()).toString());
            }
            return "http-date".equals(shape.format())
                ? TextNode.valueOf(Instant.from(DateTimeFormatter.RFC_1123_DATE_TIME.parse(value.asText())).toString())
                : value;
        } catch (DateTimeException | ArithmeticException e) {
            return value;
        }
    }

    /** Returns the items at a path. */
    static JsonNode items(final JsonNode body, final List<String> path) {
        return {{if .API.XML}}ApiXml.elements(at(body, path)){{else}}at(body, path){{end}};
    }

    /** Returns what is at a path; the value itself if the path is empty. */
    static JsonNode at(final JsonNode value, final List<String> path) {
        JsonNode found = value;
        for (final String name : path) {
            found = found.path(name);
        }
        return found;
    }

    /** Puts a value at a path of a body, and returns the body. */
    static JsonNode put(final JsonNode body, final List<String> path, final JsonNode value) {
        if (path.isEmpty()) {
            return body instanceof ObjectNode && value.isObject() ? ((ObjectNode) body).setAll((ObjectNode) value) : value;
        }
        final ObjectNode object = body instanceof ObjectNode ? (ObjectNode) body : JSON.createObjectNode();
        object.set(path.get(0), put(object.get(path.get(0)), path.subList(1, path.size()), value));
        return object;
    }

    /** Returns a value with nulls for the members that the previous one has besides. */
    static JsonNode mergePatch(final JsonNode value, final JsonNode previous) {
        if (!(value instanceof ObjectNode) || !(previous instanceof ObjectNode)) {
            return value;
        }
        final ObjectNode patch = JSON.createObjectNode();
        previous.fieldNames().forEachRemaining(patch::putNull);
        value.fields().forEachRemaining(member -> patch.set(member.getKey(), mergePatch(member.getValue(), previous.get(member.getKey()))));
        return patch;
    }

    /** Encodes a text for a path or query. */
    static String escape(final String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20").replace("*", "%2A").replace("%7E", "~");
    }
{{- if not .API.XML}}

    /** Writes a body as a form: {@code a[b]=c} for members, {@code a[0]=c} for items. */
    static String form(final JsonNode body) {
        final StringJoiner pairs = new StringJoiner("&");
        body.fields().forEachRemaining(field -> form(pairs, field.getKey(), field.getValue()));
        return pairs.toString();
    }

    private static void form(final StringJoiner pairs, final String name, final JsonNode value) {
        if (value.isArray()) {
            for (int i = 0; i < value.size(); i++) {
                form(pairs, name + "[" + i + "]", value.get(i));
            }
        } else if (value.isObject()) {
            value.fields().forEachRemaining(field -> form(pairs, name + "[" + field.getKey() + "]", field.getValue()));
        } else {
            pairs.add(escape(name) + "=" + escape(value.asText("")));
        }
    }
{{- end}}
}
