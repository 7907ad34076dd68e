// {{.Marker}}
package {{.Package}};

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
{{- if .API.Tags}}
import java.util.Map;
import java.util.TreeMap;
{{- end}}
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import software.amazon.cloudformation.exceptions.CfnNotFoundException;
import software.amazon.cloudformation.proxy.AmazonWebServicesClientProxy;
import software.amazon.cloudformation.proxy.HandlerErrorCode;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

/** The operations of the API for one call of a handler, with models as arguments and results. */
final class ApiClient {
    static final ApiBinding BINDING = ApiBinding.load();

    private final ApiConnection connection;
    private final String idempotencyToken;

    ApiClient(
        final AmazonWebServicesClientProxy proxy,
        final ResourceHandlerRequest<ResourceModel> request,
        final TypeConfigurationModel typeConfiguration) {

        connection = new ApiConnection(BINDING, proxy, ApiCodec.JSON.valueToTree(typeConfiguration), request.getRegion());
        idempotencyToken = idempotencyToken(request.getClientRequestToken() + "/" + request.getLogicalResourceIdentifier());
    }

    /** A page of a list. The token of the next page is null after the last one. */
    record Listed(List<ResourceModel> models, String nextToken) {}

    /** Creates a resource and returns its identifiers. */
    ResourceModel create(final ResourceModel desired) {
        final ApiBinding.Call call = BINDING.create();
        final ObjectNode created = tree(desired);
        created.setAll({{if .API.Among}}received(call, created){{else}}ApiCodec.receive(call, connection.send(request(call, created), false)){{end}});
        for (final String name : BINDING.identifier()) {
            if (created.path(name).asText("").isEmpty()) {
                throw new ApiException(HandlerErrorCode.GeneralServiceException, call.name() + " returned no " + name);
            }
        }
        return model(created.retain(BINDING.identifier()));
    }

    /** Reads the resource with the identifiers of a model. */
    ResourceModel read(final ResourceModel model) {
        final ObjectNode id = tree(identifiers(model));
        if (BINDING.identifier().stream().anyMatch(name -> id.path(name).asText("").isEmpty())) {
            throw new CfnNotFoundException(ResourceModel.TYPE_NAME, identifier(model));
        }
        try {
            return model(id.setAll({{if .API.Among}}received(BINDING.read(), id){{else}}ApiCodec.receive(BINDING.read(), connection.send(request(BINDING.read(), id), true)){{end}}));
        } catch (ApiException e) {
            if (e.getErrorCode() != HandlerErrorCode.NotFound) {
                throw e;
            }
            throw new CfnNotFoundException(ResourceModel.TYPE_NAME, identifier(model), e);
        }
    }
{{- if .API.Among}}

    /** Returns the properties of the resource that was created or is to be read, which may be one of several. */
    private ObjectNode received(final ApiBinding.Call call, final ObjectNode values) {
        if (!call.among()) {
            return ApiCodec.receive(call, connection.send(request(call, values), call != BINDING.create()));
        }
        String nextToken = null;
        do {
            final Listed page = page(call, values, nextToken);
            for (final ResourceModel found : page.models()) {
                final ObjectNode properties = tree(found);
                if (BINDING.identifier().stream().allMatch(name -> !values.has(name) || values.get(name).asText().equals(properties.path(name).asText()))) {
                    return properties;
                }
            }
            nextToken = page.nextToken();
        } while (nextToken != null);
        throw new CfnNotFoundException(ResourceModel.TYPE_NAME, identifier(model(values)));
    }
{{- end}}

