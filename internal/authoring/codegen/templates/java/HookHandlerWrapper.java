// {{.Marker}}
package {{.Package}};

import com.amazonaws.AmazonServiceException;
import com.amazonaws.services.lambda.runtime.Context;
import com.fasterxml.jackson.core.type.TypeReference;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.commons.io.IOUtils;
import org.json.JSONObject;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.cloudformation.HookInvocationPoint;
import software.amazon.cloudformation.{{.Parent}};
import software.amazon.cloudformation.exceptions.BaseHandlerException;
import software.amazon.cloudformation.loggers.LambdaLogPublisher;
import software.amazon.cloudformation.proxy.AmazonWebServicesClientProxy;
import software.amazon.cloudformation.proxy.HandlerErrorCode;
import software.amazon.cloudformation.proxy.LoggerProxy;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.hook.HookContext;
import software.amazon.cloudformation.proxy.hook.HookHandlerRequest;
import software.amazon.cloudformation.proxy.hook.HookHandlerTestPayload;
import software.amazon.cloudformation.proxy.hook.HookInvocationRequest;
import software.amazon.cloudformation.proxy.hook.targetmodel.HookTargetModel;

/** The entry point of the handlers of {{.TypeName}}. */
public final class {{.Class}} extends {{.Parent}}<HookTargetModel, CallbackContext, TypeConfigurationModel> {

    private static final TypeReference<HookInvocationRequest<TypeConfigurationModel, CallbackContext>> REQUEST_REFERENCE =
        new TypeReference<HookInvocationRequest<TypeConfigurationModel, CallbackContext>>() {};
    private static final TypeReference<TypeConfigurationModel> TYPE_REFERENCE = new TypeReference<TypeConfigurationModel>() {};
    private static final TypeReference<HookHandlerTestPayload<TypeConfigurationModel, CallbackContext>> TEST_ENTRY_TYPE_REFERENCE =
        new TypeReference<HookHandlerTestPayload<TypeConfigurationModel, CallbackContext>>() {};

    private final Configuration configuration = new Configuration();
    private final Map<HookInvocationPoint, BaseHookHandler<CallbackContext, TypeConfigurationModel>> handlers = new HashMap<>();
    private JSONObject hookSchema;

    public {{.Class}}() {
{{- range .Handlers}}
        handlers.put(HookInvocationPoint.fromShortName("{{.Action}}"), new {{.Name}}HookHandler());
{{- end}}
    }

    @Override
    public ProgressEvent<HookTargetModel, CallbackContext> invokeHandler(
        final AmazonWebServicesClientProxy proxy,
        final HookHandlerRequest request,
        final HookInvocationPoint invocationPoint,
        final CallbackContext callbackContext,
        final TypeConfigurationModel typeConfiguration) {

        final BaseHookHandler<CallbackContext, TypeConfigurationModel> handler = handlers.get(invocationPoint);
        if (handler == null) {
            throw new RuntimeException("Unknown invocationPoint " + invocationPoint);
        }
        loggerProxy.log(String.format("[%s] invoking handler...", invocationPoint));
        final ProgressEvent<HookTargetModel, CallbackContext> result =
            handler.handleRequest(proxy, request, callbackContext, loggerProxy, typeConfiguration);
        loggerProxy.log(String.format("[%s] handler invoked", invocationPoint));
        return result;
    }
{{if .Lambda}}
    /** Calls a handler with the request of a test, without the checks of a call by CloudFormation. */
    public void testEntrypoint(final InputStream inputStream, final OutputStream outputStream, final Context context) throws IOException {
        this.loggerProxy = new LoggerProxy();
        this.loggerProxy.addLogPublisher(new LambdaLogPublisher(context.getLogger()));
        ProgressEvent<HookTargetModel, CallbackContext> response = ProgressEvent.failed(null, null, HandlerErrorCode.InternalFailure, "Uninitialized");
        try {
            final HookHandlerTestPayload<TypeConfigurationModel, CallbackContext> payload =
                this.serializer.deserialize(IOUtils.toString(inputStream, StandardCharsets.UTF_8), TEST_ENTRY_TYPE_REFERENCE);
            final AmazonWebServicesClientProxy proxy = new AmazonWebServicesClientProxy(
                loggerProxy, payload.getCredentials(), () -> (long) context.getRemainingTimeInMillis());
            response = invokeHandler(proxy, payload.getRequest(), payload.getActionInvocationPoint(), payload.getCallbackContext(), payload.getTypeConfiguration());
        } catch (final BaseHandlerException e) {
            response = ProgressEvent.defaultFailureHandler(e, e.getErrorCode());
        } catch (final AmazonServiceException | AwsServiceException e) {
            response = ProgressEvent.defaultFailureHandler(e, HandlerErrorCode.GeneralServiceException);
        } catch (final Throwable e) {
            e.printStackTrace();
            response = ProgressEvent.defaultFailureHandler(e, HandlerErrorCode.InternalFailure);
        } finally {
            outputStream.write(this.serializer.serialize(response).getBytes(StandardCharsets.UTF_8));
            outputStream.close();
        }
    }
{{else}}
    /** Prints the response to the request that is the only argument. */
    public static void main(final String[] args) throws IOException {
        if (args.length != 1) {
            System.exit(1);
        }
        final ByteArrayOutputStream output = new ByteArrayOutputStream();
        try (InputStream input = new ByteArrayInputStream(args[0].getBytes(StandardCharsets.UTF_8))) {
            new {{.Class}}().handleRequest(input, output);
        }
        System.out.println("__CFN_HOOK_START_RESPONSE__");
        System.out.println(new String(output.toByteArray(), StandardCharsets.UTF_8));
        System.out.println("__CFN_HOOK_END_RESPONSE__");
    }
{{end}}
    @Override
    public JSONObject provideHookSchemaJSONObject() {
        if (hookSchema == null) {
            hookSchema = this.configuration.hookSchemaJSONObject();
        }
        return hookSchema;
    }

    @Override
    protected HookHandlerRequest transform(final HookInvocationRequest<TypeConfigurationModel, CallbackContext> request) throws IOException {
        return HookHandlerRequest.builder()
            .clientRequestToken(request.getClientRequestToken())
            .hookContext(HookContext.builder()
                .awsAccountId(request.getAwsAccountId())
                .stackId(request.getStackId())
                .changeSetId(request.getChangeSetId())
                .hookTypeName(request.getHookTypeName())
                .hookTypeVersion(request.getHookTypeVersion())
                .invocationPoint(request.getActionInvocationPoint())
                .targetName(request.getRequestData().getTargetName())
                .targetType(request.getRequestData().getTargetType())
                .targetLogicalId(request.getRequestData().getTargetLogicalId())
                .targetModel(HookTargetModel.of(request.getRequestData().getTargetModel()))
                .build())
            .build();
    }

    @Override
    protected TypeReference<HookInvocationRequest<TypeConfigurationModel, CallbackContext>> getTypeReference() {
        return REQUEST_REFERENCE;
    }

    @Override
    protected TypeReference<TypeConfigurationModel> getModelTypeReference() {
        return TYPE_REFERENCE;
    }
}
