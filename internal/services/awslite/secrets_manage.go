package awslite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

var secretName = lazyregexp.New(`^[A-Za-z0-9/_+=.@-]+$`)

func (s *Services) createSecret(ctx context.Context, caller awswire.Caller, in *secretsmanager.CreateSecretInput) (*secretsmanager.CreateSecretOutput, error) {
	n := newSecretValue{in.SecretString, in.SecretBinary, in.ClientRequestToken, []string{stageCurrent}}
	switch {
	case len(in.AddReplicaRegions) > 0:
		return nil, awswire.NotOffered("A secret with replicas")
	case in.Type != nil && *in.Type != "":
		return nil, awswire.NotOffered("A secret that another service manages (Type)")
	case !secretName.MatchString(*in.Name):
		return nil, awswire.Errorf("ValidationException", 0, "Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!")
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	row := &secretRow{
		Account: caller.Account, Region: caller.Region, Name: *in.Name, Description: in.Description, KeyID: in.KmsKeyId, RowVersion: 1,
		ARN: fmt.Sprintf("arn:%s:secretsmanager:%s:%s:secret:%s-%s", caller.Partition(), caller.Region, caller.Account, *in.Name, s.arnSuffix()),
	}
	if err := addSecretTags(row, in.Tags); err != nil {
		return nil, err
	}
	var out *secretsmanager.CreateSecretOutput
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		out = &secretsmanager.CreateSecretOutput{Name: &row.Name}
		old, err := s.findSecret(ctx, tx, caller, *in.Name)
		var refusal *awswire.Error
		switch {
		case err != nil && !errors.As(err, &refusal):
			return err
		case err == nil && !old.DeletedAt.IsZero():
			return smInvalidRequest("You can't create this secret because a secret with this name is already scheduled for deletion.")
		case err == nil:
			return s.createAgain(ctx, tx, old, n, out)
		}
		if err := purgeSecret(ctx, tx, caller, *in.Name); err != nil {
			return err
		}
		now := s.now()
		row.CreatedAt, row.ChangedAt = now, now
		if err := store.Insert(ctx, tx, row); err != nil {
			return fmt.Errorf("keeping the secret: %w", err)
		}
		out.ARN = &row.ARN
		out.VersionId, err = s.addGiven(ctx, tx, row, n)
		return err
	})
	return out, err
}

// addGiven adds a version to a secret where a request has a value, and returns its id; nil
// where it has none.
func (s *Services) addGiven(ctx context.Context, tx *store.Tx, row *secretRow, n newSecretValue) (*string, error) {
	if n.text == nil && n.binary == nil {
		return nil, nil
	}
	v, err := s.addVersion(ctx, tx, row, n)
	if err != nil {
		return nil, err
	}
	return &v.Version, nil
}

// createAgain answers a request that has the token of the one that made the secret.
func (s *Services) createAgain(ctx context.Context, tx *store.Tx, old *secretRow, n newSecretValue, out *secretsmanager.CreateSecretOutput) error {
	exists := awswire.Errorf("ResourceExistsException", 0, "The operation failed because the secret %s already exists.", old.Name)
	known, err := store.Exists(ctx, tx, "FROM sm_versions WHERE arn = ? AND version = ?", old.ARN, value(n.token))
	if err != nil {
		return fmt.Errorf("reading the values of the secret: %w", err)
	}
	if !known {
		return exists
	}
	if _, err := s.addVersion(ctx, tx, old, n); err != nil {
		return exists
	}
	out.ARN, out.VersionId = &old.ARN, n.token
	return nil
}

// arnSuffix are the six characters that an ARN ends with.
func (s *Services) arnSuffix() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	out := make([]byte, 6)
	for i := range out {
		out[i] = letters[random(len(letters))]
	}
	return string(out)
}

// purgeSecret deletes a secret whose time has come, with its values.
func purgeSecret(ctx context.Context, tx *store.Tx, caller awswire.Caller, name string) error {
	_, err := store.Exec(ctx, tx, "DELETE FROM sm_versions WHERE arn IN (SELECT arn FROM sm_secrets WHERE account = ? AND region = ? AND name = ?)",
		caller.Account, caller.Region, name)
	if err == nil {
		_, err = store.Exec(ctx, tx, "DELETE FROM sm_secrets WHERE account = ? AND region = ? AND name = ?", caller.Account, caller.Region, name)
	}
	if err != nil {
		return fmt.Errorf("deleting the secret: %w", err)
	}
	return nil
}