    /**
     * Makes one of the calls of an update, if it has something to change, and reports whether it was made. A partial one
     * sends what changed, others send all that is desired. What they require beyond that is the value of the live
     * resource. What is removed gets an empty or default value, unless leaving it out removes it.
     */
    boolean update(final ApiBinding.Call call, final ResourceModel desired, final ResourceModel previous, final ResourceModel live) {
        final List<String> changes = call.changes().stream().filter(name -> differ(desired, previous, List.of(name))).toList();
        if (changes.isEmpty()) {
            return false;
        }
        final ObjectNode wanted = tree(desired);
        final ObjectNode current = tree(live);
        final ObjectNode values = call.partial() ? tree(identifiers(desired)) : wanted.deepCopy();
        for (final ApiBinding.Bound bound : call.send()) {
            final String name = bound.property();
            if (bound.live()) {
                values.set(name, current.path(name));
            } else if (changes.contains(name) && wanted.has(name)) {
                values.set(name, wanted.get(name));
            } else if (bound.required() && !values.has(name)) {
                values.set(name, current.path(name));
            }
        }
        final boolean keeps = !call.method().equals("PUT") || !BINDING.protocol().equals("openapi"); // what a request leaves out
        final List<String> resets = call.send().stream().filter(bound -> keeps || bound.required()).map(ApiBinding.Bound::property)
            .filter(name -> changes.contains(name) && !wanted.has(name)).toList();
        final ApiRequest request = request(call, values, resets);
        if (call.contentType() != null && call.contentType().startsWith("application/merge-patch+json")) {
            final List<String> sent = new ArrayList<>();
            values.fieldNames().forEachRemaining(sent::add);
            request.mergePatch(request(call, tree(previous).retain(sent)));
        }
        connection.send(request, false);
        return true;
    }

    /** Deletes the resource with the identifiers of a model. It may have been deleted already. */
    void delete(final ResourceModel model) {
        try {
            connection.send(request(BINDING.delete(), tree(model)), false);
        } catch (ApiException e) {
            if (e.getErrorCode() != HandlerErrorCode.NotFound) {
                throw e;
            }
        }
    }

    /** Lists a page of resources. */
    Listed list(final ResourceModel model, final String nextToken) {
        return page(BINDING.list(), tree(model), nextToken);
    }

    /** Returns a page of the resources in a response. Identifiers of parents, which they lack, are those of the values. */
    private Listed page(final ApiBinding.Call call, final ObjectNode values, final String nextToken) {
        final ApiBinding.Page page = call.page();
        final ApiRequest request = request(call, values);
        if (page != null) {
            final boolean counted = page.style().equals("number") || page.style().equals("offset");
            if (nextToken != null) {
                request.put(page.spot(), counted ? IntNode.valueOf(position(nextToken)) : TextNode.valueOf(nextToken));
            } else if (page.style().equals("number")) {
                request.put(page.spot(), IntNode.valueOf(page.first()));
            }
            if (page.size() != null && page.count() > 0) {
                request.put(page.size(), IntNode.valueOf(page.count()));
            }
        }
        final JsonNode body = connection.send(request, call != BINDING.create()).body();
        final List<ResourceModel> models = new ArrayList<>();
        for (final JsonNode item : ApiCodec.items(body, call.items())) {
            models.add(model(values.deepCopy().retain(BINDING.identifier()).setAll(ApiCodec.receive(call, ApiConnection.Answer.of(item)))));
        }
        final String next = page == null ? "" : next(page, body, models, nextToken);
        return new Listed(models, next.isEmpty() || next.equals(nextToken) ? null : next);
    }

    static String next(
        final ApiBinding.Page page, final JsonNode body, final List<ResourceModel> models, final String nextToken) {

        if (page.style().equals("token")) {
            return withoutUrl(ApiCodec.at(body, page.next()).asText(""), page.at().get(page.at().size() - 1));
        }
        if (models.isEmpty() || models.size() < page.count()) {
            return "";
        }
        return switch (page.style()) {
            case "number" -> String.valueOf((nextToken == null ? page.first() : position(nextToken)) + 1);
            case "offset" -> String.valueOf((nextToken == null ? 0 : position(nextToken)) + models.size());
            default -> tree(models.get(models.size() - 1)).path(BINDING.identifier().get(BINDING.identifier().size() - 1)).asText();
        };
    }

