package simulate

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A resourceRow is a simulated resource. Token is the client request token of the create,
// so that the same create, repeated after a crash, finds its own resource.
type resourceRow struct {
	store.Row `db:"simulated_resources AS r"`

	Account    string     `db:"account,pk"`
	Region     string     `db:"region,pk"`
	TypeName   string     `db:"type_name,pk"`
	Identifier string     `db:"identifier,pk"`
	Token      string     `db:"token"`
	CreatedAt  store.Time `db:"created_at"`
	UpdatedAt  store.Time `db:"updated_at"`
	Model      string     `db:"model" seal:"simulated_resources.model"`
}

// A keyRow is an additional identifier of a resource, which no other resource may have.
type keyRow struct {
	store.Row `db:"simulated_keys AS k"`

	Account    string `db:"account,pk"`
	Region     string `db:"region,pk"`
	TypeName   string `db:"type_name,pk"`
	Key        string `db:"identifier_key,pk"` // number of the additional identifier, ":", its values
	Identifier string `db:"identifier"`
}

// Call implements operation.Provider. A simulated resource is ready at once: every call
// ends its operation.
func (s *Shelf) Call(ctx context.Context, request operation.Request) (operation.Progress, error) {
	row, err := s.row(ctx, request.Type)
	if err != nil {
		return operation.Progress{}, err
	}
	if row == nil {
		row = embedded(request.Type) // of a resource that a server with other patterns made
	}
	if row == nil {
		return failed("NotFound", "The schema of the type %s is no longer imported.", request.Type), nil
	}
	typ, err := s.load(row)
	if err != nil {
		return operation.Progress{}, err
	}
	var takers takers // of creates only: the schemas of a whole service are read for them
	if request.Action == invoke.Create {
		if takers, err = s.takersOf(ctx, request.Type); err != nil {
			return operation.Progress{}, err
		}
	}
	create := func(ctx context.Context, tx *store.Tx, typ *schema.Schema, request operation.Request) (operation.Progress, error) {
		return s.create(ctx, tx, typ, request, takers)
	}
	act, ok := map[invoke.Action]func(context.Context, *store.Tx, *schema.Schema, operation.Request) (operation.Progress, error){
		invoke.Create: create, invoke.Read: s.read, invoke.Update: s.update, invoke.Delete: s.remove,
	}[request.Action]
	if !ok {
		return failed("InvalidRequest", "%s is not an action of a resource.", request.Action), nil
	}
	var progress operation.Progress
	err = s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		progress, err = act(ctx, tx, typ, request)
		return err
	})
	return progress, err
}

// maxAttempts bounds the attempts to find an identifier that is free, such as the next revision of a task definition.
const maxAttempts = 1 << 20

// A candidate is a new resource as one attempt makes it up. What it is taken by is nil if its identifier is free.
type candidate struct {
	model      map[string]any
	identifier string
	takenBy    *resourceRow
}

func (s *Shelf) create(ctx context.Context, tx *store.Tx, typ *schema.Schema, request operation.Request, takers takers) (operation.Progress, error) {
	made, refusal, err := s.free(ctx, tx, typ, request, func(attempt int) map[string]any {
		return completed(typ, request, s.config.Now(), takers, attempt)
	})
	switch {
	case err != nil || refusal.Status != "":
		return refusal, err
	case made.takenBy != nil: // by an earlier call of the same create
		return succeeded(made.takenBy.Identifier, readable(typ, made.takenBy.model())), nil
	}
	if fault := unfitKeys(typ, made.model); fault != "" {
		return failed("InvalidRequest", "An additional identifier of %s %s.", request.Type, fault), nil
	}
	if taken, err := s.claim(ctx, tx, typ, request, made.identifier, made.model); err != nil || taken != "" {
		return exists(request, taken), err
	}
	now := store.At(s.config.Now())
	row := &resourceRow{
		Account: request.Caller.Account, Region: request.Caller.Region, TypeName: request.Type, Identifier: made.identifier,
		Token: request.Token, CreatedAt: now, UpdatedAt: now, Model: encode(made.model),
	}
	if err := store.Insert(ctx, tx, row); err != nil {
		return operation.Progress{}, fmt.Errorf("create a simulated %s: %w", request.Type, err)
	}
	return succeeded(made.identifier, readable(typ, made.model)), nil
}

