package registry

import (
	"github.com/uptrace/bun"

	"github.com/formwork-dev/formwork/internal/store"
)

// A typeRow is one private type of an account in a region. It exists from the first
// RegisterType on, because it is what hands out version numbers; the type itself exists
// once a version does.
type typeRow struct {
	bun.BaseModel `bun:"table:types,alias:t"`

	ID       string `bun:"id,pk"`
	Account  string `bun:"account"`
	Region   string `bun:"region"`
	Kind     string `bun:"kind"`
	TypeName string `bun:"type_name"`

	DefaultVersion *int64 `bun:"default_version"` // nil until a registration has completed
	NextVersion    int64  `bun:"next_version"`    // never goes back
	Deprecated     bool   `bun:"deprecated"`      // the whole type is deregistered

	CreatedAt  store.Time `bun:"created_at"`
	UpdatedAt  store.Time `bun:"updated_at"`
	RowVersion int64      `bun:"row_version"`
}

// A versionRow is one registered version of a private type. Nothing but its statuses
// changes after it is written.
type versionRow struct {
	bun.BaseModel `bun:"table:type_versions,alias:v"`

	ID         string `bun:"id,pk"`
	TypeID     string `bun:"type_id"`
	Version    int64  `bun:"version"`
	Deprecated bool   `bun:"deprecated"`

	Schema      string `bun:"schema"`       // as it appears in the package
	PackageHash string `bun:"package_hash"` // of the blob
	PackageURL  string `bun:"package_url"`
	Runtime     string `bun:"runtime"`    // of the handler, "" for modules
	Entrypoint  string `bun:"entrypoint"` // likewise

	Description      string `bun:"description"`
	SourceURL        string `bun:"source_url"`
	DocumentationURL string `bun:"documentation_url"`
	ProvisioningType string `bun:"provisioning_type"` // "" but for resource types
	ExecutionRole    string `bun:"execution_role"`
	LogGroup         string `bun:"log_group"`
	LogRole          string `bun:"log_role"`

	// ConfigurationSchema is the type's own: typeConfiguration of the schema or
	// configuration-schema.json of a hook, "" for none.
	ConfigurationSchema string `bun:"configuration_schema"`
	RequiredTypes       string `bun:"required_types"` // JSON list of types.RequiredActivatedType, of modules; else ""
	Settings            string `bun:"settings"`       // .rpdk-config

	TestStatus            string `bun:"test_status"` // types.TypeTestsStatus
	TestStatusDescription string `bun:"test_status_description"`
	PublicVersion         string `bun:"public_version"` // the number it is published under, "" for none

	CreatedAt  store.Time `bun:"created_at"`
	UpdatedAt  store.Time `bun:"updated_at"`
	RowVersion int64      `bun:"row_version"`
}

// A registrationRow is one RegisterType request and how far it has come.
type registrationRow struct {
	bun.BaseModel `bun:"table:registrations,alias:r"`

	Token    string `bun:"token,pk"`
	Account  string `bun:"account"`
	Region   string `bun:"region"`
	TypeID   string `bun:"type_id"`
	Kind     string `bun:"kind"`
	TypeName string `bun:"type_name"`
	Version  int64  `bun:"version"` // allotted with the request

	ClientToken *string `bun:"client_token"` // nil if the caller sent none
	RequestHash string  `bun:"request_hash"`

	PackageURL    string `bun:"package_url"`
	PackageHash   string `bun:"package_hash"` // "" until it is fetched
	ExecutionRole string `bun:"execution_role"`
	LogGroup      string `bun:"log_group"`
	LogRole       string `bun:"log_role"`

	Status      string `bun:"status"` // types.RegistrationStatus
	Stage       string `bun:"stage"`  // a stage
	Description string `bun:"description"`
	Caller      string `bun:"caller"` // the access key id, for fetching the package as its owner

	CreatedAt  store.Time `bun:"created_at"`
	UpdatedAt  store.Time `bun:"updated_at"`
	RowVersion int64      `bun:"row_version"`
}

// A configurationRow is what SetTypeConfiguration stored: dynamic references in it are not
// resolved.
type configurationRow struct {
	bun.BaseModel `bun:"table:type_configurations,alias:c"`

	Account       string     `bun:"account,pk"`
	Region        string     `bun:"region,pk"`
	TypeARN       string     `bun:"type_arn,pk"` // without a version
	Alias         string     `bun:"alias,pk"`
	Configuration string     `bun:"configuration" seal:"type_configurations.configuration"`
	UpdatedAt     store.Time `bun:"updated_at"`
}
