package awslite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const (
	stageCurrent  = "AWSCURRENT"
	stagePrevious = "AWSPREVIOUS"

	maxSecret        = 65536 // bytes of a value
	maxSecretStages  = 20
	maxVersionsKept  = 100 // of a secret, with a stage or without
	defaultRecovery  = 30  // days
	shortestRecovery = 7
)

// secretsTable is Secrets Manager. Rotation and replication are refused.
func (s *Services) secretsTable() *awswire.Table {
	id := awswire.Constraint{Member: "SecretId", Required: true, MinLength: 1, MaxLength: 2048}
	values := []awswire.Constraint{
		{Member: "ClientRequestToken", MinLength: 32, MaxLength: 64}, {Member: "Description", MaxLength: 2048}, {Member: "KmsKeyId", MaxLength: 2048},
		{Member: "SecretBinary", MinLength: 1, MaxLength: maxSecret, Secret: true}, {Member: "SecretString", MinLength: 1, MaxLength: maxSecret, Secret: true},
	}
	with := func(first awswire.Constraint, more ...awswire.Constraint) []awswire.Constraint {
		return append([]awswire.Constraint{first}, more...)
	}
	return &awswire.Table{
		Service: "secretsmanager", Protocol: awswire.JSON11, TargetPrefix: "secretsmanager", Logger: s.log,
		Operations: []awswire.Operation{
			awswire.TextOp("CreateSecret", s.createSecret),
			awswire.TextOp("DeleteResourcePolicy", s.deleteSecretPolicy),
			awswire.TextOp("DeleteSecret", s.deleteSecret),
			awswire.TextOp("DescribeSecret", s.describeSecret),
			awswire.TextOp("GetRandomPassword", s.getRandomPassword),
			awswire.TextOp("GetResourcePolicy", s.getSecretPolicy),
			awswire.TextOp("GetSecretValue", s.getSecretValue),
			awswire.TextOp("ListSecretVersionIds", s.listSecretVersionIds),
			awswire.TextOp("ListSecrets", s.listSecrets),
			awswire.TextOp("PutResourcePolicy", s.putSecretPolicy),
			awswire.TextOp("PutSecretValue", s.putSecretValue),
			awswire.TextOp("RestoreSecret", s.restoreSecret),
			awswire.TextOp("TagResource", s.tagSecret),
			awswire.TextOp("UntagResource", s.untagSecret),
			awswire.TextOp("UpdateSecret", s.updateSecret),
			awswire.TextOp("UpdateSecretVersionStage", s.updateSecretVersionStage),
		},
		NoResult: []string{"TagResource", "UntagResource"},
		Known: strings.Fields(`BatchGetSecretValue CancelRotateSecret RemoveRegionsFromReplication ReplicateSecretToRegions
			RotateSecret StopReplicationToReplica ValidateResourcePolicy`),
		Constraints: map[string][]awswire.Constraint{
			"CreateSecret":   append(with(awswire.Constraint{Member: "Name", Required: true, MinLength: 1, MaxLength: 512}), values...),
			"UpdateSecret":   append(with(id), values...),
			"PutSecretValue": with(id, values[0], values[3], values[4], awswire.Constraint{Member: "VersionStages", MinLength: 1, MaxLength: maxSecretStages}),
			"GetSecretValue": with(id, awswire.Constraint{Member: "VersionId", MinLength: 32, MaxLength: 64}, awswire.Constraint{Member: "VersionStage", MinLength: 1, MaxLength: 256}),
			"DescribeSecret": with(id), "DeleteSecret": with(id), "RestoreSecret": with(id), "GetResourcePolicy": with(id), "DeleteResourcePolicy": with(id),
			"PutResourcePolicy":        with(id, awswire.Constraint{Member: "ResourcePolicy", Required: true, MinLength: 1, MaxLength: 20480}),
			"TagResource":              with(id, awswire.Constraint{Member: "Tags", Required: true}),
			"UntagResource":            with(id, awswire.Constraint{Member: "TagKeys", Required: true}),
			"ListSecrets":              {{Member: "MaxResults", Min: number(1), Max: number(100)}},
			"ListSecretVersionIds":     with(id, awswire.Constraint{Member: "MaxResults", Min: number(1), Max: number(100)}),
			"UpdateSecretVersionStage": with(id, awswire.Constraint{Member: "VersionStage", Required: true, MinLength: 1, MaxLength: 256}),
			"GetRandomPassword":        {{Member: "PasswordLength", Min: number(1), Max: number(4096)}, {Member: "ExcludeCharacters", MaxLength: 4096}},
		},
		ValidationCode: "InvalidParameterException",
	}
}

