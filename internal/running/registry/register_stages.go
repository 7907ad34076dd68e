package registry

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The stages of a registration, in their order. The names are those that the service
// writes in descriptions.
const (
	stageFetch    = "FETCH_STAGE"      // the package is brought into the blobs
	stageValidate = "VALIDATION_STAGE" // and read
	stageDeploy   = "DEPLOY_STAGE"     // its handler started; then the version exists
)

// maxDescription bounds the description of a failed registration, in bytes.
const maxDescription = 8 << 10

// A failure ends a registration: the author of the package has to change something.
type failure struct{ reason string }

func (f *failure) Error() string { return f.reason }

func failf(format string, args ...any) error { return &failure{reason: fmt.Sprintf(format, args...)} }

// stages do the work of each stage. Their results are computed again after a restart: only the
// step to the next stage is stored, once.
var stages = map[string]func(*Registry, context.Context, *registrationRow) error{
	stageFetch:    (*Registry).fetch,
	stageValidate: (*Registry).validate,
	stageDeploy:   (*Registry).deploy,
}

// register moves a registration on until it has ended. It is a store.Run.
func (r *Registry) register(ctx context.Context, token string) (time.Time, error) {
	for {
		row, err := r.readRegistration(ctx, token)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return time.Time{}, nil
		case err != nil:
			return time.Time{}, err
		case row.Status != string(types.RegistrationStatusInProgress):
			return time.Time{}, nil
		}
		stage, known := stages[row.Stage]
		if !known {
			return time.Time{}, fmt.Errorf("register %s version %d: unknown stage %q", row.TypeName, row.Version, row.Stage)
		}
		if err := r.settle(ctx, row, stage(r, ctx, row)); err != nil {
			return time.Time{}, err
		}
	}
}

// giveUp fails a registration that can never end otherwise.
func (r *Registry) giveUp(ctx context.Context, token, reason string) error {
	row, err := r.readRegistration(ctx, token)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil || row.Status != string(types.RegistrationStatusInProgress):
		return err
	}
	return r.fail(ctx, row, reason)
}

// settle handles the error of a stage: nil continues, a failure ends the registration, and
// other errors are retried for a while.
func (r *Registry) settle(ctx context.Context, row *registrationRow, err error) error {
	var failed *failure
	switch {
	case err == nil, errors.Is(err, store.ErrStale):
		return nil
	case errors.As(err, &failed):
		return r.fail(ctx, row, failed.reason)
	case ctx.Err() != nil:
		return ctx.Err() // we are stopping, which says nothing about the package
	case r.config.Now().Sub(row.CreatedAt.Time) < r.config.RetryFor:
		return fmt.Errorf("register %s version %d: %w", row.TypeName, row.Version, err)
	}
	r.log.ErrorContext(ctx, "a registration is given up", "type", row.TypeName, "version", row.Version, "token", row.Token, "error", err)
	return r.fail(ctx, row, "Internal failure: see the log of the server.")
}

// fetch copies the package into the blobs.
func (r *Registry) fetch(ctx context.Context, row *registrationRow) error {
	ctx, cancel := context.WithTimeout(ctx, r.config.StageTimeout)
	defer cancel()
	reader, err := r.config.Fetch(ctx, ownerOf(row), row.PackageURL)
	if err != nil {
		var refused *awswire.Error
		if errors.As(err, &refused) && refused.Status < http.StatusInternalServerError {
			return failf("The package %s cannot be read: %s (%s)", withoutQuery(row.PackageURL), refused.Message, refused.Code)
		}
		return fmt.Errorf("fetch %s: %w", withoutQuery(row.PackageURL), err)
	}
	defer reader.Close()
	most := r.config.Limits.Packed
	var tooLarge *store.TooLargeError
	blob, err := r.store.Blobs().Put(ctx, reader, most)
	switch {
	case errors.As(err, &tooLarge):
		return failf("The package %s is larger than %d MiB.", withoutQuery(row.PackageURL), most>>20)
	case err != nil:
		return fmt.Errorf("store the package %s: %w", withoutQuery(row.PackageURL), err)
	}
	return r.moveOn(ctx, row, stageValidate, blob.Hash)
}

// ownerOf is the caller on whose behalf a package is fetched.
func ownerOf(row *registrationRow) awswire.Caller {
	return awswire.Caller{Place: awswire.Place{Account: row.Account, Region: row.Region}, AccessKeyID: row.Caller, RequestID: row.Token}
}