// free is a candidate whose identifier is free, or the resource that an earlier call of the same create made. A create with the
// number n in its identifier needs about 2·log2(n) attempts: doubled until one is free, and then halved until the one before
// it is taken. The progress is a refusal if it has a status.
func (s *Shelf) free(ctx context.Context, tx *store.Tx, typ *schema.Schema, request operation.Request, makeUp func(attempt int) map[string]any) (*candidate, operation.Progress, error) {
	try := func(attempt int) (*candidate, operation.Progress, error) {
		model := makeUp(attempt)
		identifier, ok := identify(model, typ.PrimaryIdentifier)
		if !ok {
			return nil, failed("InvalidRequest", "The primary identifier of %s is not complete.", request.Type), nil
		}
		if fault := unfit(identifier); fault != "" {
			return nil, failed("InvalidRequest", "The primary identifier of %s %s.", request.Type, fault), nil
		}
		row, err := find(ctx, tx, request, identifier)
		return &candidate{model, identifier, row}, operation.Progress{}, err
	}
	first, refusal, err := try(0)
	if err != nil || refusal.Status != "" || first.takenBy == nil || first.takenBy.Token == request.Token {
		return first, refusal, err
	}
	if mine, err := madeWith(ctx, tx, request); err != nil || mine != nil {
		return &candidate{takenBy: mine}, refusal, err
	}
	taken, open := 0, 1
	found, refusal, err := try(open)
	for err == nil && refusal.Status == "" && found.takenBy != nil {
		if found.identifier == first.identifier || open >= maxAttempts {
			return nil, exists(request, first.identifier), nil
		}
		taken, open = open, 2*open
		found, refusal, err = try(open)
	}
	for err == nil && refusal.Status == "" && open-taken > 1 {
		middle := taken + (open-taken)/2
		var between *candidate
		if between, refusal, err = try(middle); err != nil || refusal.Status != "" {
			break
		}
		if between.takenBy == nil {
			found, open = between, middle
		} else {
			taken = middle
		}
	}
	return found, refusal, err
}

// madeWith is the resource that a create with the same token made, nil if there is none.
func madeWith(ctx context.Context, tx *store.Tx, request operation.Request) (*resourceRow, error) {
	row := &resourceRow{}
	err := store.Get(ctx, tx, row, "WHERE account = ? AND region = ? AND type_name = ? AND token = ?", request.Caller.Account, request.Caller.Region, request.Type, request.Token)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for a simulated %s: %w", request.Type, err)
	}
	return row, nil
}

func exists(request operation.Request, identifier string) operation.Progress {
	return failed("AlreadyExists", "Resource of type '%s' with identifier '%s' already exists.", request.Type, identifier)
}

// unfit says why an identifier cannot be kept, "" if it can.
func unfit(identifier string) string {
	switch {
	case len(identifier) > store.MaxKey:
		return fmt.Sprintf("has %d bytes; at most %d are allowed", len(identifier), store.MaxKey)
	case !store.Storable(identifier):
		return "contains the character U+0000"
	}
	return ""
}

// unfitKeys is unfit for the additional identifiers of a model.
func unfitKeys(typ *schema.Schema, model map[string]any) string {
	for _, paths := range typ.AdditionalIdentifiers {
		if values, ok := identify(model, paths); ok && unfit(values) != "" {
			return unfit(values)
		}
	}
	return ""
}

func (s *Shelf) read(ctx context.Context, tx *store.Tx, typ *schema.Schema, request operation.Request) (operation.Progress, error) {
	if request.Identifier == "" {
		var err error
		if request.Identifier, err = identified(ctx, tx, typ, request); err != nil {
			return operation.Progress{}, err
		}
	}
	row, err := find(ctx, tx, request, request.Identifier)
	if err != nil {
		return operation.Progress{}, err
	}
	if row == nil {
		return notFound(request), nil
	}
	return succeeded(row.Identifier, readable(typ, row.model())), nil
}

// identified is the primary identifier of the resource that has the additional identifier in the
// request's model, or if there is none, the additional one.
func identified(ctx context.Context, db store.DB, typ *schema.Schema, request operation.Request) (string, error) {
	given := ""
	for i, paths := range typ.AdditionalIdentifiers {
		values, ok := identify(request.Desired, paths)
		if !ok {
			continue
		}
		owner, err := keyOwner(ctx, db, request, additionalKey(i, values))
		if err != nil || owner != "" {
			return owner, err
		}
		given = values
	}
	return given, nil
}

