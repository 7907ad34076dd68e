package com.initech.tps.report;

import software.amazon.cloudformation.proxy.AmazonWebServicesClientProxy;
import software.amazon.cloudformation.proxy.Logger;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

public class CreateHandler extends ReportHandler {
    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz234567";
    private static final int LENGTH = 12;

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
        model.setId(numberOf(request.getClientRequestToken()));
        complete(model);
        archive.file(model, request.getDesiredResourceTags());
        context.setFiled(true);
        return inProgress(model, context);
    }

    /** The same request files the same report again, and no second one. */
    private static String numberOf(final String token) {
        final byte[] hash = Archive.sha256(token);
        final StringBuilder number = new StringBuilder("tps-");
        for (int i = 0; i < LENGTH; i++) {
            number.append(LETTERS.charAt(Byte.toUnsignedInt(hash[i]) % LETTERS.length()));
        }
        return number.toString();
    }
}
