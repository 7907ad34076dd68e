package com.initech.tps.report;

import java.util.List;
import java.util.Objects;
import software.amazon.cloudformation.proxy.AmazonWebServicesClientProxy;
import software.amazon.cloudformation.proxy.Logger;
import software.amazon.cloudformation.proxy.OperationStatus;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

public class ListHandler extends ReportHandler {
    private static final int REPORTS_PER_PAGE = 3;

    @Override
    public ProgressEvent<ResourceModel, CallbackContext> handleRequest(
        final AmazonWebServicesClientProxy proxy,
        final ResourceHandlerRequest<ResourceModel> request,
        final CallbackContext callbackContext,
        final Logger logger,
        final TypeConfigurationModel typeConfiguration) {

        // The token is the last number of the page: reports that come and go in the meantime do no harm.
        final List<String> numbers = archive.numbers(Objects.requireNonNullElse(request.getNextToken(), ""));
        final int limit = Objects.requireNonNullElse(request.getMaxResults(), REPORTS_PER_PAGE);
        final List<String> page = numbers.subList(0, Math.min(numbers.size(), limit));
        return ProgressEvent.<ResourceModel, CallbackContext>builder()
            .status(OperationStatus.SUCCESS)
            .resourceModels(page.stream().map(number -> ResourceModel.builder().id(number).build()).toList())
            .nextToken(numbers.size() > page.size() ? page.get(page.size() - 1) : null)
            .build();
    }
}
