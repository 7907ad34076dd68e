package delegate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Config sets up Delegates. Store, Schema and Ongoing must be set.
type Config struct {
	Store *store.Store
	Rules []Rule // as ParseRules returns them

	// Schema returns the published schema of a type, nil if it was not imported.
	Schema func(ctx context.Context, typeName string) (*schema.Schema, error)

	// Object opens a file in the S3 of this server, which emulators do not see. Nil means that there is none.
	Object func(ctx context.Context, caller awswire.Caller, bucket, key, version string) (io.ReadCloser, error)

	// Ongoing reports whether the operation with a token is in progress.
	Ongoing func(ctx context.Context, tx *store.Tx, token string) (bool, error)

	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil is time.Now
}

// Delegates are the types whose resources are made in emulators.
type Delegates struct {
	config    Config
	client    *http.Client
	emulators map[string]*emulator // by URL

	mu   sync.Mutex
	used map[string]bool // types with resources in emulators
}

// New returns the delegates of a store.
func New(ctx context.Context, config Config) (*Delegates, error) {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	d := &Delegates{config: config, client: newHTTP(), emulators: map[string]*emulator{}, used: map[string]bool{}}
	for _, rule := range config.Rules {
		if rule.URL != "" && d.emulators[rule.URL] == nil {
			d.emulators[rule.URL] = newEmulator(rule.URL, d.client, config.Now)
		}
	}
	var names []string
	if err := store.Query(ctx, config.Store.Read(), &names, "SELECT DISTINCT type_name FROM delegated_resources"); err != nil {
		return nil, fmt.Errorf("list delegated types: %w", err)
	}
	for _, name := range names {
		d.used[name] = true
	}
	return d, nil
}

// noteType notes that there are resources of a type.
func (d *Delegates) noteType(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used[name] = true
}

func (d *Delegates) uses(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used[name]
}

// ours are the services that AWS::* leaves to this server: clients upload packages and templates to its S3, and
// dynamic references and parameters of templates are resolved by the others.
var ours = []string{"AWS::CloudFormation::", "AWS::S3::", "AWS::SSM::", "AWS::SecretsManager::"}

// rule returns the rule for new resources of a type, nil if they are not delegated.
func (d *Delegates) rule(name string) *Rule {
	for i := range d.config.Rules {
		rule := &d.config.Rules[i]
		if !schema.MatchTarget(rule.Pattern, name) {
			continue
		}
		if rule.URL == "" || strings.HasPrefix(name, ours[0]) || rule.Pattern == Everything && slices.ContainsFunc(ours, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			return nil
		}
		return rule
	}
	return nil
}

// ServiceOf returns the emulator in which clients reach the service of a namespace, such as SQS: that of all of its
// types, or of one of them if this server does not have the service; "" for none.
func ServiceOf(rules []Rule, namespace string) string {
	prefix := "AWS::" + namespace + "::"
	for _, rule := range rules {
		kept := rule.Pattern == Everything && slices.Contains(ours, prefix)
		if schema.MatchTarget(rule.Pattern, prefix+"*") && !kept || strings.HasPrefix(rule.Pattern, prefix) && !slices.Contains(served, namespace) {
			return rule.URL
		}
	}
	return ""
}

// served are the namespaces whose services this server has.
var served = []string{"Events", "Lambda", "Logs", "S3", "SNS", "SSM", "SecretsManager", "StepFunctions"}

// Type implements operation.Types. A type that the emulator does not know is not delegated; while the emulator cannot
// be reached it is, and its operations fail.
func (d *Delegates) Type(ctx context.Context, caller awswire.Caller, name, _ string) (*operation.Type, error) {
	unknown := &operation.UnknownTypeError{Name: name}
	rule := d.rule(name)
	if rule == nil {
		return nil, unknown
	}
	typ, err := d.typeOf(ctx, name)
	if err != nil || d.uses(name) {
		return typ, err
	}
	knows, err := d.emulators[rule.URL].provides(ctx, caller, name)
	var refused *fault
	switch {
	case errors.As(err, &refused) && refused.code == invoke.InvalidRequest:
		unknown.Hint = refused.message
		return nil, unknown
	case errors.As(err, &refused):
		// A failure is not a reason to provide the type otherwise.
	case err != nil:
		return nil, err
	case !knows:
		unknown.Hint = fmt.Sprintf("the emulator at %s does not have the type; pass --simulate %s to simulate it", rule.URL, name)
		return nil, unknown
	}
	return typ, nil
}

func (d *Delegates) typeOf(ctx context.Context, name string) (*operation.Type, error) {
	parsed, err := d.config.Schema(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case parsed == nil:
		return nil, &operation.UnknownTypeError{Name: name, Hint: "import the schema of the type with cfn types import aws, so that it can be delegated"}
	}
	return &operation.Type{Name: name, Schema: parsed, Provider: d}, nil
}

