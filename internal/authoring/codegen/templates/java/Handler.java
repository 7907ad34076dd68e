package {{.Package}};

import software.amazon.cloudformation.proxy.AmazonWebServicesClientProxy;
{{- if ne .Operation.Action "READ"}}
import software.amazon.cloudformation.proxy.HandlerErrorCode;
{{- end}}
import software.amazon.cloudformation.proxy.Logger;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

public class {{.Operation.Name}}Handler extends BaseHandler<CallbackContext{{if .Configured}}, TypeConfigurationModel{{end}}> {

    @Override
    public ProgressEvent<ResourceModel, CallbackContext> handleRequest(
        final AmazonWebServicesClientProxy proxy,
        final ResourceHandlerRequest<ResourceModel> request,
        final CallbackContext callbackContext,
        final Logger logger{{if .Configured}},
        final TypeConfigurationModel typeConfiguration{{end}}) {

        // request.getDesiredResourceState() is the model. Return
        //
{{- if eq .Operation.Action "LIST"}}
        //     ProgressEvent.<ResourceModel, CallbackContext>builder().resourceModels(models).status(OperationStatus.SUCCESS).build()
{{- else if eq .Operation.Action "DELETE"}}
        //     ProgressEvent.defaultSuccessHandler(null)
{{- else}}
        //     ProgressEvent.defaultSuccessHandler(model)
{{- end}}
{{- if eq .Operation.Action "READ"}}
        logger.log("READ of {{.TypeName}} is not written yet and returns the requested model: see ReadHandler.java");
        return ProgressEvent.defaultSuccessHandler(request.getDesiredResourceState());
{{- else}}
        return ProgressEvent.failed(null, null, HandlerErrorCode.InternalFailure,
            "{{.Operation.Action}} of {{.TypeName}} is not written yet: see {{.Operation.Name}}Handler.java");
{{- end}}
    }
}
