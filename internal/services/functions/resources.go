package functions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The types that functions consist of.
const (
	TypeFunction = "AWS::Lambda::Function"
	TypeVersion  = "AWS::Lambda::Version"
	TypeAlias    = "AWS::Lambda::Alias"
	TypeLayer    = "AWS::Lambda::LayerVersion"
)

// Config sets up Functions. Store must be set.
type Config struct {
	Store *store.Store
	Dir   string // the folder for unpacked code
}

// Functions are those of all accounts and regions. Any number of goroutines may use them.
type Functions struct {
	config   Config
	unpacked *files.Cache
}

// New returns the functions in a store.
func New(config Config) *Functions {
	return &Functions{config: config, unpacked: &files.Cache{Dir: config.Dir}}
}

// A Resource is a function, a version, an alias, or what is stored around them.
type Resource struct {
	Type, ID string
	Model    map[string]any
	CodeHash string // of the blob with the zip file, "" for none
}

type row struct {
	store.Row `db:"deployed_resources AS d"`

	Account   string     `db:"account,pk"`
	Region    string     `db:"region,pk"`
	Type      string     `db:"type,pk"`
	ID        string     `db:"id,pk"`
	CodeHash  string     `db:"code_hash"`
	Model     string     `db:"model" seal:"deployed_resources.model"` // may have secrets in the environment
	CreatedAt store.Time `db:"created_at"`
}

func (f *Functions) rowOf(place awswire.Place, r Resource) (*row, error) {
	model, err := json.Marshal(r.Model)
	if err != nil {
		return nil, fmt.Errorf("store a resource: %w", err)
	}
	return &row{
		Account: place.Account, Region: place.Region, Type: r.Type, ID: r.ID, CodeHash: r.CodeHash, Model: string(model), CreatedAt: f.config.Store.Now(),
	}, nil
}

// Create adds a resource. The error is an *awswire.Error if the identifier is taken.
func (f *Functions) Create(ctx context.Context, place awswire.Place, r Resource) error {
	added, err := f.rowOf(place, r)
	if err != nil {
		return err
	}
	return f.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		written, err := store.InsertOr(ctx, tx, "ON CONFLICT (account, region, type, id) DO NOTHING", added)
		if err != nil {
			return fmt.Errorf("add a resource: %w", err)
		}
		if written == 0 {
			return awswire.Errorf("ResourceAlreadyExistsException", 409, "%s %s already exists.", r.Type, r.ID)
		}
		return nil
	})
}

// Update replaces a resource. The error is an *awswire.Error if it does not exist.
func (f *Functions) Update(ctx context.Context, place awswire.Place, r Resource) error {
	changed, err := f.rowOf(place, r)
	if err != nil {
		return err
	}
	return f.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		err := store.Update(ctx, tx, changed, "code_hash", "model")
		if errors.Is(err, store.ErrStale) {
			return notFound(r.Type, r.ID)
		}
		if err != nil {
			return fmt.Errorf("change a resource: %w", err)
		}
		return nil
	})
}

// Delete removes a resource, and with a function its versions and aliases. The error is an
// *awswire.Error if it does not exist.
func (f *Functions) Delete(ctx context.Context, place awswire.Place, typeName, id string) error {
	return f.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		written, err := store.Exec(ctx, tx, "DELETE FROM deployed_resources WHERE account = ? AND region = ? AND type = ? AND id = ?", place.Account, place.Region, typeName, id)
		if err != nil {
			return fmt.Errorf("remove a resource: %w", err)
		}
		if written == 0 {
			return notFound(typeName, id)
		}
		if typeName != TypeFunction {
			return nil
		}
		_, err = store.Exec(ctx, tx, "DELETE FROM deployed_resources WHERE account = ? AND region = ? AND type IN (?, ?) AND substr(id, 1, ?) = ?",
			place.Account, place.Region, TypeVersion, TypeAlias, len(id)+1, id+":")
		return err
	})
}

// Get returns a resource. The error is an *awswire.Error if it does not exist.
func (f *Functions) Get(ctx context.Context, place awswire.Place, typeName, id string) (*Resource, error) {
	rows, err := f.rows(ctx, "account = ? AND region = ? AND type = ? AND id = ?", place.Account, place.Region, typeName, id)
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, notFound(typeName, id)
	}
	return rows[0].resource()
}

// Has reports whether there are resources of a type.
func (f *Functions) Has(ctx context.Context, place awswire.Place, typeName string) (bool, error) {
	found, err := store.Exists(ctx, f.config.Store.Read(), "FROM deployed_resources WHERE account = ? AND region = ? AND type = ?",
		place.Account, place.Region, typeName)
	if err != nil {
		return false, fmt.Errorf("look for a resource: %w", err)
	}
	return found, nil
}

// Versions are the numbers of the versions of a function or layer, as parts of ids.
func (f *Functions) Versions(ctx context.Context, place awswire.Place, typeName, name string) (numbers []string, err error) {
	rows, err := f.rows(ctx, "account = ? AND region = ? AND type = ? AND substr(id, 1, ?) = ?", place.Account, place.Region, typeName, len(name)+1, name+":")
	for i := range rows {
		numbers = append(numbers, strings.TrimPrefix(rows[i].ID, name+":"))
	}
	return numbers, err
}

func (f *Functions) rows(ctx context.Context, where string, args ...any) ([]row, error) {
	var rows []row
	if err := store.List(ctx, f.config.Store.Read(), &rows, "WHERE "+where+" ORDER BY id", args...); err != nil {
		return nil, fmt.Errorf("read a resource: %w", err)
	}
	return rows, nil
}

func (r *row) resource() (*Resource, error) {
	out := &Resource{Type: r.Type, ID: r.ID, CodeHash: r.CodeHash}
	decoder := json.NewDecoder(strings.NewReader(r.Model))
	decoder.UseNumber()
	if err := decoder.Decode(&out.Model); err != nil {
		return nil, fmt.Errorf("cannot read %s %s: %T", r.Type, r.ID, err) // the error would show a piece of it
	}
	return out, nil
}

func notFound(typeName, id string) error {
	return awswire.Errorf("ResourceNotFoundException", 404, "%s %s does not exist.", typeName, id)
}

// KeepsBlob reports whether a blob is the code of a function or a layer.
func (f *Functions) KeepsBlob(ctx context.Context, hash string) (bool, error) {
	used, err := store.Exists(ctx, f.config.Store.Read(), "FROM deployed_resources WHERE code_hash = ?", hash)
	if err != nil {
		return false, fmt.Errorf("look for the function of a code: %w", err)
	}
	return used, nil
}

// A Deployment is a version of a function, ready to run.
type Deployment struct {
	Version  string // a number, or $LATEST
	Revision string // changes with the code and the settings
	CodeHash string

	Layers []string // hashes of their zip files, in the order of the function

	// Unrun is why the function cannot run here, "" if it can: it exists, and refuses to be called.
	Unrun string

	Runtime, Handler string
	Environment      []string // NAME=VALUE
	Timeout          time.Duration
	MemoryMB         int
	TmpMB            int    // of /tmp; 0 for the default
	Role             string // ARN
	LogGroup         string // "" for the usual one
}
