// {{.Marker}}
package {{.Package}};

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.signer.Aws4Signer;
import software.amazon.awssdk.auth.signer.params.Aws4SignerParams;
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration;
import software.amazon.awssdk.core.pagination.sync.SdkIterable;
import software.amazon.awssdk.http.SdkHttpFullRequest;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.cloudformation.model.ListTypesRequest;
import software.amazon.awssdk.services.cloudformation.model.ListTypesResponse;
{{- if .API.S3}}
import software.amazon.awssdk.utils.Md5Utils;
{{- end}}
import software.amazon.cloudformation.proxy.AmazonWebServicesClientProxy;
import software.amazon.cloudformation.proxy.HandlerErrorCode;

/** Sends requests to the API: where it is, with which credentials, and what its errors mean. */
final class ApiConnection {
    private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(25);
    private static final Duration CALL_TIMEOUT = Duration.ofSeconds(50);
    private static final int MAX_RESPONSE_BYTES = 8 << 20;
    private static final int MAX_MESSAGE_LENGTH = 300;
    private static final int RETRIES = 2;

    private static final HttpClient HTTP = HttpClient.newBuilder()
        .version(HttpClient.Version.HTTP_1_1)
        .followRedirects(HttpClient.Redirect.NEVER) // they could take the credentials to another server
        .connectTimeout(Duration.ofSeconds(10))
        .build();

    private static final Map<String, AccessToken> ACCESS_TOKENS = new ConcurrentHashMap<>();

    private final ApiBinding binding;
    private final AmazonWebServicesClientProxy proxy;
    private final JsonNode configuration;
    private final String region;
    private final URI endpoint;
    private final Instant deadline = Instant.now().plus(CALL_TIMEOUT);
    private String tokenKey = "";
{{- if .API.Host}}
    private boolean prefixed; // operations have hosts of their own, below that of the endpoint
{{- end}}

    private record AccessToken(String value, Instant expires) {}

    private record Response(int status, Map<String, String> headers, byte[] body) {
        JsonNode json() throws IOException {
            return body.length == 0 ? MissingNode.getInstance() : ApiCodec.JSON.readTree(new String(body, StandardCharsets.UTF_8));
        }
{{- if .API.XML}}

        JsonNode xml() throws IOException {
            return new String(body, StandardCharsets.UTF_8).isBlank() ? MissingNode.getInstance() : ApiXml.read(body);
        }
{{- end}}
    }

    /** A response without an error. */
    record Answer(JsonNode body, Map<String, String> headers) {
        static Answer of(final JsonNode body) {
            return new Answer(body, Map.of());
        }
    }

    /** Where the configuration of the type, which may be null, overrides the API and the region. */
    ApiConnection(
        final ApiBinding binding, final AmazonWebServicesClientProxy proxy, final JsonNode configuration, final String requestRegion) {
        this.binding = binding;
        this.proxy = proxy;
        this.configuration = configuration == null ? MissingNode.getInstance() : configuration;
        this.region = this.configuration.path("Region").asText(requestRegion);
        this.endpoint = endpoint();
    }

    private URI endpoint() {
        String url = configuration.path("Endpoint").asText("");
        if (url.isEmpty() && binding.auth().kind().equals("sigv4")) {
            url = Optional.ofNullable(System.getenv("AWS_ENDPOINT_URL")).orElse("");
        }
{{- if .API.Host}}
        prefixed = url.isEmpty();
{{- end}}
        if (url.isEmpty() && binding.endpoint() != null) {
            url = binding.endpoint();
        }
        if (url.isEmpty()) {
            throw new ApiException(HandlerErrorCode.InvalidTypeConfiguration, "the API has no endpoint; set Endpoint in the type configuration");
        }
        return url(url.replace("{Region}", region).replaceAll("/+$", ""), "Endpoint");
    }

    private static URI url(final String text, final String property) {
        try {
            final URI url = URI.create(text);
            if (url.getHost() != null && ("http".equalsIgnoreCase(url.getScheme()) || "https".equalsIgnoreCase(url.getScheme()))) {
                return url;
            }
        } catch (IllegalArgumentException e) {
            // not a URL, as below
        }
        throw new ApiException(HandlerErrorCode.InvalidTypeConfiguration, property + " is not a URL that begins with http:// or https://");
    }

