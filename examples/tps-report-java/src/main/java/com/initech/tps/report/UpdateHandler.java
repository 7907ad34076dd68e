package com.initech.tps.report;

import java.util.Objects;
import software.amazon.cloudformation.exceptions.CfnNotUpdatableException;
import software.amazon.cloudformation.proxy.AmazonWebServicesClientProxy;
import software.amazon.cloudformation.proxy.Logger;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

public class UpdateHandler extends ReportHandler {
    @Override
    public ProgressEvent<ResourceModel, CallbackContext> handleRequest(
        final AmazonWebServicesClientProxy proxy,
        final ResourceHandlerRequest<ResourceModel> request,
        final CallbackContext callbackContext,
        final Logger logger,
        final TypeConfigurationModel typeConfiguration) {

        final ResourceModel model = desired(request);
        final CallbackContext context = callbackContext == null ? new CallbackContext() : callbackContext;
        if (context.isFiled()) {
            return settle(model, context);
        }
        checkCoverSheet(model, typeConfiguration);
        final Entry entry;
        try {
            entry = archive.get(model.getId());
        } catch (NoReportException e) {
            throw notFound(model);
        }
        complete(model);
        final String series = entry.getReport().getSeries();
        if (model.getSeries() == null) {
            model.setSeries(series);
        }
        if (!Objects.equals(model.getSeries(), series)) {
            throw new CfnNotUpdatableException(
                new IllegalArgumentException("the series of report " + model.getId() + " cannot be changed"));
        }
        archive.refile(entry, model, request.getDesiredResourceTags());
        context.setFiled(true);
        return inProgress(model, context);
    }
}