    /** Returns the token in the URL of the next page. What is not such a URL is the token itself. */
    private static String withoutUrl(final String next, final String parameter) {
        final Matcher found = Pattern.compile("[?&]" + Pattern.quote(ApiCodec.escape(parameter)) + "=([^&#]*)").matcher(next);
        return found.find() ? URLDecoder.decode(found.group(1), StandardCharsets.UTF_8) : next;
    }

    private static int position(final String nextToken) {
        try {
            return Integer.parseInt(nextToken);
        } catch (NumberFormatException e) {
            throw new ApiException(HandlerErrorCode.InvalidRequest, "the nextToken is not one that this type returned", e);
        }
    }
{{- if .API.Tags}}
{{- if .API.TagList}}

    /** Returns a model with the tags of the resource. */
    ResourceModel withTags(final ResourceModel model) {
        final ApiBinding.TagCall list = BINDING.tags().list();
        final JsonNode body = connection.send(request(list.call(), tree(model)), true).body();
        return withTags(model, list.form().read(ApiCodec.items(body, list.at())));
    }
{{- end}}

    /** Changes the tags of a resource, and reports whether they were others. Their number is limited, so that some are removed first. */
    boolean retag(final ResourceModel live, final Map<String, String> desired) {
        final Map<String, String> current = tags(live);
        final Map<String, String> added = new TreeMap<>(desired);
        added.entrySet().removeAll(current.entrySet());
        final List<String> removed = current.keySet().stream().filter(key -> !desired.containsKey(key)).toList();
        final ApiBinding.Tags calls = BINDING.tags();
        if (!removed.isEmpty()) {
            final ApiRequest request = request(calls.untag().call(), tree(live));
            request.put(calls.untag().spot(), ApiCodec.JSON.valueToTree(removed));
            connection.send(request, false);
        }
        if (!added.isEmpty()) {
            final ApiRequest request = request(calls.tag().call(), tree(live));
            request.put(calls.tag().spot(), calls.tag().form().write(added));
            connection.send(request, false);
        }
        return !added.isEmpty() || !removed.isEmpty();
    }

    /** Returns the tags that a model has. */
    static Map<String, String> tags(final ResourceModel model) {
        return BINDING.tags().form().read(tree(model).path(BINDING.tags().property()));
    }

    /** Returns a model with other tags. */
    static ResourceModel withTags(final ResourceModel model, final Map<String, String> tags) {
        final ObjectNode values = tree(model);
        values.remove(BINDING.tags().property());
        return model(tags.isEmpty() ? values : values.set(BINDING.tags().property(), BINDING.tags().form().write(tags)));
    }
{{- end}}

    /** Returns a model with the identifiers only. */
    static ResourceModel identifiers(final ResourceModel model) {
        return model(tree(model).retain(BINDING.identifier()));
    }

    /** Returns the identifier of a model for messages. */
    static String identifier(final ResourceModel model) {
        final ObjectNode values = tree(model);
        return BINDING.identifier().stream().map(name -> values.path(name).asText()).collect(Collectors.joining("|"));
    }

    /** Returns a model with the properties of another one instead of and beside its own. */
    static ResourceModel merge(final ResourceModel model, final ResourceModel other) {
        return model(tree(model).setAll(tree(other)));
    }
{{- if .API.Later}}

    /** Returns a model with the properties only that create sends. */
    static ResourceModel created(final ResourceModel model) {
        return model(tree(model).retain(BINDING.create().send().stream().map(ApiBinding.Bound::property).toList()));
    }
{{- end}}

    /** Returns the live resource with the properties of the desired one that reads never return. */
    static ResourceModel complete(final ResourceModel desired, final ResourceModel live) {
        final ObjectNode unreturned = tree(desired);
        BINDING.read().receive().forEach(bound -> unreturned.remove(bound.property()));
        return model(unreturned.setAll(tree(live)));
    }

