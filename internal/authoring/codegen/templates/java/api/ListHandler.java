package {{.Package}};

import software.amazon.cloudformation.proxy.OperationStatus;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

/** Calls {{.API.List}} for one page. */
public class ListHandler extends BaseHandlerStd {
    @Override
    protected ProgressEvent<ResourceModel, CallbackContext> handleRequest(
        final ApiClient api, final ResourceHandlerRequest<ResourceModel> request, final CallbackContext context) {

        final ApiClient.Listed page = api.list(request.getDesiredResourceState(), request.getNextToken());
        return ProgressEvent.<ResourceModel, CallbackContext>builder()
            .status(OperationStatus.SUCCESS)
            .resourceModels(page.models(){{if .API.Gone}}.stream().filter(model -> !isGone(model)).toList(){{end}})
            .nextToken(page.nextToken())
            .build();
    }

    @Override
    protected boolean isRepeatable(final ResourceHandlerRequest<ResourceModel> request) {
        return false; // a list answers at once
    }
}
