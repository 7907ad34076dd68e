package {{.Package}};

import software.amazon.cloudformation.exceptions.CfnNotFoundException;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

/** Calls {{.API.Delete}}, and waits until {{.API.Read}} finds nothing. */
public class DeleteHandler extends BaseHandlerStd {
    @Override
    protected ProgressEvent<ResourceModel, CallbackContext> handleRequest(
        final ApiClient api, final ResourceHandlerRequest<ResourceModel> request, final CallbackContext context) {

        {{if .API.Additional}}request.setDesiredResourceState({{.API.Desired}});
        {{end}}final ResourceModel live;
        try {
            live = read(api, request.getDesiredResourceState());
        } catch (CfnNotFoundException e) {
            if (context.isDeleting()) {
                return ProgressEvent.defaultSuccessHandler(null);
            }
            throw e;
        }
        if (context.isDeleting()) {
            return await(request, context);
        }
        api.delete(live);
        context.setDeleting(true);
        return proceed(request, context);
    }
}