// Left are the types of resources that a server with other rules made.
func (d *Delegates) Left() operation.Types { return left{d} }

type left struct{ *Delegates }

// Type implements operation.Types.
func (l left) Type(ctx context.Context, _ awswire.Caller, name, _ string) (*operation.Type, error) {
	if !l.uses(name) {
		return nil, &operation.UnknownTypeError{Name: name}
	}
	return l.typeOf(ctx, name)
}

// Where returns the function that says where a resource of a type is, nil if none of them is in an emulator.
func (d *Delegates) Where(caller awswire.Caller, name string) func(ctx context.Context, identifier string) (string, error) {
	if d.rule(name) == nil && !d.uses(name) {
		return nil
	}
	return func(ctx context.Context, identifier string) (string, error) {
		row, err := d.locate(ctx, nil, operation.Request{Caller: caller, Type: name, Identifier: identifier})
		if err != nil || row == nil {
			return "", err
		}
		return row.where(), nil
	}
}

// where says where the resource is.
func (r *resourceRow) where() string {
	name, version, _ := strings.Cut(r.Emulator, " ")
	text := delegatedTo(kind{name, version}, r.Endpoint, r.TypeName)
	if r.Kept != "" {
		text += ", may have kept " + r.Kept
	}
	return text
}

// Mark says where new resources of a type are made, "" if they are not delegated. It does not call the emulator.
func (d *Delegates) Mark(name string) string {
	rule := d.rule(name)
	if rule == nil {
		return ""
	}
	return delegatedTo(d.emulators[rule.URL].lastKind(), rule.URL, name)
}

func delegatedTo(of kind, url, typeName string) string {
	text := fmt.Sprintf("delegated to %s at %s", cmp.Or(of.String(), "an emulator"), url)
	if _, measured := verified(of)[typeName]; !measured {
		text += ", not verified"
	}
	return text
}

const pageSize = 100

// ListResources implements operation.Lister: the delegated resources of a type, in the order of their identifiers.
func (d *Delegates) ListResources(ctx context.Context, request operation.ListRequest) (*operation.Page, error) {
	limit := pageSize
	if request.MaxResults > 0 {
		limit = min(limit, request.MaxResults)
	}
	var rows []resourceRow
	err := store.List(ctx, d.config.Store.Read(), &rows, "WHERE account = ? AND region = ? AND type_name = ? AND stage IN (?, ?) AND identifier > ? ORDER BY identifier LIMIT ?",
		request.Caller.Account, request.Caller.Region, request.Type, ready, deleting, request.NextToken, int64(limit)+1)
	if err != nil {
		return nil, fmt.Errorf("list delegated resources: %w", err)
	}
	page := &operation.Page{}
	if len(rows) > limit {
		rows = rows[:limit]
		page.NextToken = rows[limit-1].Primary
	}
	for i := range rows {
		page.Resources = append(page.Resources, operation.Listed{Identifier: rows[i].Primary, Model: rows[i].model()})
	}
	return page, nil
}

// Expire deletes what creates left that were given up, and markers that are no longer used.
func (d *Delegates) Expire(ctx context.Context, _ time.Time) error {
	err := d.each(ctx, true, func(row *resourceRow) error {
		if d.emulators[row.Endpoint] == nil {
			return nil
		}
		ongoing := false
		err := d.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			ongoing, err = d.config.Ongoing(ctx, tx, row.Token)
			return err
		})
		if err == nil && !ongoing {
			d.discard(ctx, row)
		}
		return err
	})
	if err != nil {
		return err
	}
	return d.eachUnused(ctx, func(m *markerRow) {
		e := d.emulators[m.Endpoint]
		if e == nil {
			return
		}
		if err := d.dropMarker(ctx, e, m.ID); err != nil {
			d.config.Logger.WarnContext(ctx, "the stack of a marker could not be deleted", "url", e.url, "stack", m.stackName(), "error", err)
		}
	})
}

// discard deletes the stack of a resource and forgets it. A stack of that name that others created stays, and so
// does what is in an emulator that this server does not have.
func (d *Delegates) discard(ctx context.Context, row *resourceRow) {
	e := d.emulators[row.Endpoint]
	if e == nil {
		return
	}
	client := e.cloudFormation(row.caller())
	found, err := e.settle(ctx, client, row.stackRef())
	if err == nil && found != nil && found.description == row.owner() {
		err = e.deleteStack(ctx, client, found.id)
	}
	if err == nil {
		err = d.forget(ctx, e, row)
	}
	if err != nil {
		d.config.Logger.WarnContext(ctx, "a resource in an emulator could not be deleted", "url", e.url, "stack", row.StackName, "error", err)
	}
}

// Clear deletes all resources in emulators, for a server whose data is deleted when it stops.
func (d *Delegates) Clear(ctx context.Context) error {
	return d.each(ctx, false, func(row *resourceRow) error {
		d.discard(ctx, row)
		return nil
	})
}
