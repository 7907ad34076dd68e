// {{.Marker}}
package {{.Package}};

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import software.amazon.cloudformation.proxy.HandlerErrorCode;

/** What api.json says: which values of the model each call of the API takes, and what it returns. */
record ApiBinding(
{{- if .API.Query}}
    String version,
{{- else if .API.XML}}
    String namespace,
{{- end}}
    String protocol, String endpoint, Auth auth, List<String> identifier, Call create, Call read, List<Call> update, Call delete,
    Call list, Tags tags, Map<String, HandlerErrorCode> statuses, Map<String, List<Member>> shapes) {

    ApiBinding {
        shapes = shapes == null ? Map.of() : shapes;
    }

    static ApiBinding load() {
        try (InputStream text = ApiBinding.class.getResourceAsStream("api.json")) {
            return ApiCodec.JSON.readValue(text, ApiBinding.class);
        } catch (IOException e) {
            throw new UncheckedIOException("read api.json", e);
        }
    }

    /** Returns the members of an object. */
    List<Member> members(final Shape object) {
        return shapes.getOrDefault(object.name(), List.of());
    }

    record Auth(String kind, String tokenUrl, String service, List<Key> keys) {
        Auth {
            keys = orEmpty(keys);
        }
    }

    /** A value of the type configuration that every request has, in a header, the query or a cookie. */
    record Key(String in, String name, String property, boolean secret) {}

    /** A value that is the same in every request of a call. */
    record Fixed(String in, List<String> at, String value) {}

    /** One operation of the API. */
    record Call(
{{- if .API.Query}}
        String result,
{{- else if .API.XML}}
        String root,
{{- end}}
{{- if .API.Host}}
        String host,
{{- end}}
{{- if .API.Among}}
        boolean among,
{{- end}}
        String name, String method, String path, String target, String contentType, String accept, List<Bound> send, List<Bound> receive,
{{if not .API.XML}}        String envelope,
{{end}}        List<Fixed> fixed, Spot token, List<String> changes, boolean partial, List<String> items, Page page, Map<String, HandlerErrorCode> errors) {

        Call {
            send = orEmpty(send);
            receive = orEmpty(receive);
            fixed = orEmpty(fixed);
            changes = orEmpty(changes);
            items = orEmpty(items);
            errors = errors == null ? Map.of() : errors;
        }
    }

    /** A place in a request or a response: the name of a header or parameter, or a path in the body. */
    record Spot(String in, List<String> at) {
        Spot {
            at = orEmpty(at);
        }
    }

    /** A property in a request or response. */
    record Bound(String property, String in, List<String> at, Shape shape, boolean required, boolean live, boolean secret, JsonNode reset) {
        Bound {
            at = orEmpty(at);
        }

        Spot spot() {
            return new Spot(in, at);
        }
    }
{{- if .API.XML}}

    /** How a value is written. Items of a list and entries of a map are elements, those of the list or map if the name is null. */
    record Shape(String kind, boolean text, String format, Shape item, String name, String element, String key, String value) {}
{{- else}}

    /** How a value is written. */
    record Shape(String kind, boolean text, String format, Shape item, String name) {}
{{- end}}

    record Member(String property, String wire, Shape shape, boolean secret) {}

    /** How a list is read page by page. */
    record Page(String style, String in, List<String> at, List<String> next, Spot size, int count, int first) {
        Page {
            at = orEmpty(at);
            next = orEmpty(next);
        }

        Spot spot() {
            return new Spot(in, at);
        }
    }

    /** The operations that change tags. */
    record Tags(String property, TagForm form, TagCall list, TagCall tag, TagCall untag) {}

    record TagCall(Call call, List<String> at, String in, TagForm form) {
        Spot spot() {
            return new Spot(in, at);
        }
    }

    /** Tags are a map, or a list of objects with these members. */
    record TagForm(String kind, String key, String value) {
        /** Returns the tags in a value, without those of AWS. */
        Map<String, String> read(final JsonNode node) {
            final Map<String, String> tags = new TreeMap<>();
            if (kind.equals("map")) {
                node.fields().forEachRemaining(tag -> tags.put(tag.getKey(), tag.getValue().asText()));
            } else {
                node.forEach(tag -> tags.put(tag.path(key).asText(), tag.path(value).asText()));
            }
            tags.keySet().removeIf(name -> name.startsWith("aws:"));
            return tags;
        }

        JsonNode write(final Map<String, String> tags) {
            if (kind.equals("map")) {
                return ApiCodec.JSON.valueToTree(tags);
            }
            final ArrayNode list = ApiCodec.JSON.createArrayNode();
            new TreeMap<>(tags).forEach((name, text) -> list.addObject().put(key, name).put(value, text));
            return list;
        }
    }

    private static <T> List<T> orEmpty(final List<T> list) {
        return list == null ? List.of() : list;
    }
}