// A secretRow is a secret. Until PurgeAt a deleted one can be restored.
type secretRow struct {
	store.Row   `db:"sm_secrets AS s"`
	Account     string                        `db:"account,pk"`
	Region      string                        `db:"region,pk"`
	Name        string                        `db:"name,pk"`
	ARN         string                        `db:"arn"`
	Description *string                       `db:"description"`
	KeyID       *string                       `db:"key_id"`
	Policy      *string                       `db:"policy"`
	Tags        store.JSON[map[string]string] `db:"tags"`
	CreatedAt   store.Time                    `db:"created_at"`
	ChangedAt   store.Time                    `db:"changed_at"`
	DeletedAt   store.Time                    `db:"deleted_at"`
	PurgeAt     store.Time                    `db:"purge_at"`
	RowVersion  int64                         `db:"row_version"`
}

// A secretVersion is one value of a secret. Form is "string" or "binary".
type secretVersion struct {
	store.Row `db:"sm_versions AS v"`
	ARN       string               `db:"arn,pk"`
	Version   string               `db:"version,pk"`
	Stages    store.JSON[[]string] `db:"stages"`
	Form      string               `db:"form"`
	Sealed    string               `db:"sealed"`
	CreatedAt store.Time           `db:"created_at"`
}

func (v *secretVersion) owner() string { return "secret/" + v.ARN + "/" + v.Version + "/" + v.Form }

func smInvalidParameter(format string, args ...any) error {
	return awswire.Errorf("InvalidParameterException", 0, format, args...)
}

func smInvalidRequest(format string, args ...any) error {
	return awswire.Errorf("InvalidRequestException", 0, format, args...)
}

func secretNotFound() error {
	return awswire.Errorf("ResourceNotFoundException", 0, "Secrets Manager can't find the specified secret.")
}

// when is a time for an answer, nil without one.
func when(t store.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t.Time
}

// findSecret is the secret that a name or an ARN means, deleted or not. An ARN may lack
// its last seven characters.
func (s *Services) findSecret(ctx context.Context, db store.DB, caller awswire.Caller, id string) (*secretRow, error) {
	row := &secretRow{}
	name := id
	if strings.HasPrefix(id, "arn:") {
		parts := strings.SplitN(id, ":", 7)
		if len(parts) != 7 || parts[2] != "secretsmanager" || parts[5] != "secret" {
			return nil, smInvalidParameter("Invalid ARN: the format is arn:partition:secretsmanager:region:account:secret:name")
		}
		if parts[3] != caller.Region || parts[4] != caller.Account {
			return nil, secretNotFound()
		}
		name = parts[6]
	}
	err := store.Get(ctx, db, row, "WHERE account = ? AND region = ? AND (arn = ? OR name = ?) ORDER BY CASE WHEN arn = ? THEN 0 ELSE 1 END LIMIT 1",
		caller.Account, caller.Region, id, name, id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, secretNotFound()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the secret: %w", err)
	}
	if !row.PurgeAt.IsZero() && !row.PurgeAt.After(s.now().Time) {
		return nil, secretNotFound()
	}
	return row, nil
}

// liveSecret is a secret that is not deleted.
func (s *Services) liveSecret(ctx context.Context, db store.DB, caller awswire.Caller, id string) (*secretRow, error) {
	row, err := s.findSecret(ctx, db, caller, id)
	if err == nil && !row.DeletedAt.IsZero() {
		return nil, smInvalidRequest("You can't perform this operation on the secret because it was marked for deletion.")
	}
	return row, err
}

// changeSecret runs change on a secret that is not deleted, and stores the changed row.
func (s *Services) changeSecret(ctx context.Context, caller awswire.Caller, id string, change func(ctx context.Context, tx *store.Tx, row *secretRow) error) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := s.liveSecret(ctx, tx, caller, id)
		if err != nil {
			return err
		}
		if err := change(ctx, tx, row); err != nil {
			return err
		}
		return s.keepSecret(ctx, tx, row)
	})
}

func (s *Services) keepSecret(ctx context.Context, tx *store.Tx, row *secretRow) error {
	row.ChangedAt = s.now()
	row.RowVersion++
	if err := store.Update(ctx, tx, row); err != nil {
		return fmt.Errorf("keeping the secret: %w", err)
	}
	return nil
}

