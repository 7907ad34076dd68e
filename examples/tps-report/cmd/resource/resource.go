// Package resource has the handlers of Initech::TPS::Report.
//
// Reports are files in a folder, see [archive]. The archive takes its time, as real
// services do: what is filed or shredded is settled only after it was asked about it a few
// times. So CREATE, UPDATE and DELETE are chains, which wait for it from one call to the
// next.
package resource

import (
	"context"
	"errors"
	"time"

	"github.com/formwork-dev/formwork/sdk/handler"
)

type (
	request = handler.Request[Model, TypeConfiguration]
	event   = handler.Event[Model]
)

const (
	defaultPriority = 3

	// reportsPerPage is the size of a page of LIST when the caller names none.
	reportsPerPage = 3
)

// Create files a new report. Its number comes from the request token, so that the same
// request files the same report again, and no second one.
func Create(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	if err := checkCoverSheet(req); err != nil {
		return req.Fail(err)
	}
	id, err := handler.Identifier{LogicalID: "tps", Token: req.Token}.Generate()
	if err != nil {
		return req.Fail(err)
	}
	report := withDefaults(req.Desired)
	report.Id, report.FileName = &id, fileName(id)

	archive := openArchive()
	chain := steps(ctx, req, &report)
	chain.Do("file", func(context.Context) error { return archive.file(report, req.DesiredTags) })
	chain.Stabilize("filed", func(context.Context) (bool, error) { return archive.settled(id) })
	return chain.Done(func(context.Context) event { return read(req, archive, id) })
}

// Read returns a report.
func Read(_ context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	return read(req, openArchive(), handler.Value(req.Desired.Id))
}

// Update files another version of a report.
func Update(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	if err := checkCoverSheet(req); err != nil {
		return req.Fail(err)
	}
	archive, id := openArchive(), handler.Value(req.Desired.Id)
	report := withDefaults(req.Desired)
	report.FileName = fileName(id)

	chain := steps(ctx, req, &report)
	chain.Do("file", func(context.Context) error {
		filed, err := archive.get(id)
		if err != nil {
			return notFound(err, id)
		}
		if report.Series == nil {
			report.Series = filed.Report.Series
		}
		if handler.Value(report.Series) != handler.Value(filed.Report.Series) {
			return handler.NotUpdatable(TypeName, id)
		}
		return archive.refile(filed, report, req.DesiredTags)
	})
	chain.Stabilize("filed", func(context.Context) (bool, error) { return archive.settled(id) })
	return chain.Done(func(context.Context) event { return read(req, archive, id) })
}

// Delete shreds a report.
func Delete(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	archive, id := openArchive(), handler.Value(req.Desired.Id)

	chain := steps(ctx, req, &req.Desired)
	chain.Do("shred", func(context.Context) error { return notFound(archive.shred(id, req.Token), id) })
	chain.Stabilize("gone", func(context.Context) (bool, error) {
		if _, err := archive.settled(id); !errors.Is(err, errNoReport) {
			return false, err
		}
		return true, nil
	})
	return chain.Done(func(context.Context) event { return req.Deleted() })
}

// List returns the numbers of the reports, in their order. The token for the next page is
// the last number of this one: reports that come and go in the meantime do no harm.
func List(_ context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	ids, err := openArchive().list(req.NextToken)
	if err != nil {
		return req.Fail(err)
	}
	size := reportsPerPage
	if req.MaxResults > 0 {
		size = req.MaxResults
	}
	next := ""
	if len(ids) > size {
		ids = ids[:size]
		next = ids[size-1]
	}
	page := make([]Model, len(ids))
	for i := range ids {
		page[i] = Model{Id: &ids[i]}
	}
	return req.SuccessList(page, next)
}

// steps is a chain that asks the archive again at once: it is a folder on this machine.
func steps(ctx context.Context, req request, report *Model) *handler.Chain[event] {
	return req.Chain(ctx, report).With(handler.Policy{Backoff: handler.Constant(100*time.Millisecond, time.Minute)})
}

func read(req request, archive archive, id string) event {
	filed, err := archive.get(id)
	if err != nil {
		return req.Fail(notFound(err, id))
	}
	return req.Success(filed.Report)
}

// notFound gives the errors of the archive their handler error code.
func notFound(err error, id string) error {
	if errors.Is(err, errNoReport) {
		return handler.NotFound(TypeName, id)
	}
	return err
}

func checkCoverSheet(req request) error {
	if req.TypeConfiguration == nil || !handler.Value(req.TypeConfiguration.RequireCoverSheet) || handler.Value(req.Desired.CoverSheet) {
		return nil
	}
	return handler.InvalidRequest("the report has no cover sheet, which the configuration of " + TypeName + " requires; did you get the memo?")
}

func withDefaults(report Model) Model {
	if report.Priority == nil {
		report.Priority = handler.Ptr[int64](defaultPriority)
	}
	return report
}

func fileName(id string) *string { return handler.Ptr(id + ".json") }