func (s *Services) putSecretValue(ctx context.Context, caller awswire.Caller, in *secretsmanager.PutSecretValueInput) (*secretsmanager.PutSecretValueOutput, error) {
	n := newSecretValue{in.SecretString, in.SecretBinary, in.ClientRequestToken, in.VersionStages}
	if err := n.check(); err != nil {
		return nil, err
	}
	if n.text == nil && n.binary == nil {
		return nil, smInvalidRequest("You must provide either SecretString or SecretBinary.")
	}
	if len(n.stages) == 0 {
		n.stages = []string{stageCurrent}
	}
	var out *secretsmanager.PutSecretValueOutput
	err := s.changeSecret(ctx, caller, *in.SecretId, func(ctx context.Context, tx *store.Tx, row *secretRow) error {
		v, err := s.addVersion(ctx, tx, row, n)
		if err == nil {
			out = &secretsmanager.PutSecretValueOutput{ARN: &row.ARN, Name: &row.Name, VersionId: &v.Version, VersionStages: append([]string{}, v.Stages.Get()...)}
		}
		return err
	})
	return out, err
}

func (s *Services) updateSecret(ctx context.Context, caller awswire.Caller, in *secretsmanager.UpdateSecretInput) (*secretsmanager.UpdateSecretOutput, error) {
	n := newSecretValue{in.SecretString, in.SecretBinary, in.ClientRequestToken, []string{stageCurrent}}
	if err := n.check(); err != nil {
		return nil, err
	}
	if value(in.Type) != "" {
		return nil, awswire.NotOffered("A secret that another service manages (Type)")
	}
	var out *secretsmanager.UpdateSecretOutput
	err := s.changeSecret(ctx, caller, *in.SecretId, func(ctx context.Context, tx *store.Tx, row *secretRow) error {
		out = &secretsmanager.UpdateSecretOutput{ARN: &row.ARN, Name: &row.Name}
		row.Description = cmp.Or(in.Description, row.Description)
		row.KeyID = cmp.Or(in.KmsKeyId, row.KeyID)
		var err error
		out.VersionId, err = s.addGiven(ctx, tx, row, n)
		return err
	})
	return out, err
}

func stagesOf(versions []secretVersion) map[string][]string {
	out := map[string][]string{}
	for _, v := range versions {
		if len(v.Stages.Get()) > 0 {
			out[v.Version] = v.Stages.Get()
		}
	}
	return out
}

func (s *Services) describeSecret(ctx context.Context, caller awswire.Caller, in *secretsmanager.DescribeSecretInput) (*secretsmanager.DescribeSecretOutput, error) {
	row, err := s.findSecret(ctx, s.store.Read(), caller, *in.SecretId)
	if err != nil {
		return nil, err
	}
	versions, err := versionsOfSecret(ctx, s.store.Read(), row.ARN)
	if err != nil {
		return nil, err
	}
	return &secretsmanager.DescribeSecretOutput{
		ARN: &row.ARN, Name: &row.Name, Description: row.Description, KmsKeyId: row.KeyID, CreatedDate: when(row.CreatedAt), LastChangedDate: when(row.ChangedAt),
		DeletedDate: when(row.DeletedAt), Tags: secretTags(row.Tags.Get()), VersionIdsToStages: stagesOf(versions),
	}, nil
}

func (s *Services) deleteSecret(ctx context.Context, caller awswire.Caller, in *secretsmanager.DeleteSecretInput) (*secretsmanager.DeleteSecretOutput, error) {
	force := value(in.ForceDeleteWithoutRecovery)
	days := int64(defaultRecovery)
	switch {
	case force && in.RecoveryWindowInDays != nil:
		return nil, smInvalidParameter("You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays.")
	case in.RecoveryWindowInDays != nil:
		days = *in.RecoveryWindowInDays
	}
	if days < shortestRecovery || days > defaultRecovery {
		return nil, smInvalidParameter("The RecoveryWindowInDays value must be between %d and %d days (inclusive).", shortestRecovery, defaultRecovery)
	}
	var out *secretsmanager.DeleteSecretOutput
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := s.now()
		row, err := s.findSecret(ctx, tx, caller, *in.SecretId)
		var refusal *awswire.Error
		if force && errors.As(err, &refusal) && refusal.Code == "ResourceNotFoundException" {
			// As on AWS, so that a deletion can be repeated.
			out = &secretsmanager.DeleteSecretOutput{ARN: in.SecretId, Name: in.SecretId, DeletionDate: &now.Time}
			return nil
		}
		if err != nil {
			return err
		}
		out = &secretsmanager.DeleteSecretOutput{ARN: &row.ARN, Name: &row.Name}
		if force {
			out.DeletionDate = &now.Time
			return purgeSecret(ctx, tx, caller, row.Name)
		}
		if !row.DeletedAt.IsZero() {
			return smInvalidRequest("You can't perform this operation on the secret because it was already marked for deletion.")
		}
		row.DeletedAt, row.PurgeAt = now, store.At(now.AddDate(0, 0, int(days)))
		out.DeletionDate = &row.PurgeAt.Time
		return s.keepSecret(ctx, tx, row)
	})
	return out, err
}