// validate reads the package and reports its problems.
func (r *Registry) validate(ctx context.Context, row *registrationRow) error {
	if _, err := r.read(ctx, row); err != nil {
		return err
	}
	return r.moveOn(ctx, row, stageDeploy, row.PackageHash)
}

// read reads the fetched package and creates the version from it.
func (r *Registry) read(ctx context.Context, row *registrationRow) (*versionRow, error) {
	reader, size, err := r.store.Blobs().Open(ctx, row.PackageHash)
	if err != nil {
		return nil, fmt.Errorf("open the package %s: %w", withoutQuery(row.PackageURL), err)
	}
	defer reader.Close()
	kind := schema.Kind(row.Kind)
	b, problems, err := bundle.Read(ctx, reader, size, bundle.Config{
		Label: labelOf(row.PackageURL), Kind: kind, TypeName: row.TypeName, Limits: r.config.Limits,
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the package %s: %w", withoutQuery(row.PackageURL), err)
	case b == nil:
		return nil, failf("%s", describeProblems(problems))
	}
	v := &versionRow{
		TypeID: row.TypeID, Version: row.Version,
		Schema: strings.TrimPrefix(string(b.SchemaText), "\ufeff"), PackageHash: row.PackageHash, PackageURL: withoutQuery(row.PackageURL),
		Description: printable(b.Schema.Description), SourceURL: printable(b.Schema.SourceURL), DocumentationURL: printable(b.Schema.DocumentationURL),
		ExecutionRole: row.ExecutionRole, LogGroup: row.LogGroup, LogRole: row.LogRole,
		ConfigurationSchema: string(b.ConfigurationSchema), Settings: string(b.SettingsText),
		TestStatus: string(types.TypeTestsStatusNotTested),
	}
	switch kind {
	case schema.Resource:
		v.ProvisioningType = string(provisioning(b.Schema))
	case schema.Module:
		v.RequiredTypes, err = requiredTypes(row.Region, b.Fragment.Root)
	}
	if b.Handler != nil {
		v.Runtime, v.Entrypoint = b.Settings.Runtime, b.Settings.Entrypoint
	}
	return v, err
}

// printable leaves out the control characters of a text that a schema may have by escapes:
// neither a database nor an answer in XML can hold them.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return -1
		}
		return c
	}, text)
}

// provisioning is what the handlers of a resource type are good for (user guide, "Resource
// type provisioning").
func provisioning(s *schema.Schema) types.ProvisioningType {
	for _, action := range []string{"create", "read", "delete"} {
		if s.Handler(action) == nil {
			return types.ProvisioningTypeNonProvisionable
		}
	}
	if s.Handler("update") == nil {
		return types.ProvisioningTypeImmutable
	}
	return types.ProvisioningTypeFullyMutable
}

// requiredTypes lists, as JSON, the public extensions that must be activated for the fragment
// of a module; "" if none are required.
func requiredTypes(region string, fragment *document.Value) (string, error) {
	check := &moduleCheck{region: region}
	for _, m := range fragment.Get("Resources").Distinct() {
		check.resource(m)
	}
	if len(check.required) == 0 {
		return "", nil
	}
	list, err := json.Marshal(check.required)
	if err != nil {
		return "", fmt.Errorf("list what the module requires: %w", err)
	}
	return string(list), nil
}

// withoutQuery is the URL of a package as texts have it: the query of a presigned one is a
// credential.
func withoutQuery(packageURL string) string {
	path, _, _ := strings.Cut(packageURL, "?")
	return path
}

// labelOf is what problems call the package: the last part of its URL.
func labelOf(packageURL string) string {
	path := withoutQuery(packageURL)
	if i := strings.LastIndexByte(path, '/'); i >= 0 && i+1 < len(path) {
		return path[i+1:]
	}
	return "package.zip"
}

