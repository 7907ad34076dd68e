package registry

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// maxVersions is how many live versions a type may have, those that are being registered
// included (quotas of the service).
const maxVersions = 50

// RegisterType takes a request for a new version of a type, allots its number, and returns
// the token with which DescribeTypeRegistration reports its progress. A request with the
// ClientRequestToken of an earlier one gets the token of that.
//
// Errors, all CFNRegistryException: a name that does not fit the kind or is reserved, an
// invalid package URL, a client token that was used with other parameters, a name that is an
// alias of an activated type, and too many versions.
func (r *Registry) RegisterType(ctx context.Context, caller awswire.Caller, in *cloudformation.RegisterTypeInput) (*cloudformation.RegisterTypeOutput, error) {
	row, err := r.registration(caller, in)
	if err == nil {
		err = r.notOfAWS(ctx, row.TypeName)
	}
	if err != nil {
		return nil, err
	}
	var accepted *registrationRow
	err = r.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		var err error
		accepted, err = r.accept(ctx, tx, *row)
		return err
	})
	if err != nil {
		return nil, err
	}
	if accepted.Token == row.Token {
		r.notify(accepted, RegistrationStarted)
	}
	return &cloudformation.RegisterTypeOutput{RegistrationToken: &accepted.Token}, nil
}

// registration is the row of a request, without what accept fills in.
func (r *Registry) registration(caller awswire.Caller, in *cloudformation.RegisterTypeInput) (*registrationRow, error) {
	row := &registrationRow{
		Token: r.config.NewID(), Account: caller.Account, Region: caller.Region,
		Kind: string(in.Type), TypeName: aws.ToString(in.TypeName),
		ClientToken: in.ClientRequestToken, PackageURL: aws.ToString(in.SchemaHandlerPackage),
		ExecutionRole: aws.ToString(in.ExecutionRoleArn),
		Status:        string(types.RegistrationStatusInProgress), Stage: stageFetch, Caller: caller.AccessKeyID,
	}
	if row.Kind == "" {
		row.Kind = string(schema.Resource)
	}
	if in.LoggingConfig != nil {
		row.LogGroup, row.LogRole = aws.ToString(in.LoggingConfig.LogGroupName), aws.ToString(in.LoggingConfig.LogRoleArn)
	}
	if err := registrable(schema.Kind(row.Kind), row.TypeName); err != nil {
		return nil, err
	}
	if err := packageURL(row.PackageURL); err != nil {
		return nil, err
	}
	for member, text := range map[string]string{"ExecutionRoleArn": row.ExecutionRole, "LogGroupName": row.LogGroup, "LogRoleArn": row.LogRole, "ClientRequestToken": aws.ToString(row.ClientToken)} {
		if printable(text) != text {
			return nil, refuse("%s has control characters.", member)
		}
	}
	request, err := json.Marshal([]string{row.Kind, row.TypeName, row.PackageURL, row.ExecutionRole, row.LogGroup, row.LogRole})
	if err != nil {
		return nil, fmt.Errorf("register %s: %w", row.TypeName, err)
	}
	sum := sha256.Sum256(request)
	row.RequestHash = hex.EncodeToString(sum[:])
	return row, nil
}

// registrable refuses names that a private type cannot have.
func registrable(kind schema.Kind, typeName string) error {
	if err := validName(kind, typeName); err != nil {
		return err
	}
	if namespace, is := project.ReservedNamespace(typeName); is && !namespace.Private {
		return refuse("The type '%s' cannot be registered: the namespace '%s' is reserved.", typeName, namespace.Name)
	}
	return nil
}

// notOfAWS refuses a private type with the name of a type that AWS has: it would take the place of that.
func (r *Registry) notOfAWS(ctx context.Context, typeName string) error {
	if !ofAmazon(typeName) {
		return nil
	}
	taken := strings.HasPrefix(typeName, "AWS::CloudFormation::")
	if !taken && r.config.Imported != nil {
		t, err := r.config.Imported.Find(ctx, typeName)
		if err != nil {
			return fmt.Errorf("look for a type of AWS: %w", err)
		}
		taken = t != nil
	}
	if taken {
		return refuse("The type '%s' cannot be registered: it is a type of AWS.", typeName)
	}
	return nil
}

// validName rejects invalid names for a type of the kind.
func validName(kind schema.Kind, typeName string) error {
	switch kind {
	case schema.Resource, schema.Hook, schema.Module:
	default:
		return refuse("Type '%s' is not one of RESOURCE, MODULE, HOOK.", kind)
	}
	if project.ValidTypeName(kind, typeName) {
		return nil
	}
	switch {
	case project.ValidTypeName(schema.Module, typeName):
		return refuse("TypeName is invalid: '%s' is the name of a module, and Type is %s.", typeName, kind)
	case kind == schema.Module && project.ValidTypeName(schema.Resource, typeName):
		return refuse("TypeName is invalid: the name of a module ends in ::MODULE, as in '%s::MODULE'.", typeName)
	}
	return refuse("TypeName is invalid")
}

