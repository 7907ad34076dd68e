package {{.Package}};

import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

/** Calls {{.API.Read}}. */
public class ReadHandler extends BaseHandlerStd {
    @Override
    protected ProgressEvent<ResourceModel, CallbackContext> handleRequest(
        final ApiClient api, final ResourceHandlerRequest<ResourceModel> request, final CallbackContext context) {

        return ProgressEvent.defaultSuccessHandler(read(api, {{.API.Desired}}));
    }

    @Override
    protected boolean isRepeatable(final ResourceHandlerRequest<ResourceModel> request) {
        return false; // a read answers at once
    }
}