// describeProblems writes out the errors of a package, one a line, as far as there is room.
func describeProblems(problems diag.List) string {
	var b bytes.Buffer
	errorsOnly := diag.List{}
	for _, p := range problems {
		if p.Severity == diag.Error {
			errorsOnly = append(errorsOnly, p)
		}
	}
	for i, p := range errorsOnly {
		line := problemLine(p)
		if b.Len()+len(line) > maxDescription {
			fmt.Fprintf(&b, "\n… and %d more", len(errorsOnly)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return printable(b.String())
}

func problemLine(p diag.Problem) string {
	line := p.Message
	if at := p.At.String(); at != "" {
		line = at + ": " + line
	}
	if p.Hint != "" {
		line += " (" + p.Hint + ")"
	}
	return line
}

// deploy starts the handler and creates the version.
func (r *Registry) deploy(ctx context.Context, row *registrationRow) error {
	v, err := r.read(ctx, row)
	if err != nil {
		return err
	}
	if v.Runtime != "" && r.config.Functions != nil {
		if err := r.start(ctx, functionOf(row, v)); err != nil {
			return err
		}
	}
	return r.complete(ctx, row, v)
}

func (r *Registry) start(ctx context.Context, spec bundle.Spec) error {
	bounded, cancel := context.WithTimeout(ctx, r.config.StageTimeout)
	defer cancel()
	err := r.config.Functions.Probe(bounded, spec)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case bounded.Err() != nil:
		return failf("The handler was not ready after %s.", r.config.StageTimeout)
	}
	return failf("The handler failed to start: %s", cutLines(printable(err.Error())))
}

// cutLines shortens the output of a handler to fit into a description. It keeps the end: an
// exception is below its traceback.
func cutLines(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= maxDescription {
		return text
	}
	text = words.CutStart(strings.ToValidUTF8(text, ""), maxDescription)
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		text = "…\n" + rest
	}
	return text
}

func functionOf(row *registrationRow, v *versionRow) bundle.Spec {
	return bundle.Spec{
		Place: awswire.Place{Account: row.Account, Region: row.Region}, Kind: schema.Kind(row.Kind), TypeName: row.TypeName, Version: versionID(v.Version),
		Package: v.PackageHash, Runtime: v.Runtime, Entrypoint: v.Entrypoint, LogGroup: v.LogGroup, Role: v.ExecutionRole,
	}
}

// complete creates the version, the default one if the type has no live one, and ends the
// registration, in one transaction.
func (r *Registry) complete(ctx context.Context, row *registrationRow, v *versionRow) error {
	now := r.now()
	v.ID, v.CreatedAt, v.UpdatedAt = r.config.NewID(), now, now
	err := r.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := r.moved(ctx, tx, row, types.RegistrationStatusComplete, stageDeploy, "", row.PackageHash); err != nil {
			return err
		}
		if err := store.Insert(ctx, tx, v); err != nil {
			return fmt.Errorf("make version %d: %w", v.Version, err)
		}
		_, err := store.Exec(ctx, tx, "UPDATE types SET default_version = CASE WHEN default_version IS NULL OR deprecated THEN ? ELSE default_version END, deprecated = ?, updated_at = ?, row_version = row_version + 1 WHERE id = ?",
			v.Version, false, now, v.TypeID)
		if err != nil {
			return fmt.Errorf("update the type: %w", err)
		}
		return nil
	})
	if err == nil {
		r.notify(row, RegistrationComplete)
	}
	return err
}

// moveOn writes down that a stage is over.
func (r *Registry) moveOn(ctx context.Context, row *registrationRow, stage, packageHash string) error {
	err := r.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return r.moved(ctx, tx, row, types.RegistrationStatusInProgress, stage, "", packageHash)
	})
	if err == nil {
		r.notify(row, RegistrationMoved)
	}
	return err
}

// fail ends a registration in the stage it is in.
func (r *Registry) fail(ctx context.Context, row *registrationRow, reason string) error {
	err := r.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return r.moved(ctx, tx, row, types.RegistrationStatusFailed, row.Stage, reason, row.PackageHash)
	})
	switch {
	case errors.Is(err, store.ErrStale):
		return nil
	case err == nil:
		r.notify(row, RegistrationFailed)
	}
	return err
}

// moved is the compare-and-set of registrations: store.ErrStale if the row is not any more as it
// was read.
func (r *Registry) moved(ctx context.Context, tx *store.Tx, row *registrationRow, status types.RegistrationStatus, stage, description, packageHash string) error {
	written, err := store.Exec(ctx, tx, "UPDATE registrations SET status = ?, stage = ?, description = ?, package_hash = ?, updated_at = ?, row_version = row_version + 1 WHERE token = ? AND row_version = ?",
		string(status), stage, description, packageHash, r.now(), row.Token, row.RowVersion)
	if err != nil {
		return fmt.Errorf("move the registration of %s version %d: %w", row.TypeName, row.Version, err)
	}
	return store.RequireOneRow(written)
}

func (r *Registry) readRegistration(ctx context.Context, token string) (*registrationRow, error) {
	row := &registrationRow{}
	if err := store.Get(ctx, r.store.Read(), row, "WHERE token = ?", token); err != nil {
		return nil, fmt.Errorf("read registration %s: %w", token, err)
	}
	return row, nil
}