    /** Sends a request. One that only reads is repeated when the API is busy; all others are for CloudFormation to repeat. */
    Answer send(final ApiRequest request, final boolean reading) {
        final ApiBinding.Call call = request.call();
        for (int attempt = 0;; attempt++) {
            HttpRequest http = authenticated(request);
            Response response = exchange(call.name(), http);
            if (response.status == 401 && ACCESS_TOKENS.remove(tokenKey) != null) { // it may have been revoked
                http = authenticated(request);
                response = exchange(call.name(), http);
            }
            if (response.status / 100 == 2) {
                try {
                    return new Answer(response.{{if .API.Query}}xml().path(call.result()){{else if .API.XML}}xml(){{else}}json(){{end}}, response.headers);
                } catch (IOException e) {
                    if (call == binding.delete()) { // nothing is needed of it
                        return Answer.of(MissingNode.getInstance());
                    }
                    throw new ApiException(HandlerErrorCode.GeneralServiceException, call.name() + ": the response is not {{if .API.XML}}XML{{else}}JSON{{end}}");
                }
            }
            final ApiException failure = failure(call, response, secrets(request, http));
            final boolean busy = failure.getErrorCode() == HandlerErrorCode.Throttling || response.status == 503;
            if (!reading || !busy || attempt == RETRIES || !pause(response, attempt)) {
                throw failure;
            }
        }
    }
{{- if .API.Host}}

    URI url(final ApiRequest request) {
        final String host = request.host();
        return URI.create((prefixed ? endpoint.toString().replace("://", "://" + host) : endpoint) + request.target());
    }
{{- end}}

    private HttpRequest authenticated(final ApiRequest request) {
        URI target = {{if .API.Host}}url(request){{else}}URI.create(endpoint + request.target()){{end}};
        final Map<String, String> headers = new TreeMap<>(request.headers());
        final byte[] body = request.body();
        for (final ApiBinding.Key key : binding.auth().keys()) {
            final String value = credential(key.property());
            switch (key.in()) {
                case "query" ->
                    target = URI.create(target + (target.getRawQuery() == null ? "?" : "&") + ApiCodec.escape(key.name()) + "=" + ApiCodec.escape(value));
                case "cookie" -> headers.merge("Cookie", key.name() + "=" + value, (others, own) -> others + "; " + own);
                default -> headers.put(key.name(), value);
            }
        }
        switch (binding.auth().kind()) {
            case "bearer" -> headers.put("Authorization", "Bearer " + credential("BearerToken"));
            case "basic" -> headers.put("Authorization", basic(credential("Basic", "Username"), credential("Basic", "Password")));
            case "oauth2" -> headers.put("Authorization", "Bearer " + accessToken());
            case "sigv4" -> headers.putAll(signature(request.call().method(), target, headers, body, Clock.systemUTC()));
            default -> { }
        }
        return httpRequest(request.call().method(), target, headers, body);
    }

    private static HttpRequest httpRequest(final String method, final URI url, final Map<String, String> headers, final byte[] body) {
        try {
            final HttpRequest.BodyPublisher content =
                body.length == 0 ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofByteArray(body);
            final HttpRequest.Builder http = HttpRequest.newBuilder(url).method(method, content);
            headers.forEach(http::setHeader);
            return http.build();
        } catch (IllegalArgumentException e) {
            throw new ApiException(HandlerErrorCode.InvalidRequest, "a value is not allowed in a header of the request"); // which may be secret
        }
    }

    private String credential(final String... path) {
        final String value = ApiCodec.at(configuration, List.of(path)).asText("");
        if (value.isEmpty()) {
            throw new ApiException(HandlerErrorCode.InvalidCredentials, "the API needs credentials; set " + String.join(".", path) + " in the type configuration");
        }
        return value;
    }

    private static String basic(final String user, final String password) {
        return "Basic " + Base64.getEncoder().encodeToString((user + ":" + password).getBytes(StandardCharsets.UTF_8));
    }

