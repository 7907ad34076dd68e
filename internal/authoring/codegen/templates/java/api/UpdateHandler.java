package {{.Package}};
{{if .API.CreateOnly}}
import java.util.List;
import software.amazon.cloudformation.exceptions.CfnNotUpdatableException;
{{- end}}
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

/** Calls the operations whose properties change{{if .API.Tags}}, and changes the tags{{end}}. */
public class UpdateHandler extends BaseHandlerStd {
{{- if .API.CreateOnly}}
    private static final List<String> CREATE_ONLY = List.of({{.API.CreateOnly}});
{{end}}
    @Override
    protected ProgressEvent<ResourceModel, CallbackContext> handleRequest(
        final ApiClient api, final ResourceHandlerRequest<ResourceModel> request, final CallbackContext context) {

        final ResourceModel desired = {{.API.Desired}};
{{- if .API.Additional}}
        request.setDesiredResourceState(desired);
{{- end}}
        final ResourceModel live = read(api, desired);
{{- if or .API.Updates .API.CreateOnly}}
        final ResourceModel previous = request.getPreviousResourceState() == null ? live : request.getPreviousResourceState();
{{- end}}
{{- if .API.CreateOnly}}
        for (final String property : CREATE_ONLY) {
            if (ApiClient.replaces(desired, previous, live, property)) {
                throw new CfnNotUpdatableException(ResourceModel.TYPE_NAME, ApiClient.identifier(desired));
            }
        }
{{- end}}
{{- if .API.Updates}}
{{- if and .API.Waits .API.SeveralUpdates}}
        if (context.getUpdates() > 0 && !isReady(live)) {
            return await(request, context);
        }
{{- end}}

        // One operation in each call of the handler, in this order:
{{- range .API.Updates}}
        // {{.Name}}: {{.Properties}}
{{- end}}
        if (update(api, context, desired, previous, live)) {
            return proceed(request, context);
        }
{{- end}}
        return finish({{if .API.Tags}}api, {{end}}request, context, live);
    }
}