func (s *Services) restoreSecret(ctx context.Context, caller awswire.Caller, in *secretsmanager.RestoreSecretInput) (*secretsmanager.RestoreSecretOutput, error) {
	var out *secretsmanager.RestoreSecretOutput
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := s.findSecret(ctx, tx, caller, *in.SecretId)
		if err != nil {
			return err
		}
		out = &secretsmanager.RestoreSecretOutput{ARN: &row.ARN, Name: &row.Name}
		row.DeletedAt, row.PurgeAt = store.Time{}, store.Time{}
		return s.keepSecret(ctx, tx, row)
	})
	return out, err
}

func (s *Services) updateSecretVersionStage(ctx context.Context, caller awswire.Caller, in *secretsmanager.UpdateSecretVersionStageInput) (*secretsmanager.UpdateSecretVersionStageOutput, error) {
	stage, to, from := *in.VersionStage, value(in.MoveToVersionId), value(in.RemoveFromVersionId)
	var out *secretsmanager.UpdateSecretVersionStageOutput
	err := s.changeSecret(ctx, caller, *in.SecretId, func(ctx context.Context, tx *store.Tx, row *secretRow) error {
		out = &secretsmanager.UpdateSecretVersionStageOutput{ARN: &row.ARN, Name: &row.Name}
		versions, err := versionsOfSecret(ctx, tx, row.ARN)
		if err != nil {
			return err
		}
		for _, id := range []string{to, from} {
			if id != "" && !slices.ContainsFunc(versions, func(v secretVersion) bool { return v.Version == id }) {
				return awswire.Errorf("ResourceNotFoundException", 0, "Secrets Manager can't find the specified secret version.")
			}
		}
		holder := ""
		for _, v := range versions {
			if slices.Contains(v.Stages.Get(), stage) {
				holder = v.Version
			}
		}
		switch {
		case to == "" && from == "":
			return smInvalidParameter("You must specify MoveToVersionId or RemoveFromVersionId.")
		case to == "" && stage == stageCurrent:
			return smInvalidParameter("You can only move staging label AWSCURRENT to a different secret version. It can't be completely removed.")
		case from != "" && holder != from:
			return smInvalidParameter("The parameter RemoveFromVersionId can't be set to %s: the staging label %s is not attached to that version.", from, words.Cut(stage, 256))
		case to != "" && from == "" && holder != "" && holder != to:
			return smInvalidParameter("The parameter RemoveFromVersionId can't be empty. Staging label %s is currently attached to version %s, so you must explicitly reference that version in RemoveFromVersionId.", words.Cut(stage, 256), holder)
		case to == holder && to != "":
			return nil
		}
		return moveStage(ctx, tx, versions, stage, to)
	})
	return out, err
}

func (s *Services) listSecretVersionIds(ctx context.Context, caller awswire.Caller, in *secretsmanager.ListSecretVersionIdsInput) (*secretsmanager.ListSecretVersionIdsOutput, error) {
	row, err := s.findSecret(ctx, s.store.Read(), caller, *in.SecretId)
	if err != nil {
		return nil, err
	}
	versions, err := versionsOfSecret(ctx, s.store.Read(), row.ARN)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(versions, func(a, b secretVersion) int { return cmp.Compare(a.Version, b.Version) })
	after := ""
	if in.NextToken != nil {
		var ok bool
		if after, ok = store.ReadKeyToken(*in.NextToken); !ok {
			return nil, awswire.Errorf("InvalidNextTokenException", 0, "The NextToken value is invalid.")
		}
	}
	out := &secretsmanager.ListSecretVersionIdsOutput{ARN: &row.ARN, Name: &row.Name, Versions: []smtypes.SecretVersionsListEntry{}}
	limit := awswire.PageSize(in.MaxResults, 100)
	for _, v := range versions {
		if v.Version <= after || len(v.Stages.Get()) == 0 && !value(in.IncludeDeprecated) {
			continue
		}
		if len(out.Versions) == limit {
			out.NextToken = new(store.KeyToken(*out.Versions[limit-1].VersionId))
			break
		}
		out.Versions = append(out.Versions, smtypes.SecretVersionsListEntry{VersionId: new(v.Version), VersionStages: append([]string{}, v.Stages.Get()...), CreatedDate: new(v.CreatedAt.Time)})
	}
	return out, nil
}

