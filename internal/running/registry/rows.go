package registry

import (
	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// A typeRow is one private type of an account in a region. It exists from the first
// RegisterType on, because it is what hands out version numbers; the type itself exists
// once a version does.
type typeRow struct {
	store.Row `db:"types AS t"`

	ID       string `db:"id,pk"`
	Account  string `db:"account"`
	Region   string `db:"region"`
	Kind     string `db:"kind"`
	TypeName string `db:"type_name"`

	DefaultVersion *int64 `db:"default_version"` // nil until a registration has completed
	NextVersion    int64  `db:"next_version"`    // never goes back
	Deprecated     bool   `db:"deprecated"`      // the whole type is deregistered

	CreatedAt  store.Time `db:"created_at"`
	UpdatedAt  store.Time `db:"updated_at"`
	RowVersion int64      `db:"row_version"`
}

// A versionRow is one registered version of a private type. Nothing but its statuses
// changes after it is written.
type versionRow struct {
	store.Row `db:"type_versions AS v"`

	ID         string `db:"id,pk"`
	TypeID     string `db:"type_id"`
	Version    int64  `db:"version"`
	Deprecated bool   `db:"deprecated"`

	Schema      string `db:"schema"`       // as it appears in the package
	PackageHash string `db:"package_hash"` // of the blob
	PackageURL  string `db:"package_url"`
	Runtime     string `db:"runtime"`    // of the handler, "" for modules
	Entrypoint  string `db:"entrypoint"` // likewise

	Description      string `db:"description"`
	SourceURL        string `db:"source_url"`
	DocumentationURL string `db:"documentation_url"`
	ProvisioningType string `db:"provisioning_type"` // "" but for resource types
	ExecutionRole    string `db:"execution_role"`
	LogGroup         string `db:"log_group"`
	LogRole          string `db:"log_role"`

	// ConfigurationSchema is the type's own: typeConfiguration of the schema or
	// configuration-schema.json of a hook, "" for none.
	ConfigurationSchema string `db:"configuration_schema"`
	RequiredTypes       string `db:"required_types"` // JSON list of types.RequiredActivatedType, of modules; else ""
	Settings            string `db:"settings"`       // .rpdk-config

	TestStatus            string `db:"test_status"` // types.TypeTestsStatus
	TestStatusDescription string `db:"test_status_description"`
	PublicVersion         string `db:"public_version"` // the number it is published under, "" for none

	CreatedAt  store.Time `db:"created_at"`
	UpdatedAt  store.Time `db:"updated_at"`
	RowVersion int64      `db:"row_version"`
}

// A registrationRow is one RegisterType request and how far it has come.
type registrationRow struct {
	store.Row `db:"registrations AS r"`

	Token    string `db:"token,pk"`
	Account  string `db:"account"`
	Region   string `db:"region"`
	TypeID   string `db:"type_id"`
	Kind     string `db:"kind"`
	TypeName string `db:"type_name"`
	Version  int64  `db:"version"` // allotted with the request

	ClientToken *string `db:"client_token"` // nil if the caller sent none
	RequestHash string  `db:"request_hash"`

	PackageURL    string `db:"package_url"`
	PackageHash   string `db:"package_hash"` // "" until it is fetched
	ExecutionRole string `db:"execution_role"`
	LogGroup      string `db:"log_group"`
	LogRole       string `db:"log_role"`

	Status      string `db:"status"` // types.RegistrationStatus
	Stage       string `db:"stage"`  // a stage
	Description string `db:"description"`
	Caller      string `db:"caller"` // the access key id, for fetching the package as its owner

	CreatedAt  store.Time `db:"created_at"`
	UpdatedAt  store.Time `db:"updated_at"`
	RowVersion int64      `db:"row_version"`
}

// A configurationRow is what SetTypeConfiguration stored: dynamic references in it are not
// resolved.
type configurationRow struct {
	store.Row `db:"type_configurations AS c"`

	Account       string     `db:"account,pk"`
	Region        string     `db:"region,pk"`
	TypeARN       string     `db:"type_arn,pk"` // without a version
	Alias         string     `db:"alias,pk"`
	Configuration string     `db:"configuration" seal:"type_configurations.configuration"`
	UpdatedAt     store.Time `db:"updated_at"`
}
