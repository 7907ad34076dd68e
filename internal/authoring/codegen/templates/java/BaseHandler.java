// {{.Marker}}
package {{.Package}};

import software.amazon.cloudformation.proxy.AmazonWebServicesClientProxy;
import software.amazon.cloudformation.proxy.Logger;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

/** What the handler of one operation implements. */
public abstract class BaseHandler<CallbackT{{if .Configured}}, ConfigurationT{{end}}> {

    public abstract ProgressEvent<ResourceModel, CallbackT> handleRequest(
        final AmazonWebServicesClientProxy proxy,
        final ResourceHandlerRequest<ResourceModel> request,
        final CallbackT callbackContext,
        final Logger logger{{if .Configured}},
        final ConfigurationT typeConfiguration{{end}});
}
