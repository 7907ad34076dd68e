package {{.Package}};
{{if eq .API.Find "list"}}
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
{{- end}}
{{- if eq .API.Find "identifier"}}
import software.amazon.cloudformation.exceptions.CfnAlreadyExistsException;
{{- end}}
import software.amazon.cloudformation.exceptions.CfnNotFoundException;
import software.amazon.cloudformation.proxy.HandlerErrorCode;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

/** Calls {{.API.Create}}, and waits until {{.API.Read}} returns the resource{{if .API.Wait}} as it should be{{end}}. */
public class CreateHandler extends BaseHandlerStd {
{{- if eq .API.Find "list"}}
    /** The properties by which a resource is found again. */
    private static final List<String> UNIQUE = List.of({{.API.Unique}});

    /** Errors with which the response of a create may be lost. */
    private static final Set<HandlerErrorCode> LOST =
        Set.of(HandlerErrorCode.NetworkFailure, HandlerErrorCode.ServiceInternalError, HandlerErrorCode.GeneralServiceException);
{{end}}
    @Override
    protected ProgressEvent<ResourceModel, CallbackContext> handleRequest(
        final ApiClient api, final ResourceHandlerRequest<ResourceModel> request, final CallbackContext context) {

        final ResourceModel desired = request.getDesiredResourceState();
        if (context.isCreated()) {
            try {
{{- if .API.Later}}
                final ResourceModel live = read(api, desired);

                // Updates set what create does not:
{{- range .API.Updates}}{{if .Later}}
                // {{.Name}}: {{.Properties}}
{{- end}}{{end}}
                if ({{if .API.Waits}}isReady(live) && {{end}}update(api, context, desired, ApiClient.created(desired), live)) {
                    return proceed(request, context);
                }
                return finish({{if .API.Tags}}api, {{end}}request, context, live);
{{- else}}
                return finish({{if .API.Tags}}api, {{end}}request, context, read(api, desired));
{{- end}}
            } catch (CfnNotFoundException e) { // reads may lag behind
                return repeat(request, context, new ApiException(HandlerErrorCode.NotStabilized, "the new resource cannot be read", e));
            }
        }
{{- if eq .API.Find "identifier"}}

        // The first call only looks. From the second call on, a resource that exists comes from an earlier delivery of
        // this request, whose response was lost.
        if (!context.isChecked()) {
            if (readOrNull(api, desired) != null) {
                throw new CfnAlreadyExistsException(ResourceModel.TYPE_NAME, ApiClient.identifier(desired));
            }
            context.setChecked(true);
            return proceed(request, context);
        }
        ResourceModel created = desired;
        try {
            created = {{.API.CreateCall}};
        } catch (ApiException e) {
            if (e.getErrorCode() != HandlerErrorCode.AlreadyExists && e.getErrorCode() != HandlerErrorCode.ResourceConflict) {
                throw e;
            }
        }
{{- else if eq .API.Find "list"}}

        // The service chooses the identifier. After a lost response, a new resource with the same properties is the one
        // that was made; what the service refused was not made.
        final Set<String> others = same(api, desired, UNIQUE).stream().map(ApiClient::identifier).collect(Collectors.toSet());
        ResourceModel created;
        try {
            created = {{.API.CreateCall}};
        } catch (ApiException e) {
            if (!LOST.contains(e.getErrorCode())) {
                throw e;
            }
            created = same(api, desired, UNIQUE).stream()
                .filter(found -> !others.contains(ApiClient.identifier(found)))
                .findFirst()
                .orElseThrow(() -> e);
        }
{{- else}}
        final ResourceModel created = {{.API.CreateCall}};
{{- end}}
        request.setDesiredResourceState(ApiClient.merge(desired, ApiClient.identifiers(created)));
        context.setCreated(true);
        return proceed(request, context);
    }
}