// keyOwner is the identifier of the resource with an additional identifier, "" if there is none.
func keyOwner(ctx context.Context, db store.DB, request operation.Request, key string) (string, error) {
	row := &keyRow{}
	err := store.Get(ctx, db, row, "WHERE account = ? AND region = ? AND type_name = ? AND identifier_key = ?",
		request.Caller.Account, request.Caller.Region, request.Type, key)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for an identifier: %w", err)
	}
	return row.Identifier, nil
}

func additionalKey(number int, values string) string { return fmt.Sprintf("%d:%s", number, values) }

func (s *Shelf) update(ctx context.Context, tx *store.Tx, typ *schema.Schema, request operation.Request) (operation.Progress, error) {
	row, err := find(ctx, tx, request, request.Identifier)
	if err != nil {
		return operation.Progress{}, err
	}
	if row == nil {
		return notFound(request), nil
	}
	if typ.Handler("update") == nil {
		return failed("NotUpdatable", "Resources of type '%s' cannot be updated.", request.Type), nil
	}
	before := row.model()
	if changed := CreateOnlyChange(typ, before, request.Desired); changed != "" {
		return failed("NotUpdatable", "The property %s of '%s' can only be set when the resource is created.", changed, request.Type), nil
	}
	model := updated(typ, before, request)
	if fault := unfitKeys(typ, model); fault != "" {
		return failed("InvalidRequest", "An additional identifier of %s %s.", request.Type, fault), nil
	}
	if taken, err := s.claim(ctx, tx, typ, request, row.Identifier, model); err != nil || taken != "" {
		return exists(request, taken), err
	}
	row.Model, row.UpdatedAt = encode(model), store.At(s.config.Now())
	if err := store.Update(ctx, tx, row); err != nil {
		return operation.Progress{}, fmt.Errorf("update a simulated %s: %w", request.Type, err)
	}
	return succeeded(row.Identifier, readable(typ, model)), nil
}

func (s *Shelf) remove(ctx context.Context, tx *store.Tx, _ *schema.Schema, request operation.Request) (operation.Progress, error) {
	row, err := find(ctx, tx, request, request.Identifier)
	if err != nil {
		return operation.Progress{}, err
	}
	if row == nil {
		return notFound(request), nil
	}
	if err := release(ctx, tx, request, row.Identifier); err != nil {
		return operation.Progress{}, err
	}
	if err := store.Delete(ctx, tx, row); err != nil {
		return operation.Progress{}, fmt.Errorf("delete a simulated %s: %w", request.Type, err)
	}
	return succeeded(row.Identifier, nil), nil
}

// pageSize is the maximum and default number of resources on a page.
const pageSize = 100

// ListResources implements operation.Lister, in the order of the identifiers. The token of a page is
// the last identifier of the page before.
func (s *Shelf) ListResources(ctx context.Context, request operation.ListRequest) (*operation.Page, error) {
	row, err := s.row(ctx, request.Type)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return &operation.Page{ErrorCode: "NotFound", Message: fmt.Sprintf("The schema of the type %s is no longer imported.", request.Type)}, nil
	}
	typ, err := s.load(row)
	if err != nil {
		return nil, err
	}
	limit := pageSize
	if request.MaxResults > 0 {
		limit = min(limit, request.MaxResults)
	}
	var rows []resourceRow
	err = store.List(ctx, s.config.Store.Read(), &rows, "WHERE account = ? AND region = ? AND type_name = ? AND identifier > ? ORDER BY identifier LIMIT ?",
		request.Caller.Account, request.Caller.Region, request.Type, request.NextToken, int64(limit)+1)
	if err != nil {
		return nil, fmt.Errorf("list simulated resources: %w", err)
	}
	page := &operation.Page{}
	if len(rows) > limit {
		rows = rows[:limit]
		page.NextToken = rows[limit-1].Identifier
	}
	for i := range rows {
		model := readable(typ, rows[i].model())
		if within(model, request.Model) {
			page.Resources = append(page.Resources, operation.Listed{Identifier: rows[i].Identifier, Model: model})
		}
	}
	return page, nil
}

// within reports whether a resource has the properties in the request for a list.
func within(model, asked map[string]any) bool {
	for name, want := range asked {
		if got, ok := model[name]; !ok || text(got) != text(want) {
			return false
		}
	}
	return true
}