    /** Gets an access token for the credentials of the client, and keeps it as long as it is valid. */
    private String accessToken() {
        final String id = credential("OAuth", "ClientId");
        final String secret = credential("OAuth", "ClientSecret");
        final String url = configuration.path("OAuth").path("TokenUrl").asText(Optional.ofNullable(binding.auth().tokenUrl()).orElse(""));
        final URI target = url(url.startsWith("/") ? endpoint.resolve(url).toString() : url, "OAuth.TokenUrl");
        final String scopes = configuration.path("OAuth").path("Scopes").asText("");
        final String form = "grant_type=client_credentials" + (scopes.isEmpty() ? "" : "&scope=" + ApiCodec.escape(scopes));
        tokenKey = String.join("\n", target.toString(), form, id, secret);
        final AccessToken known = ACCESS_TOKENS.get(tokenKey);
        if (known != null && known.expires.isAfter(Instant.now())) {
            return known.value;
        }
        final HttpRequest request = httpRequest("POST", target, Map.of(
            "Authorization", basic(ApiCodec.escape(id), ApiCodec.escape(secret)),
            "Accept", "application/json", "Content-Type", "application/x-www-form-urlencoded"), form.getBytes(StandardCharsets.UTF_8));
        final Response response = exchange("the request for an access token", request);
        try {
            final JsonNode token = response.json();
            if (response.status == 200 && token.path("access_token").isTextual()) {
                final long seconds = Math.min(token.path("expires_in").asLong(60), 24 * 60 * 60) - 30;
                ACCESS_TOKENS.put(tokenKey, new AccessToken(token.path("access_token").textValue(), Instant.now().plusSeconds(seconds)));
                return token.path("access_token").textValue();
            }
        } catch (IOException e) {
            // no token, as below
        }
        throw new ApiException(
            response.status >= 500 ? HandlerErrorCode.ServiceInternalError : HandlerErrorCode.InvalidCredentials,
            "the request for an access token failed with status " + response.status);
    }

    /** Returns the headers of a request, signed at the time of the clock. */
    Map<String, String> signature(
        final String method, final URI url, final Map<String, String> headers, final byte[] body, final Clock clock) {

        final SdkHttpFullRequest.Builder unsigned = SdkHttpFullRequest.builder()
            .method(SdkHttpMethod.fromValue(method))
            .uri(url)
            .contentStreamProvider(() -> new ByteArrayInputStream(body));
        headers.forEach(unsigned::putHeader);
{{- if .API.S3}}
        unsigned.putHeader("X-Amz-Content-Sha256", "required"); // the signer replaces it
        if (body.length > 0) {
            unsigned.putHeader("Content-MD5", Md5Utils.md5AsBase64(body)); // S3 refuses some requests without it
        }
{{- end}}
        final SdkHttpFullRequest signed = Aws4Signer.create().sign(unsigned.build(), Aws4SignerParams.builder()
            .awsCredentials(credentials())
            .signingName(binding.auth().service())
            .signingRegion(Region.of(region))
            .signingClockOverride(clock)
{{- if .API.S3}}
            .doubleUrlEncode(false)
            .normalizePath(false)
{{- end}}
            .build());
        final Map<String, String> added = new TreeMap<>();
        signed.headers().forEach((name, values) -> added.put(name, String.join(",", values)));
        added.remove("Host"); // the client sends the same
        return added;
    }

    /** Returns the credentials of the call, which the library passes only to requests of the SDK. */
    private AwsCredentials credentials() {
        final AtomicReference<AwsCredentials> found = new AtomicReference<>();
        proxy.<ListTypesRequest, ListTypesResponse, SdkIterable<ListTypesResponse>>injectCredentialsAndInvokeIterableV2(
            ListTypesRequest.builder().build(), request -> {
                request.overrideConfiguration()
                    .flatMap(AwsRequestOverrideConfiguration::credentialsProvider)
                    .ifPresent(provider -> found.set(provider.resolveCredentials()));
                return Collections::emptyIterator;
            });
        return found.get();
    }

    private Response exchange(final String what, final HttpRequest request) {
        final Duration left = Duration.between(Instant.now(), deadline);
        if (left.isNegative()) {
            throw new ApiException(HandlerErrorCode.NetworkFailure, what + " timed out");
        }
        final ByteArrayOutputStream body = new ByteArrayOutputStream();
        final CompletableFuture<HttpResponse<Void>> pending = HTTP.sendAsync(request, HttpResponse.BodyHandlers.ofByteArrayConsumer(part ->
            part.ifPresent(bytes -> {
                if (body.size() + bytes.length > MAX_RESPONSE_BYTES) {
                    throw new ApiException(HandlerErrorCode.GeneralServiceException, what + ": the response is larger than " + MAX_RESPONSE_BYTES + " bytes");
                }
                body.writeBytes(bytes);
            })));
        try {
            final HttpResponse<Void> response =
                pending.get(Math.min(REQUEST_TIMEOUT.toMillis(), left.toMillis()), TimeUnit.MILLISECONDS);
            final Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
            response.headers().map().forEach((name, values) -> headers.put(name, values.get(0)));
            return new Response(response.statusCode(), headers, body.toByteArray());
        } catch (TimeoutException e) {
            throw new ApiException(HandlerErrorCode.NetworkFailure, what + " timed out");
        } catch (ExecutionException e) {
            if (e.getCause() instanceof ApiException) {
                throw (ApiException) e.getCause();
            }
            throw new ApiException(HandlerErrorCode.NetworkFailure, what + " failed: " + e.getCause().getClass().getSimpleName());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ApiException(HandlerErrorCode.NetworkFailure, what + " was interrupted");
        } finally {
            pending.cancel(true);
        }
    }