func (s *Services) listSecrets(ctx context.Context, caller awswire.Caller, in *secretsmanager.ListSecretsInput) (*secretsmanager.ListSecretsOutput, error) {
	for _, f := range in.Filters {
		if f.Key == smtypes.FilterNameStringTypePrimaryRegion || f.Key == smtypes.FilterNameStringTypeOwningService {
			return nil, awswire.NotOffered("The filter " + string(f.Key))
		}
	}
	after := ""
	if in.NextToken != nil {
		var ok bool
		if after, ok = store.ReadKeyToken(*in.NextToken); !ok {
			return nil, awswire.Errorf("InvalidNextTokenException", 0, "The NextToken value is invalid.")
		}
	}
	var rows []secretRow
	err := store.List(ctx, s.store.Read(), &rows, "WHERE account = ? AND region = ? ORDER BY name", caller.Account, caller.Region)
	if err != nil {
		return nil, fmt.Errorf("listing secrets: %w", err)
	}
	now := s.now()
	rows = slices.DeleteFunc(rows, func(r secretRow) bool {
		if !r.PurgeAt.IsZero() && !r.PurgeAt.After(now.Time) || !r.DeletedAt.IsZero() && !value(in.IncludePlannedDeletion) {
			return true
		}
		return slices.ContainsFunc(in.Filters, func(f smtypes.Filter) bool { return !matchSecret(&r, f) })
	})
	sortSecrets(rows, in.SortBy, in.SortOrder)
	if i := slices.IndexFunc(rows, func(r secretRow) bool { return r.Name == after }); i >= 0 {
		rows = rows[i+1:]
	}
	out := &secretsmanager.ListSecretsOutput{SecretList: []smtypes.SecretListEntry{}}
	if limit := awswire.PageSize(in.MaxResults, 100); len(rows) > limit {
		rows = rows[:limit]
		out.NextToken = new(store.KeyToken(rows[limit-1].Name))
	}
	return out, s.listEntries(ctx, rows, out)
}

// listEntries fills in the entries of a list, with the stages of all their versions.
func (s *Services) listEntries(ctx context.Context, rows []secretRow, out *secretsmanager.ListSecretsOutput) error {
	if len(rows) == 0 {
		return nil
	}
	arns := make([]string, len(rows))
	for i := range rows {
		arns[i] = rows[i].ARN
	}
	var versions []secretVersion
	if err := store.List(ctx, s.store.Read(), &versions, "WHERE arn IN (?)", store.In(arns)); err != nil {
		return fmt.Errorf("reading the values of secrets: %w", err)
	}
	byARN := map[string][]secretVersion{}
	for _, v := range versions {
		byARN[v.ARN] = append(byARN[v.ARN], v)
	}
	for i := range rows {
		r := &rows[i]
		out.SecretList = append(out.SecretList, smtypes.SecretListEntry{
			ARN: &r.ARN, Name: &r.Name, Description: r.Description, KmsKeyId: r.KeyID, CreatedDate: when(r.CreatedAt), LastChangedDate: when(r.ChangedAt),
			DeletedDate: when(r.DeletedAt), Tags: secretTags(r.Tags.Get()), SecretVersionsToStages: stagesOf(byARN[r.ARN]),
		})
	}
	return nil
}

// matchSecret reports whether a secret satisfies a filter. Values are prefixes of what they
// match, of words for "all" and "description"; a "!" before one negates it.
func matchSecret(r *secretRow, f smtypes.Filter) bool {
	var have []string
	switch f.Key {
	case smtypes.FilterNameStringTypeName:
		have = []string{r.Name}
	case smtypes.FilterNameStringTypeDescription:
		have = strings.Fields(value(r.Description))
	case smtypes.FilterNameStringTypeTagKey:
		have = slices.Collect(maps.Keys(r.Tags.Get()))
	case smtypes.FilterNameStringTypeTagValue:
		have = slices.Collect(maps.Values(r.Tags.Get()))
	default:
		have = append(append(strings.FieldsFunc(r.Name, func(c rune) bool { return strings.ContainsRune("/_+=.@-", c) }), r.Name), strings.Fields(value(r.Description))...)
		have = append(slices.AppendSeq(have, maps.Keys(r.Tags.Get())), slices.Collect(maps.Values(r.Tags.Get()))...)
	}
	return slices.ContainsFunc(f.Values, func(want string) bool {
		want, not := strings.CutPrefix(want, "!")
		return not != slices.ContainsFunc(have, func(text string) bool {
			if f.Key == smtypes.FilterNameStringTypeAll || f.Key == smtypes.FilterNameStringTypeDescription {
				return len(text) >= len(want) && strings.EqualFold(text[:len(want)], want)
			}
			return strings.HasPrefix(text, want)
		})
	})
}

