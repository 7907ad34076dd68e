"""The handlers of Initech::TPS::Report.

Reports are files in a folder, see archive.py. The archive takes its time, as real services do: what is
filed or shredded is settled only after it was asked about it a few times. So CREATE, UPDATE and DELETE
return IN_PROGRESS and wait for it from one call to the next.
"""

import base64
import hashlib
from typing import Any, MutableMapping, Optional

from cloudformation_cli_python_lib import (
    Action,
    OperationStatus,
    ProgressEvent,
    Resource,
    SessionProxy,
    exceptions,
)

from .archive import Archive, NoReport
from .models import ResourceHandlerRequest, ResourceModel

TYPE_NAME = "Initech::TPS::Report"
REPORTS_PER_PAGE = 3
DEFAULT_PRIORITY = 3

resource = Resource(TYPE_NAME, ResourceModel)
test_entrypoint = resource.test_entrypoint


@resource.handler(Action.CREATE)
def create_handler(
    session: Optional[SessionProxy], request: ResourceHandlerRequest, callback_context: MutableMapping[str, Any]
) -> ProgressEvent:
    model = desired(request)
    if "filed" not in callback_context:
        check_cover_sheet(request)
        model.Id = number_of(request.clientRequestToken)
        complete(model)
        Archive().file(model._serialize(), request.desiredResourceTags)
        return in_progress(model, filed=True)
    return settle(model)


@resource.handler(Action.READ)
def read_handler(
    session: Optional[SessionProxy], request: ResourceHandlerRequest, callback_context: MutableMapping[str, Any]
) -> ProgressEvent:
    return read(desired(request).Id)


@resource.handler(Action.UPDATE)
def update_handler(
    session: Optional[SessionProxy], request: ResourceHandlerRequest, callback_context: MutableMapping[str, Any]
) -> ProgressEvent:
    model = desired(request)
    if "filed" not in callback_context:
        check_cover_sheet(request)
        archive = Archive()
        try:
            record = archive.get(model.Id)
        except NoReport:
            raise exceptions.NotFound(TYPE_NAME, model.Id) from None
        complete(model)
        model.Series = model.Series or record.report.get("Series")
        if model.Series != record.report.get("Series"):
            raise exceptions.NotUpdatable(f"the series of report {model.Id} cannot be changed")
        archive.refile(record, model._serialize(), request.desiredResourceTags)
        return in_progress(model, filed=True)
    return settle(model)


@resource.handler(Action.DELETE)
def delete_handler(
    session: Optional[SessionProxy], request: ResourceHandlerRequest, callback_context: MutableMapping[str, Any]
) -> ProgressEvent:
    model, archive = desired(request), Archive()
    if "shredding" not in callback_context:
        try:
            archive.shred(model.Id, request.clientRequestToken)
        except NoReport:
            raise exceptions.NotFound(TYPE_NAME, model.Id) from None
        return in_progress(model, shredding=True)
    try:
        archive.settled(model.Id)
    except NoReport:
        return ProgressEvent(status=OperationStatus.SUCCESS)
    return in_progress(model, shredding=True)


@resource.handler(Action.LIST)
def list_handler(
    session: Optional[SessionProxy], request: ResourceHandlerRequest, callback_context: MutableMapping[str, Any]
) -> ProgressEvent:
    # The token is the last number of the page: reports that come and go in the meantime do no harm.
    numbers = Archive().numbers(request.nextToken or "")
    page = numbers[:REPORTS_PER_PAGE]
    return ProgressEvent(
        status=OperationStatus.SUCCESS,
        resourceModels=[ResourceModel(Id=number) for number in page],
        nextToken=page[-1] if len(numbers) > len(page) else None,
    )


def desired(request: ResourceHandlerRequest) -> ResourceModel:
    if request.desiredResourceState is None:
        raise exceptions.InvalidRequest("the request has no model")
    return request.desiredResourceState


def number_of(token: str) -> str:
    """The same request files the same report again, and no second one."""
    return "tps-" + base64.b32encode(hashlib.sha256(token.encode()).digest()).decode().lower()[:12]


def complete(model: ResourceModel) -> None:
    model.FileName = f"{model.Id}.json"
    if model.Priority is None:
        model.Priority = DEFAULT_PRIORITY


def check_cover_sheet(request: ResourceHandlerRequest) -> None:
    configuration = request.typeConfiguration
    if configuration and configuration.RequireCoverSheet and not desired(request).CoverSheet:
        raise exceptions.InvalidRequest(
            f"the report has no cover sheet, which the configuration of {TYPE_NAME} requires; did you get the memo?"
        )


def in_progress(model: ResourceModel, **context: Any) -> ProgressEvent:
    model.ReviewCode = None  # write-only
    return ProgressEvent(
        status=OperationStatus.IN_PROGRESS, resourceModel=model, callbackContext=context, callbackDelaySeconds=1
    )


def settle(model: ResourceModel) -> ProgressEvent:
    try:
        if not Archive().settled(model.Id):
            return in_progress(model, filed=True)
    except NoReport:
        raise exceptions.NotFound(TYPE_NAME, model.Id) from None
    return read(model.Id)


def read(number: Optional[str]) -> ProgressEvent:
    try:
        report = Archive().get(number).report
    except NoReport:
        raise exceptions.NotFound(TYPE_NAME, number) from None
    return ProgressEvent(status=OperationStatus.SUCCESS, resourceModel=ResourceModel._deserialize(report))
