// {{.Marker}}
package {{.Package}};

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import software.amazon.cloudformation.proxy.HandlerErrorCode;

/** The request of one call, made of values of the model. */
final class ApiRequest {
    private static final Pattern LABEL = Pattern.compile("\\{([^{}+]+)(\\+?)\\}");
{{- if .API.Host}}

    /** What is within one part of a host name, so that a value does not choose another host. */
    private static final Pattern HOST_LABEL = Pattern.compile("(?!-)[A-Za-z0-9-]{1,63}(?<!-)");
{{- end}}

    private final ApiBinding.Call call;
    private final Map<String, String> labels = new TreeMap<>();
    private final List<String> query = new ArrayList<>();
    private final Map<String, String> headers = new TreeMap<>();
    private final List<String> secrets = new ArrayList<>();
    private JsonNode body;

    ApiRequest(final ApiBinding.Call call) {
        this.call = call;
{{- if .API.XML}}
        headers.put("Accept", "application/xml");
{{- else}}
        headers.put("Accept", call.accept() == null ? "application/json" : call.accept());
        if (call.target() != null) {
            headers.put("X-Amz-Target", call.target());
        }
{{- end}}
{{- if .API.Query}}
        body = ApiCodec.JSON.createObjectNode();
{{- else}}
        if ({{if .API.XML}}call.root() != null{{else}}call.target() != null || call.send().stream().anyMatch(bound -> bound.in().equals("body")){{end}}) {
            body = ApiCodec.JSON.createObjectNode();
        }
{{- end}}
{{- if not .API.XML}}
        if (call.envelope() != null) {
            body = ApiCodec.put(body, List.of(call.envelope()), ApiCodec.JSON.createObjectNode());
        }
{{- end}}
    }

    ApiBinding.Call call() {
        return call;
    }

    /** Returns the values that messages must not repeat. */
    List<String> secrets() {
        return secrets;
    }

    /** Adds the texts in a value of the model that are secret, all of them if the value is. */
    void addSecrets(final JsonNode value, final ApiBinding.Shape shape, final boolean all) {
        if (value.isTextual() && all) {
            secrets.add(value.textValue());
        } else if (shape.kind().equals("object")) {
            for (final ApiBinding.Member member : ApiClient.BINDING.members(shape)) {
                if (value.has(member.property())) {
                    addSecrets(value.get(member.property()), member.shape(), all || member.secret());
                }
            }
        } else {
            value.forEach(part -> addSecrets(part, shape.item() == null ? shape : shape.item(), all));
        }
    }

    void put(final ApiBinding.Spot spot, final JsonNode value) {
        final String name = String.join(".", spot.at());
        switch (spot.in()) {
            case "path"{{if .API.Host}}, "host"{{end}} -> labels.put(name, value.asText());
            case "query" -> addQuery(name, value);
            case "header" -> headers.put(name, text(value));
            default -> body = ApiCodec.put(body, spot.at(), value);
        }
    }

    /** Adds nulls to the body for the members that another one has besides: they are removed. */
    void mergePatch(final ApiRequest previous) {
        body = ApiCodec.mergePatch(body, previous.body);
    }

    private void addQuery(final String name, final JsonNode value) {
        if (value.isArray()) {
            value.forEach(item -> addQuery(name, item));
        } else {
            query.add(ApiCodec.escape(name) + "=" + ApiCodec.escape(text(value)));
        }
    }

    private static String text(final JsonNode value) {
        if (!value.isArray()) {
            return value.isObject() ? value.toString() : value.asText();
        }
        final StringJoiner items = new StringJoiner(",");
        value.forEach(item -> items.add(text(item)));
        return items.toString();
    }

    /** Returns the headers besides those of authentication. */
    Map<String, String> headers() {
        if (body == null) {
            return headers;
        }
        final Map<String, String> all = new TreeMap<>(headers);
        all.put("Content-Type", contentType());
        return all;
    }

    private String contentType() {
{{- if .API.Query}}
        return "application/x-www-form-urlencoded; charset=utf-8";
{{- else if .API.XML}}
        return call.contentType() == null ? "application/xml" : call.contentType();
{{- else}}
        if (call.contentType() != null) {
            return call.contentType();
        }
        final String protocol = ApiClient.BINDING.protocol();
        return protocol.startsWith("awsJson1_") ? "application/x-amz-json-1." + protocol.substring("awsJson1_".length()) : "application/json";
{{- end}}
    }

    /** Returns the path and the query. */
    String target() {
        final String path = path();
        return query.isEmpty() ? path : path + (path.contains("?") ? "&" : "?") + String.join("&", query);
    }
{{- if .API.Host}}

    /** Returns what comes before the host of the endpoint. */
    String host() {
        return LABEL.matcher(call.host() == null ? "" : call.host()).replaceAll(label -> {
            final String value = labels.getOrDefault(label.group(1), "");
            if (!HOST_LABEL.matcher(value).matches()) {
                throw new ApiException(HandlerErrorCode.InvalidRequest, call.name() + ": " + label.group(1)
                    + " is part of the host name: it must be 1 to 63 letters, digits and inner hyphens");
            }
            return value;
        });
    }
{{- end}}

    private String path() {
        return LABEL.matcher(call.path()).replaceAll(label -> {
            final String value = labels.getOrDefault(label.group(1), "");
            final boolean greedy = !label.group(2).isEmpty();
            if (Stream.of(greedy ? value.split("/", -1) : new String[] {value}).anyMatch(List.of("", ".", "..")::contains)) {
                throw new ApiException(HandlerErrorCode.NotFound, call.name() + " needs a value for " + label.group(1));
            }
            return greedy ? ApiCodec.escape(value).replace("%2F", "/") : ApiCodec.escape(value);
        });
    }

    byte[] body() {
        if (body == null) {
            return new byte[0];
        }
{{- if .API.XML}}
        return ApiXml.write(call, body).getBytes(StandardCharsets.UTF_8);
{{- else}}
        final boolean form = contentType().equals("application/x-www-form-urlencoded");
        return (form ? ApiCodec.form(body) : body.toString()).getBytes(StandardCharsets.UTF_8);
{{- end}}
    }
}