// claim reserves the additional identifiers of a resource in place of those that it had, and
// returns one that another resource has, "" if all are free. Then nothing has changed.
func (s *Shelf) claim(ctx context.Context, tx *store.Tx, typ *schema.Schema, request operation.Request, identifier string, model map[string]any) (taken string, err error) {
	var rows []*keyRow
	for i, paths := range typ.AdditionalIdentifiers {
		values, ok := identify(model, paths)
		if !ok {
			continue
		}
		key := additionalKey(i, values)
		owner, err := keyOwner(ctx, tx, request, key)
		if err != nil {
			return "", err
		}
		if owner != "" && owner != identifier {
			return values, nil
		}
		rows = append(rows, &keyRow{Account: request.Caller.Account, Region: request.Caller.Region, TypeName: request.Type, Key: key, Identifier: identifier})
	}
	if err := release(ctx, tx, request, identifier); err != nil || len(rows) == 0 {
		return "", err
	}
	if err := store.Insert(ctx, tx, rows...); err != nil {
		return "", fmt.Errorf("keep an identifier: %w", err)
	}
	return "", nil
}

// release gives up the additional identifiers of a resource.
func release(ctx context.Context, tx *store.Tx, request operation.Request, identifier string) error {
	_, err := store.Exec(ctx, tx, "DELETE FROM simulated_keys WHERE account = ? AND region = ? AND type_name = ? AND identifier = ?",
		request.Caller.Account, request.Caller.Region, request.Type, identifier)
	if err != nil {
		return fmt.Errorf("release identifiers: %w", err)
	}
	return nil
}

// find returns nil for a resource that does not exist.
func find(ctx context.Context, db store.DB, request operation.Request, identifier string) (*resourceRow, error) {
	row := &resourceRow{}
	err := store.Get(ctx, db, row, "WHERE account = ? AND region = ? AND type_name = ? AND identifier = ?",
		request.Caller.Account, request.Caller.Region, request.Type, identifier)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for a simulated %s: %w", request.Type, err)
	}
	return row, nil
}

// Has reports whether a resource is a simulated one. The identifier may be the last part of the primary one.
func (s *Shelf) Has(ctx context.Context, caller awswire.Caller, typeName, identifier string) (bool, error) {
	last := "|" + identifier
	found, err := store.Exists(ctx, s.config.Store.Read(), "FROM simulated_resources WHERE account = ? AND region = ? AND type_name = ? AND (identifier = ? OR substr(identifier, length(identifier) - ?) = ?)",
		caller.Account, caller.Region, typeName, identifier, utf8.RuneCountInString(identifier), last)
	if err != nil {
		return false, fmt.Errorf("look for a simulated %s: %w", typeName, err)
	}
	return found, nil
}

func (r *resourceRow) model() map[string]any {
	decoder := json.NewDecoder(strings.NewReader(r.Model))
	decoder.UseNumber()
	var model map[string]any
	if decoder.Decode(&model) != nil || model == nil {
		return map[string]any{}
	}
	return model
}

// encode writes a model. Models come from JSON, so that they can be written as such.
func encode(model map[string]any) string {
	text, err := json.Marshal(model)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// readable is what a read returns: the model without its write-only properties.
func readable(typ *schema.Schema, model map[string]any) map[string]any {
	out, _ := schema.Without(model, typ.WriteOnly).(map[string]any)
	return out
}

// identify joins the values of an identifier with "|", as Cloud Control does. It reports
// false if one is missing.
func identify(model map[string]any, paths []schema.Path) (string, bool) {
	values, ok := schema.Identifier(model, paths)
	if !ok {
		return "", false
	}
	parts := make([]string, len(values))
	for i, value := range values {
		parts[i] = text(value)
	}
	return strings.Join(parts, "|"), true
}

// CreateOnlyChange names a create-only property whose value differs, "" for none. One that
// the template leaves out keeps the value that it was given.
func CreateOnlyChange(typ *schema.Schema, before, desired map[string]any) string {
	for _, path := range typ.CreateOnly {
		for _, at := range schema.Present(desired, []schema.Path{path}) {
			want, _ := at.Find(desired)
			if got, ok := at.Find(before); !ok || text(got) != text(want) {
				return at.String()
			}
		}
	}
	return ""
}

// text is a value as part of an identifier: a string unchanged, others as JSON.
func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(encoded)
}

func succeeded(identifier string, model map[string]any) operation.Progress {
	return operation.Progress{Status: types.OperationStatusSuccess, Identifier: identifier, Model: model}
}

func notFound(request operation.Request) operation.Progress {
	return failed("NotFound", "Resource of type '%s' with identifier '%s' was not found.", request.Type, request.Identifier)
}

func failed(code, format string, args ...any) operation.Progress {
	return operation.Progress{Status: types.OperationStatusFailed, ErrorCode: code, Message: fmt.Sprintf(format, args...)}
}
