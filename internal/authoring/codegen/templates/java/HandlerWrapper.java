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
import software.amazon.awssdk.regions.PartitionMetadata;
import software.amazon.awssdk.regions.Region;
import software.amazon.cloudformation.Action;
import software.amazon.cloudformation.{{.Parent}};
import software.amazon.cloudformation.exceptions.BaseHandlerException;
import software.amazon.cloudformation.loggers.LambdaLogPublisher;
import software.amazon.cloudformation.proxy.AmazonWebServicesClientProxy;
import software.amazon.cloudformation.proxy.HandlerErrorCode;
import software.amazon.cloudformation.proxy.HandlerRequest;
import software.amazon.cloudformation.proxy.LoggerProxy;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.RequestData;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;
import software.amazon.cloudformation.proxy.ResourceHandlerTestPayload;

/** The entry point of the handlers of {{.TypeName}}. */
public class {{.Class}} extends {{.Parent}}<ResourceModel, CallbackContext, TypeConfigurationModel> {

    private static final TypeReference<HandlerRequest<ResourceModel, CallbackContext, TypeConfigurationModel>> REQUEST_REFERENCE =
        new TypeReference<HandlerRequest<ResourceModel, CallbackContext, TypeConfigurationModel>>() {};
    private static final TypeReference<ResourceModel> TYPE_REFERENCE = new TypeReference<ResourceModel>() {};
    private static final TypeReference<ResourceHandlerTestPayload<ResourceModel, CallbackContext, TypeConfigurationModel>> TEST_ENTRY_TYPE_REFERENCE =
        new TypeReference<ResourceHandlerTestPayload<ResourceModel, CallbackContext, TypeConfigurationModel>>() {};

    private final Configuration configuration = new Configuration();
    private final Map<Action, BaseHandler<CallbackContext{{if .Configured}}, TypeConfigurationModel{{end}}>> handlers = new HashMap<>();
    private JSONObject resourceSchema;

    public {{.Class}}() {
{{- range .Handlers}}
        handlers.put(Action.{{.Action}}, new {{.Name}}Handler());
{{- end}}
    }

    @Override
    public ProgressEvent<ResourceModel, CallbackContext> invokeHandler(
        final AmazonWebServicesClientProxy proxy,
        final ResourceHandlerRequest<ResourceModel> request,
        final Action action,
        final CallbackContext callbackContext,
        final TypeConfigurationModel typeConfiguration) {

        final BaseHandler<CallbackContext{{if .Configured}}, TypeConfigurationModel{{end}}> handler = handlers.get(action);
        if (handler == null) {
            throw new RuntimeException("Unknown action " + action);
        }
        loggerProxy.log(String.format("[%s] invoking handler...", action));
        final ProgressEvent<ResourceModel, CallbackContext> result =
            handler.handleRequest(proxy, request, callbackContext, loggerProxy{{if .Configured}}, typeConfiguration{{end}});
        loggerProxy.log(String.format("[%s] handler invoked", action));
        return result;
    }
{{if .Lambda}}
    /** Calls a handler with the request of a test, without the checks of a call by CloudFormation. */
    public void testEntrypoint(final InputStream inputStream, final OutputStream outputStream, final Context context) throws IOException {
        this.loggerProxy = new LoggerProxy();
        this.loggerProxy.addLogPublisher(new LambdaLogPublisher(context.getLogger()));
        ProgressEvent<ResourceModel, CallbackContext> response = ProgressEvent.failed(null, null, HandlerErrorCode.InternalFailure, "Uninitialized");
        try {
            final ResourceHandlerTestPayload<ResourceModel, CallbackContext, TypeConfigurationModel> payload =
                this.serializer.deserialize(IOUtils.toString(inputStream, StandardCharsets.UTF_8), TEST_ENTRY_TYPE_REFERENCE);
            final AmazonWebServicesClientProxy proxy = new AmazonWebServicesClientProxy(
                loggerProxy, payload.getCredentials(), () -> (long) context.getRemainingTimeInMillis());
            response = invokeHandler(proxy, payload.getRequest(), payload.getAction(), payload.getCallbackContext(), payload.getTypeConfiguration());
        } catch (final BaseHandlerException e) {
            response = ProgressEvent.defaultFailureHandler(e, e.getErrorCode());
        } catch (final AmazonServiceException | AwsServiceException e) {
            response = ProgressEvent.defaultFailureHandler(e, HandlerErrorCode.GeneralServiceException);
        } catch (final Throwable e) {
            e.printStackTrace();
            response = ProgressEvent.defaultFailureHandler(e, HandlerErrorCode.InternalFailure);
        } finally {
            writeResponse(outputStream, response);
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
        System.out.println("__CFN_RESOURCE_START_RESPONSE__");
        System.out.println(new String(output.toByteArray(), StandardCharsets.UTF_8));
        System.out.println("__CFN_RESOURCE_END_RESPONSE__");
    }
{{end}}
    @Override
    public JSONObject provideResourceSchemaJSONObject() {
        if (resourceSchema == null) {
            resourceSchema = this.configuration.resourceSchemaJSONObject();
        }
        return resourceSchema;
    }

    @Override
    public Map<String, String> provideResourceDefinedTags(final ResourceModel resourceModel) {
        return this.configuration.resourceDefinedTags(resourceModel);
    }

    @Override
    protected ResourceHandlerRequest<ResourceModel> transform(
        final HandlerRequest<ResourceModel, CallbackContext, TypeConfigurationModel> request) throws IOException {

        final RequestData<ResourceModel, TypeConfigurationModel> requestData = request.getRequestData();
        return ResourceHandlerRequest.<ResourceModel>builder()
            .clientRequestToken(request.getBearerToken())
            .desiredResourceState(requestData.getResourceProperties())
            .previousResourceState(requestData.getPreviousResourceProperties())
            .desiredResourceTags(getDesiredResourceTags(request))
            .systemTags(requestData.getSystemTags())
            .awsAccountId(request.getAwsAccountId())
            .logicalResourceIdentifier(requestData.getLogicalResourceId())
            .nextToken(request.getNextToken())
            .region(request.getRegion())
            .awsPartition(PartitionMetadata.of(Region.of(request.getRegion())).id())
{{- if .MaxResults}}
            .maxResults(request.getMaxResults())
{{- end}}
            .build();
    }

    @Override
    protected TypeReference<HandlerRequest<ResourceModel, CallbackContext, TypeConfigurationModel>> getTypeReference() {
        return REQUEST_REFERENCE;
    }

    @Override
    protected TypeReference<ResourceModel> getModelTypeReference() {
        return TYPE_REFERENCE;
    }
}
