package com.initech.tps.report;

import software.amazon.cloudformation.exceptions.CfnInvalidRequestException;
import software.amazon.cloudformation.exceptions.CfnNotFoundException;
import software.amazon.cloudformation.proxy.ProgressEvent;
import software.amazon.cloudformation.proxy.ResourceHandlerRequest;

/**
 * What the handlers share.
 *
 * <p>Reports are files in a folder, see {@link Archive}. The archive takes its time, as real services do: what is
 * filed or shredded is settled only after it was asked about it a few times. So CREATE, UPDATE and DELETE return
 * IN_PROGRESS and wait for it from one call to the next.
 */
abstract class ReportHandler extends BaseHandler<CallbackContext, TypeConfigurationModel> {
    private static final int DEFAULT_PRIORITY = 3;
    private static final int CHECK_AGAIN_SECONDS = 1;

    protected final Archive archive = new Archive();

    protected static ResourceModel desired(final ResourceHandlerRequest<ResourceModel> request) {
        if (request.getDesiredResourceState() == null) {
            throw new CfnInvalidRequestException("the request has no model");
        }
        return request.getDesiredResourceState();
    }

    protected static void checkCoverSheet(final ResourceModel model, final TypeConfigurationModel configuration) {
        if (configuration != null && Boolean.TRUE.equals(configuration.getRequireCoverSheet()) && !Boolean.TRUE.equals(model.getCoverSheet())) {
            throw new CfnInvalidRequestException("the report has no cover sheet, which the configuration of "
                + ResourceModel.TYPE_NAME + " requires; did you get the memo?");
        }
    }

    protected static void complete(final ResourceModel model) {
        model.setFileName(model.getId() + ".json");
        if (model.getPriority() == null) {
            model.setPriority(DEFAULT_PRIORITY);
        }
    }

    protected static CfnNotFoundException notFound(final ResourceModel model) {
        return new CfnNotFoundException(ResourceModel.TYPE_NAME, String.valueOf(model.getId()));
    }

    protected static ProgressEvent<ResourceModel, CallbackContext> inProgress(final ResourceModel model, final CallbackContext context) {
        model.setReviewCode(null); // write-only
        return ProgressEvent.defaultInProgressHandler(context, CHECK_AGAIN_SECONDS, model);
    }

    /** Waits until a report that was filed is settled, and returns it. */
    protected ProgressEvent<ResourceModel, CallbackContext> settle(final ResourceModel model, final CallbackContext context) {
        try {
            return archive.settled(model.getId()) ? found(model) : inProgress(model, context);
        } catch (NoReportException e) {
            throw notFound(model);
        }
    }

    protected ProgressEvent<ResourceModel, CallbackContext> found(final ResourceModel model) {
        try {
            return ProgressEvent.defaultSuccessHandler(archive.get(model.getId()).getReport());
        } catch (NoReportException e) {
            throw notFound(model);
        }
    }
}