    /** Returns what messages must not repeat: credentials, and values that are secret. */
    private List<String> secrets(final ApiRequest request, final HttpRequest http) {
        final List<String> secrets = new ArrayList<>(request.secrets());
        for (final ApiBinding.Key key : binding.auth().keys()) {
            secrets.add(key.secret() ? configuration.path(key.property()).asText("") : "");
        }
        for (final String path : new String[] {"BearerToken", "Basic.Password", "OAuth.ClientSecret"}) {
            secrets.add(ApiCodec.at(configuration, List.of(path.split("\\."))).asText(""));
        }
        secrets.add(http.headers().firstValue("Authorization").orElse("").replaceFirst("^\\S+ ", ""));
        secrets.add(http.headers().firstValue("X-Amz-Security-Token").orElse(""));
        secrets.removeIf(String::isEmpty);
        secrets.sort(Comparator.comparingInt(String::length).reversed());
        return secrets;
    }

    private ApiException failure(final ApiBinding.Call call, final Response response, final List<String> secrets) {
        JsonNode body = MissingNode.getInstance();
        try {
{{- if .API.XML}}
            body = response.xml();
            body = body.path("Error").isObject() ? body.path("Error") : body;
{{- else}}
            body = response.json();
{{- end}}
        } catch (IOException e) {
            // the status must do
        }
        final String status = String.valueOf(response.status);
        HandlerErrorCode code = call.errors().get(errorName(response, body));
        if (code == null) {
            code = call.errors().get(status);
        }
        if (code == null) {
            code = binding.statuses().get(status);
        }
        if (code == null) {
            code = response.status >= 500 ? HandlerErrorCode.ServiceInternalError : HandlerErrorCode.InvalidRequest;
        }
        String message = response.status < 400
            ? "redirects are not followed; set Endpoint in the type configuration to the URL of the API"
            : message(body);
        for (final String secret : secrets) {
            message = hide(message, secret);
        }
        message = message.substring(0, Math.min(message.length(), MAX_MESSAGE_LENGTH));
        return new ApiException(code, call.name() + ": status " + status + (message.isEmpty() ? "" : ": " + message));
    }

    /**
     * Replaces a secret in a message. One of fewer than 4 characters is replaced only where no letter or digit is next
     * to it: words may contain it, and the message would be unreadable.
     */
    private static String hide(final String message, final String secret) {
        if (secret.codePointCount(0, secret.length()) > 3) {
            return message.replace(secret, "***");
        }
        return message.replaceAll("(?<![\\p{L}\\p{N}])" + Pattern.quote(secret) + "(?![\\p{L}\\p{N}])", "***");
    }

    private static String errorName(final Response response, final JsonNode body) {
        String name = response.headers.getOrDefault("X-Amzn-Errortype", "");
        for (final String member : new String[] {"__type", "code", "Code"}) {
            name = name.isEmpty() ? body.path(member).asText("") : name;
        }
        return name.replaceFirst("^.*#", "").replaceFirst(":.*$", "");
    }

    /** Returns the message of an error, wherever APIs put it. */
    private static String message(final JsonNode body) {
        if (body.path("detail").has(0)) { // of FastAPI, whose other members repeat the request
            return body.path("detail").path(0).path("msg").asText("");
        }
        final JsonNode first = body.path("errors").path(0);
        for (final JsonNode from : new JsonNode[] {body, first}) {
            for (final String name : new String[] {"message", "Message", "error", "detail", "title", "errorSummary", "error_description"}) {
                final JsonNode value = from.path(name);
                final String text = value.isTextual() ? value.textValue() : value.path("message").asText("");
                if (!text.isEmpty()) {
                    return text;
                }
            }
        }
        return first.asText("");
    }

    /** Waits before a repetition, and reports whether there is time for it. */
    private boolean pause(final Response response, final int attempt) {
        long seconds = 1L << attempt;
        try {
            seconds = Long.parseLong(response.headers.getOrDefault("Retry-After", String.valueOf(seconds)));
        } catch (NumberFormatException e) {
            // a date; the default will do
        }
        if (seconds > 5 || Instant.now().plusSeconds(seconds).plus(REQUEST_TIMEOUT).isAfter(deadline)) {
            return false;
        }
        try {
            Thread.sleep(Duration.ofSeconds(Math.max(0, seconds)).toMillis());
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
