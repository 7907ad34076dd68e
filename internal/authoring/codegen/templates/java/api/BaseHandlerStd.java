package {{.Package}};
{{if .API.Finds}}
import java.util.ArrayList;
{{- end}}
{{- if .API.Lists}}
import java.util.List;
{{- end}}
import software.amazon.cloudformation.exceptions.BaseHandlerException;
{{- if .API.NotFound}}
import software.amazon.cloudformation.exceptions.CfnNotFoundException;
{{- end}}
import software.amazon.cloudformation.proxy.AmazonWebServicesClientProxy;
{{- if .API.Failure}}
import software.amazon.cloudformation.proxy.HandlerErrorCode;
{{- end}}
import software.amazon.cloudformation.proxy.Logger;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

/**
 * What the handlers share. They call {{.API.Service}} by {@link ApiClient}; api.json says which properties each operation
 * sends and returns, and where. The handlers are yours: cfn generate keeps what you change here.
 */
abstract class BaseHandlerStd extends BaseHandler<CallbackContext, TypeConfigurationModel> {
    private static final int DELAY_SECONDS = {{.API.Delay}};
    private static final int MAX_REPETITIONS = 30;

    @Override
    public final ProgressEvent<ResourceModel, CallbackContext> handleRequest(
        final AmazonWebServicesClientProxy proxy,
        final ResourceHandlerRequest<ResourceModel> request,
        final CallbackContext callbackContext,
        final Logger logger,
        final TypeConfigurationModel typeConfiguration) {

        final CallbackContext context = callbackContext == null ? new CallbackContext() : callbackContext;
        if (request.getDesiredResourceState() == null) {
            request.setDesiredResourceState(new ResourceModel());
        }
        try {
            return handleRequest(new ApiClient(proxy, request, typeConfiguration), request, context);
        } catch (ApiException e) {
            if (!e.isTransient() || !isRepeatable(request)) {
                throw e;
            }
            return repeat(request, context, e);
        }
    }

    protected abstract ProgressEvent<ResourceModel, CallbackContext> handleRequest(
        ApiClient api, ResourceHandlerRequest<ResourceModel> request, CallbackContext context);

    /** Reports whether an error that may not occur again can wait for another call of the handler, which needs the identifier. */
    protected boolean isRepeatable(final ResourceHandlerRequest<ResourceModel> request) {
        return ApiClient.has(request.getDesiredResourceState(), ApiClient.BINDING.identifier());
    }

    /** Continues in another call of the handler, unless there were too many of them. */
    protected static ProgressEvent<ResourceModel, CallbackContext> repeat(
        final ResourceHandlerRequest<ResourceModel> request, final CallbackContext context, final BaseHandlerException cause) {

        if (context.getRepetitions() >= MAX_REPETITIONS) {
            throw cause;
        }
        context.setRepetitions(context.getRepetitions() + 1);
        return await(request, context);
    }

    protected static ProgressEvent<ResourceModel, CallbackContext> await(
        final ResourceHandlerRequest<ResourceModel> request, final CallbackContext context) {

        return ProgressEvent.defaultInProgressHandler(context, DELAY_SECONDS, request.getDesiredResourceState());
    }

    /** Continues at once in another call of the handler: if this one is repeated, it does not repeat what is done. */
    protected static ProgressEvent<ResourceModel, CallbackContext> proceed(
        final ResourceHandlerRequest<ResourceModel> request, final CallbackContext context) {

        return ProgressEvent.defaultInProgressHandler(context, 0, request.getDesiredResourceState());
    }
{{- if .API.Updates}}

    /** Makes the next call of an update that has something to change, and reports whether there was one. */
    protected static boolean update(
        final ApiClient api, final CallbackContext context, final ResourceModel desired, final ResourceModel previous, final ResourceModel live) {

        final List<ApiBinding.Call> updates = ApiClient.BINDING.update();
        while (context.getUpdates() < updates.size()) {
            final ApiBinding.Call update = updates.get(context.getUpdates());
            final boolean changed = api.update(update, desired, previous, live);
            context.setUpdates(context.getUpdates() + 1);
            if (changed) {
                return true;
            }
        }
        return false;
    }
{{- end}}