// packageURL rejects URLs that do not name an object.
func packageURL(text string) error {
	u, err := url.Parse(text)
	if err == nil && slices.Contains([]string{"s3", "https", "http"}, u.Scheme) && u.Host != "" && len(u.Path) > 1 {
		return nil
	}
	return refuse("SchemaHandlerPackage must be the URL of a zip file in S3, as in s3://bucket/key.")
}

// accept creates the row of a request, or returns that of the same earlier request, of which
// only the token is read.
func (r *Registry) accept(ctx context.Context, tx *store.Tx, row registrationRow) (*registrationRow, error) {
	if before, err := earlier(ctx, tx, &row); before != nil || err != nil {
		return before, err
	}
	activated, err := findActivation(ctx, tx, ownerOf(&row), schema.Kind(row.Kind), row.TypeName)
	switch {
	case err != nil:
		return nil, err
	case activated != nil:
		return nil, refuse("The name '%s' is that of an activated public type. Deactivate it, or register under another name.", row.TypeName)
	}
	now := r.now()
	row.CreatedAt, row.UpdatedAt = now, now
	if err := r.allot(ctx, tx, &row); err != nil {
		return nil, err
	}
	written, err := store.InsertOr(ctx, tx, "ON CONFLICT DO NOTHING", &row)
	if err != nil {
		return nil, fmt.Errorf("register %s: %w", row.TypeName, err)
	}
	if err := store.RequireOneRow(written); err != nil {
		return nil, err // the client token was used at the same moment
	}
	if err := tx.Wake(ctx, workRegistration, row.Token, time.Time{}); err != nil {
		return nil, fmt.Errorf("register %s: %w", row.TypeName, err)
	}
	return &row, nil
}

// earlier returns the registration that has the same client token, nil if none has.
func earlier(ctx context.Context, tx *store.Tx, row *registrationRow) (*registrationRow, error) {
	if row.ClientToken == nil {
		return nil, nil
	}
	var before registrationRow
	err := store.Query(ctx, tx, &before, "SELECT token, request_hash FROM registrations WHERE account = ? AND region = ? AND client_token = ?",
		row.Account, row.Region, *row.ClientToken)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look up the client token of %s: %w", row.TypeName, err)
	case before.RequestHash != row.RequestHash:
		return nil, refuse("The ClientRequestToken '%s' belongs to a registration with other parameters.", *row.ClientToken)
	}
	return &before, nil
}

// allot gives the row the next number of its type, which is made if it is new, and refuses
// where there are too many versions.
func (r *Registry) allot(ctx context.Context, tx *store.Tx, row *registrationRow) error {
	fresh := &typeRow{
		ID: r.config.NewID(), Account: row.Account, Region: row.Region, Kind: row.Kind, TypeName: row.TypeName,
		NextVersion: 1, CreatedAt: row.CreatedAt, UpdatedAt: row.CreatedAt,
	}
	if _, err := store.InsertOr(ctx, tx, "ON CONFLICT DO NOTHING", fresh); err != nil {
		return fmt.Errorf("register %s: %w", row.TypeName, err)
	}
	// The update locks the type: counting below sees every registration before this one.
	var typ typeRow
	err := store.Query(ctx, tx, &typ, "UPDATE types SET next_version = next_version + 1 WHERE account = ? AND region = ? AND kind = ? AND type_name = ? RETURNING id, next_version",
		row.Account, row.Region, row.Kind, row.TypeName)
	if err != nil {
		return fmt.Errorf("assign a version of %s: %w", row.TypeName, err)
	}
	row.TypeID, row.Version = typ.ID, typ.NextVersion-1

	live, err := store.Count(ctx, tx, "FROM type_versions WHERE type_id = ? AND NOT deprecated", typ.ID)
	if err != nil {
		return fmt.Errorf("count the versions of %s: %w", row.TypeName, err)
	}
	coming, err := store.Count(ctx, tx, "FROM registrations WHERE type_id = ? AND status = ?", typ.ID, types.RegistrationStatusInProgress)
	if err != nil {
		return fmt.Errorf("count the registrations of %s: %w", row.TypeName, err)
	}
	if live+coming >= maxVersions {
		return refuse("The limit of %d versions of the type '%s' is reached. Deregister versions that are not used any more.", maxVersions, row.TypeName)
	}
	return nil
}

// now is the time as rows have it.
func (r *Registry) now() store.Time { return store.At(r.config.Now()) }

// notify notifies subscribers about a registration.
func (r *Registry) notify(row *registrationRow, what Event) {
	r.changes.send(Change{
		Place: awswire.Place{Account: row.Account, Region: row.Region}, Kind: schema.Kind(row.Kind), TypeName: row.TypeName,
		Version: versionID(row.Version), What: what,
	})
}
