package com.initech.tps.report;

import software.amazon.cloudformation.proxy.AmazonWebServicesClientProxy;
import software.amazon.cloudformation.proxy.Logger;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

public class DeleteHandler extends ReportHandler {
    @Override
    public ProgressEvent<ResourceModel, CallbackContext> handleRequest(
        final AmazonWebServicesClientProxy proxy,
        final ResourceHandlerRequest<ResourceModel> request,
        final CallbackContext callbackContext,
        final Logger logger,
        final TypeConfigurationModel typeConfiguration) {

        final ResourceModel model = desired(request);
        final CallbackContext context = callbackContext == null ? new CallbackContext() : callbackContext;
        try {
            if (!context.isShredding()) {
                archive.shred(model.getId(), request.getClientRequestToken());
                context.setShredding(true);
                return inProgress(model, context);
            }
        } catch (NoReportException e) {
            throw notFound(model);
        }
        try {
            archive.settled(model.getId());
        } catch (NoReportException e) {
            return ProgressEvent.defaultSuccessHandler(null);
        }
        return inProgress(model, context);
    }
}