    /** Ends a create or update as soon as the resource is as requested. */
    protected static ProgressEvent<ResourceModel, CallbackContext> finish(
        {{if .API.Tags}}final ApiClient api, {{end}}final ResourceHandlerRequest<ResourceModel> request, final CallbackContext context, final ResourceModel live) {
{{- if .API.Waits}}

        if (!isReady(live)) {
            return await(request, context);
        }
{{- end}}
{{- if .API.Tags}}
        if (api.retag(live, request.getDesiredResourceTags())) {
            return proceed(request, context);
        }
{{- end}}
        return ProgressEvent.defaultSuccessHandler(ApiClient.complete(request.getDesiredResourceState(), live));
    }

    /** Calls {{.API.Read}}. */
    protected static ResourceModel read(final ApiClient api, final ResourceModel model) {
{{- if or .API.Gone .API.TagList}}
        final ResourceModel found = api.read(model);
{{- if .API.Gone}}
        if (isGone(found)) {
            throw new CfnNotFoundException(ResourceModel.TYPE_NAME, ApiClient.identifier(model));
        }
{{- end}}
        return {{if .API.TagList}}api.withTags(found){{else}}found{{end}};
{{- else}}
        return api.read(model);
{{- end}}
    }
{{- if .API.Waits}}

    /** Reports whether the service has done what was requested. */
    protected static boolean isReady(final ResourceModel live) {
        return switch (String.valueOf(live.{{.API.Wait}}())) {
{{- if .API.Success}}
            case {{.API.Success}} -> true;
{{- end}}
{{- if .API.Failure}}
            case {{.API.Failure}} -> throw new ApiException(
                HandlerErrorCode.NotStabilized, ApiClient.identifier(live) + " is " + live.{{.API.Wait}}());
{{- end}}
{{- if .API.Success}}
            default -> false;
{{- else}}
{{- if .API.Pending}}
            case {{.API.Pending}} -> false;
{{- end}}
            default -> true;
{{- end}}
        };
    }
{{- end}}
{{- if .API.Gone}}

    /** Reports whether the service still shows a resource that was deleted. */
    protected static boolean isGone(final ResourceModel live) {
        return List.of({{.API.Gone}}).contains(String.valueOf(live.{{.API.Wait}}()));
    }
{{- end}}
{{- if .API.Additional}}

    /** Returns a model with the identifier, which a request may name by another one. */
    protected static ResourceModel identified(final ApiClient api, final ResourceModel model) {
        if (ApiClient.has(model, ApiClient.BINDING.identifier())) {
            return model;
        }
        for (final List<String> other : List.of({{.API.Additional}})) {
            if (!ApiClient.has(model, other)) {
                continue;
            }
            for (final ResourceModel found : same(api, model, other)) {
                return ApiClient.merge(model, ApiClient.identifiers(found));
            }
        }
        throw new CfnNotFoundException(ResourceModel.TYPE_NAME, ApiClient.identifier(model));
    }
{{- end}}
{{- if .API.Finds}}

    /** Returns the resources of {{.API.List}} that have the values of a model in some properties. */
    protected static List<ResourceModel> same(final ApiClient api, final ResourceModel model, final List<String> properties) {
        final List<ResourceModel> all = new ArrayList<>();
        String token = null;
        do {
            final ApiClient.Listed page = api.list(model, token);
            for (final ResourceModel item : page.models()) {
                final ResourceModel found = ApiClient.has(item, properties) ? item : readOrNull(api, item);
                if (found != null{{if .API.Gone}} && !isGone(found){{end}} && !ApiClient.differ(found, model, properties)) {
                    all.add(found);
                }
            }
            token = page.nextToken();
        } while (token != null);
        return all;
    }
{{- end}}
{{- if or .API.Finds (eq .API.Find "identifier")}}

    protected static ResourceModel readOrNull(final ApiClient api, final ResourceModel model) {
        try {
            return read(api, model);
        } catch (CfnNotFoundException e) {
            return null;
        }
    }
{{- end}}
}