// versionsOfSecret are all values of a secret, the oldest first.
func versionsOfSecret(ctx context.Context, db store.DB, arn string) ([]secretVersion, error) {
	var versions []secretVersion
	if err := store.List(ctx, db, &versions, "WHERE arn = ? ORDER BY created_at, version", arn); err != nil {
		return nil, fmt.Errorf("reading the values of the secret: %w", err)
	}
	return versions, nil
}

// A newSecretValue is a value that a request brings, nil members where it brings none.
type newSecretValue struct {
	text   *string
	binary []byte
	token  *string
	stages []string
}

func (n newSecretValue) check() error {
	if n.text != nil && n.binary != nil {
		return smInvalidParameter("You can't specify both a binary secret value and a string secret value in the same secret.")
	}
	return nil
}

// addVersion gives a secret another value. A token that was used before is the same
// request again if it brings the same value. The stages move from where they are;
// AWSPREVIOUS follows AWSCURRENT.
func (s *Services) addVersion(ctx context.Context, tx *store.Tx, row *secretRow, n newSecretValue) (*secretVersion, error) {
	versions, err := versionsOfSecret(ctx, tx, row.ARN)
	if err != nil {
		return nil, err
	}
	v := &secretVersion{ARN: row.ARN, Version: value(n.token), Form: "string", CreatedAt: s.now()}
	if v.Version == "" {
		v.Version = s.newID()
	}
	text := value(n.text)
	if n.binary != nil {
		v.Form, text = "binary", base64.StdEncoding.EncodeToString(n.binary)
	}
	for i := range versions {
		old := &versions[i]
		if old.Version != v.Version {
			continue
		}
		before, err := s.sealer.Open(old.owner(), old.Sealed)
		if err != nil {
			return nil, fmt.Errorf("secret %s: %w", row.Name, err)
		}
		if before == text && old.Form == v.Form {
			return old, nil
		}
		return nil, awswire.Errorf("ResourceExistsException", 0, "You can't use ClientRequestToken %s because that value is already in use for a version of secret %s.", v.Version, row.ARN)
	}
	v.Sealed = s.sealer.Seal(v.owner(), text)
	if err := store.Insert(ctx, tx, v); err != nil {
		return nil, fmt.Errorf("keeping the value of the secret: %w", err)
	}
	versions = append(versions, *v)
	for _, stage := range n.stages {
		if err := moveStage(ctx, tx, versions, stage, v.Version); err != nil {
			return nil, err
		}
	}
	return &versions[len(versions)-1], pruneVersions(ctx, tx, versions)
}

// moveStage puts a stage at the version to, "" for none, and takes it from where it is.
func moveStage(ctx context.Context, tx *store.Tx, versions []secretVersion, stage, to string) error {
	changed := map[int]bool{}
	take := func(stage string) (from int) {
		from = -1
		for i := range versions {
			var found bool
			if versions[i].Stages, found = withoutText(versions[i].Stages, stage); found {
				from = i
				changed[i] = true
			}
		}
		return from
	}
	from := take(stage)
	if from >= 0 && stage == stageCurrent && versions[from].Version != to {
		take(stagePrevious)
		versions[from].Stages = withText(versions[from].Stages, stagePrevious)
	}
	for i := range versions {
		if versions[i].Version == to {
			if stage == stageCurrent {
				versions[i].Stages, _ = withoutText(versions[i].Stages, stagePrevious)
			}
			versions[i].Stages = withText(versions[i].Stages, stage)
			changed[i] = true
			if len(versions[i].Stages.Get()) > maxSecretStages {
				return awswire.Errorf("LimitExceededException", 0, "A version of a secret can have at most %d staging labels.", maxSecretStages)
			}
		}
	}
	for i := range changed {
		if err := store.Update(ctx, tx, &versions[i], "stages"); err != nil {
			return fmt.Errorf("moving the stage: %w", err)
		}
	}
	return nil
}

// pruneVersions deletes the oldest values that have no stage, where there are too many.
func pruneVersions(ctx context.Context, tx *store.Tx, versions []secretVersion) error {
	for i := 0; i < len(versions) && len(versions)-i > maxVersionsKept; i++ {
		if len(versions[i].Stages.Get()) > 0 {
			continue
		}
		if err := store.Delete(ctx, tx, &versions[i]); err != nil {
			return fmt.Errorf("deleting an old value: %w", err)
		}
	}
	return nil
}