func sortSecrets(rows []secretRow, by smtypes.SortByType, order smtypes.SortOrderType) {
	of := func(r *secretRow) time.Time {
		switch by {
		case smtypes.SortByTypeLastChangedDate:
			return r.ChangedAt.Time
		case smtypes.SortByTypeName, smtypes.SortByTypeLastAccessedDate:
			return time.Time{}
		}
		return r.CreatedAt.Time
	}
	slices.SortStableFunc(rows, func(a, b secretRow) int { return cmp.Or(of(&a).Compare(of(&b)), cmp.Compare(a.Name, b.Name)) })
	if order != smtypes.SortOrderTypeAsc { // the newest first is how Secrets Manager lists
		slices.Reverse(rows)
	}
}

func secretTags(t map[string]string) []smtypes.Tag {
	out := []smtypes.Tag{}
	for _, key := range sortedKeys(t) {
		out = append(out, smtypes.Tag{Key: &key, Value: new(t[key])})
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func addSecretTags(row *secretRow, list []smtypes.Tag) error {
	t := tagsOf(row.Tags)
	for _, tag := range list {
		key := value(tag.Key)
		if key == "" || len(key) > 512 || len(value(tag.Value)) > 1024 {
			return smInvalidParameter("The key of a tag has 1 to 128 characters, its value at most 256.")
		}
		t[key] = value(tag.Value)
	}
	if len(t) > 50 {
		return smInvalidParameter("A secret can have at most 50 tags.")
	}
	row.Tags = store.JSONOf(t)
	return nil
}

func (s *Services) tagSecret(ctx context.Context, caller awswire.Caller, in *secretsmanager.TagResourceInput) (*secretsmanager.TagResourceOutput, error) {
	err := s.changeSecret(ctx, caller, *in.SecretId, func(_ context.Context, _ *store.Tx, row *secretRow) error { return addSecretTags(row, in.Tags) })
	return &secretsmanager.TagResourceOutput{}, err
}

func (s *Services) untagSecret(ctx context.Context, caller awswire.Caller, in *secretsmanager.UntagResourceInput) (*secretsmanager.UntagResourceOutput, error) {
	err := s.changeSecret(ctx, caller, *in.SecretId, func(_ context.Context, _ *store.Tx, row *secretRow) error {
		tags := tagsOf(row.Tags)
		for _, key := range in.TagKeys {
			delete(tags, key)
		}
		row.Tags = store.JSONOf(tags)
		return nil
	})
	return &secretsmanager.UntagResourceOutput{}, err
}

func (s *Services) putSecretPolicy(ctx context.Context, caller awswire.Caller, in *secretsmanager.PutResourcePolicyInput) (*secretsmanager.PutResourcePolicyOutput, error) {
	if !json.Valid([]byte(*in.ResourcePolicy)) {
		return nil, awswire.Errorf("MalformedPolicyDocumentException", 0, "This resource policy contains invalid Json.")
	}
	var out *secretsmanager.PutResourcePolicyOutput
	err := s.changeSecret(ctx, caller, *in.SecretId, func(_ context.Context, _ *store.Tx, row *secretRow) error {
		row.Policy = in.ResourcePolicy
		out = &secretsmanager.PutResourcePolicyOutput{ARN: &row.ARN, Name: &row.Name}
		return nil
	})
	return out, err
}

func (s *Services) getSecretPolicy(ctx context.Context, caller awswire.Caller, in *secretsmanager.GetResourcePolicyInput) (*secretsmanager.GetResourcePolicyOutput, error) {
	row, err := s.liveSecret(ctx, s.store.Read(), caller, *in.SecretId)
	if err != nil {
		return nil, err
	}
	return &secretsmanager.GetResourcePolicyOutput{ARN: &row.ARN, Name: &row.Name, ResourcePolicy: row.Policy}, nil
}

func (s *Services) deleteSecretPolicy(ctx context.Context, caller awswire.Caller, in *secretsmanager.DeleteResourcePolicyInput) (*secretsmanager.DeleteResourcePolicyOutput, error) {
	var out *secretsmanager.DeleteResourcePolicyOutput
	err := s.changeSecret(ctx, caller, *in.SecretId, func(_ context.Context, _ *store.Tx, row *secretRow) error {
		row.Policy = nil
		out = &secretsmanager.DeleteResourcePolicyOutput{ARN: &row.ARN, Name: &row.Name}
		return nil
	})
	return out, err
}
