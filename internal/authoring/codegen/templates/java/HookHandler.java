package {{.Package}};

import software.amazon.cloudformation.proxy.AmazonWebServicesClientProxy;
import software.amazon.cloudformation.proxy.HandlerErrorCode;
import software.amazon.cloudformation.proxy.Logger;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.hook.HookHandlerRequest;
import software.amazon.cloudformation.proxy.hook.targetmodel.HookTargetModel;

public class {{.Operation.Name}}HookHandler extends BaseHookHandler<CallbackContext, TypeConfigurationModel> {

    @Override
    public ProgressEvent<HookTargetModel, CallbackContext> handleRequest(
        final AmazonWebServicesClientProxy proxy,
        final HookHandlerRequest request,
        final CallbackContext callbackContext,
        final Logger logger,
        final TypeConfigurationModel typeConfiguration) {

        // request.getHookContext() has the name of the target, and its model:
        //
        //     getTargetModel({{if .Operation.Target}}{{.Operation.Target}}TargetModel{{else}}TargetModel{{end}}.class).getResourceProperties()
        //
        // Return an event with the status SUCCESS if the target passes.
        return ProgressEvent.failed(null, null, HandlerErrorCode.InternalFailure,
            "{{.Operation.Name}} of {{.TypeName}} is not written yet: see {{.Operation.Name}}HookHandler.java");
    }
}