// A foundSecret is a value of a secret, open. It must not be logged.
type foundSecret struct {
	ARN, Name, Version string
	Stages             []string
	String             *string // nil where it is binary
	Binary             []byte
	CreatedAt          time.Time
}

// secretValue is the value of a secret by its version, or its stage, AWSCURRENT for "".
func (s *Services) secretValue(ctx context.Context, caller awswire.Caller, id, version, stage string) (*foundSecret, error) {
	row, err := s.liveSecret(ctx, s.store.Read(), caller, id)
	if err != nil {
		return nil, err
	}
	versions, err := versionsOfSecret(ctx, s.store.Read(), row.ARN)
	if err != nil {
		return nil, err
	}
	if version == "" && stage == "" {
		stage = stageCurrent
	}
	for i := range versions {
		v := &versions[i]
		if version != "" && v.Version != version || stage != "" && !slices.Contains(v.Stages.Get(), stage) {
			continue
		}
		text, err := s.sealer.Open(v.owner(), v.Sealed)
		if err != nil {
			return nil, fmt.Errorf("secret %s: %w", row.Name, err)
		}
		found := &foundSecret{ARN: row.ARN, Name: row.Name, Version: v.Version, Stages: v.Stages.Get(), CreatedAt: v.CreatedAt.Time}
		if v.Form == "string" {
			found.String = &text
		} else if found.Binary, err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, fmt.Errorf("secret %s: its value is damaged", row.Name)
		}
		return found, nil
	}
	if version != "" {
		return nil, awswire.Errorf("ResourceNotFoundException", 0, "Secrets Manager can't find the specified secret value for VersionId: %s", words.Cut(version, 64))
	}
	return nil, awswire.Errorf("ResourceNotFoundException", 0, "Secrets Manager can't find the specified secret value for staging label: %s", words.Cut(stage, 256))
}

func (s *Services) getSecretValue(ctx context.Context, caller awswire.Caller, in *secretsmanager.GetSecretValueInput) (*secretsmanager.GetSecretValueOutput, error) {
	found, err := s.secretValue(ctx, caller, *in.SecretId, value(in.VersionId), value(in.VersionStage))
	if err != nil {
		return nil, err
	}
	return &secretsmanager.GetSecretValueOutput{
		ARN: &found.ARN, Name: &found.Name, VersionId: &found.Version, VersionStages: append([]string{}, found.Stages...),
		SecretString: found.String, SecretBinary: found.Binary, CreatedDate: &found.CreatedAt,
	}, nil
}

func (s *Services) getRandomPassword(_ context.Context, _ awswire.Caller, in *secretsmanager.GetRandomPasswordInput) (*secretsmanager.GetRandomPasswordOutput, error) {
	length := 32
	if in.PasswordLength != nil {
		length = int(*in.PasswordLength)
	}
	exclude := value(in.ExcludeCharacters)
	var classes []string
	for _, class := range []struct {
		excluded *bool
		letters  string
	}{
		{in.ExcludeLowercase, "abcdefghijklmnopqrstuvwxyz"}, {in.ExcludeUppercase, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, {in.ExcludeNumbers, "0123456789"},
		{in.ExcludePunctuation, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"}, {new(!value(in.IncludeSpace)), " "},
	} {
		letters := strings.Map(func(r rune) rune {
			if strings.ContainsRune(exclude, r) {
				return -1
			}
			return r
		}, class.letters)
		if !value(class.excluded) && letters != "" {
			classes = append(classes, letters)
		}
	}
	each := in.RequireEachIncludedType == nil || *in.RequireEachIncludedType
	if len(classes) == 0 || each && length < len(classes) {
		return nil, smInvalidParameter("The password length is too short, or all characters are excluded.")
	}
	all := strings.Join(classes, "")
	password := make([]byte, length)
	for i := range password {
		from := all
		if each && i < len(classes) {
			from = classes[i]
		}
		password[i] = from[random(len(from))]
	}
	for i := length - 1; i > 0; i-- { // the required ones come first: shuffle
		j := random(i + 1)
		password[i], password[j] = password[j], password[i]
	}
	return &secretsmanager.GetRandomPasswordOutput{RandomPassword: new(string(password))}, nil
}

// random is a random number below n.
func random(n int) int {
	r, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		panic(err) // the source of randomness never fails
	}
	return int(r.Int64())
}