    /** Reports whether a model has values for some properties. */
    static boolean has(final ResourceModel model, final List<String> properties) {
        final ObjectNode values = tree(model);
        return properties.stream().allMatch(values::has);
    }

    /** Reports whether two models differ in some properties. */
    static boolean differ(final ResourceModel a, final ResourceModel b, final List<String> properties) {
        return !model(tree(a).retain(properties)).equals(model(tree(b).retain(properties)));
    }

{{- if and .API.HasUpdate .API.CreateOnly}}

    /** Reports whether a model has another value of a create-only property, a path with slashes, than before. */
    static boolean replaces(final ResourceModel desired, final ResourceModel previous, final ResourceModel live, final String property) {
        final JsonNode wanted = tree(desired).at("/" + property);
        final JsonNode old = tree(previous).at("/" + property);
        final JsonNode now = tree(live).at("/" + property);
        if (wanted.isMissingNode() || old.isMissingNode() && now.isMissingNode()) {
            return false; // reads do not return write-only values
        }
        if (property.contains("/")) {
            return !wanted.equals(old) && !wanted.equals(now);
        }
        return differ(desired, previous, List.of(property)) && differ(desired, live, List.of(property));
    }
{{- end}}

    private ApiRequest request(final ApiBinding.Call call, final ObjectNode values) {
        return request(call, values, List.of());
    }

    /** Returns a request that sets some of the properties back, in the order of the API. */
    private ApiRequest request(final ApiBinding.Call call, final ObjectNode values, final List<String> resets) {
        final ApiRequest request = new ApiRequest(call);
        for (final ApiBinding.Bound bound : call.send()) {
            if (bound.reset() != null && resets.contains(bound.property())) {
                request.put(bound.spot(), {{if .API.XML}}ApiXml.tree(bound.reset(), bound){{else}}bound.reset(){{end}});
                continue;
            }
            final JsonNode value = ApiCodec.encode(values.get(bound.property()), bound.shape());
            if (value == null || bound.in().equals("path") && bound.shape().text() && value.isTextual()) {
                continue; // no resource has this
            }
            request.put(bound.spot(), {{if .API.XML}}ApiXml.tree(value, bound){{else}}value{{end}});
            if (!BINDING.identifier().contains(bound.property())) {
                request.addSecrets(values.get(bound.property()), bound.shape(), bound.secret());
            }
        }
        for (final ApiBinding.Fixed fixed : call.fixed()) {
            request.put(new ApiBinding.Spot(fixed.in(), fixed.at()), TextNode.valueOf(fixed.value()));
        }
        if (call.token() != null) {
            request.put(call.token(), TextNode.valueOf(idempotencyToken));
        }
        return request;
    }

    private static ObjectNode tree(final ResourceModel model) {
        return model == null ? ApiCodec.JSON.createObjectNode() : ApiCodec.JSON.valueToTree(model);
    }

    private static ResourceModel model(final JsonNode values) {
        try {
            return ApiCodec.JSON.treeToValue(values, ResourceModel.class);
        } catch (JsonMappingException e) {
            final String property = e.getPath().stream().map(JsonMappingException.Reference::getFieldName).collect(Collectors.joining("/"));
            throw new ApiException(HandlerErrorCode.GeneralServiceException, "the API returned a value that does not fit the schema at /" + property);
        } catch (JsonProcessingException e) {
            throw new ApiException(HandlerErrorCode.GeneralServiceException, "the API returned a value that does not fit the schema");
        }
    }

    /** Returns a UUID that depends on the request only: every delivery of it has the same. */
    private static String idempotencyToken(final String text) {
        try {
            final ByteBuffer hash = ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
            return new UUID(hash.getLong() & ~0xf000L | 0x5000L, hash.getLong() & ~(3L << 62) | 1L << 63).toString();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every Java runtime has it
        }
    }
}
