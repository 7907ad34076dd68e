package awslite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

func (s *Services) getParameter(ctx context.Context, caller awswire.Caller, in *ssm.GetParameterInput) (*ssm.GetParameterOutput, error) {
	p, err := s.parameter(ctx, caller, *in.Name, value(in.WithDecryption))
	if err != nil {
		return nil, err
	}
	return &ssm.GetParameterOutput{Parameter: p}, nil
}

// parameter answers for one name, selector included.
func (s *Services) parameter(ctx context.Context, caller awswire.Caller, name string, decrypt bool) (*ssmtypes.Parameter, error) {
	if id, ok := strings.CutPrefix(name, secretReference); ok {
		return s.referredSecret(ctx, caller, id, decrypt)
	}
	v, selector, err := s.findParameter(ctx, s.store.Read(), caller, name)
	if err != nil {
		return nil, err
	}
	p, err := s.describe(caller, v, decrypt)
	if err == nil && selector != "" {
		p.Selector = new(":" + selector)
	}
	return p, err
}

func (s *Services) describe(caller awswire.Caller, v *parameterVersion, decrypt bool) (*ssmtypes.Parameter, error) {
	text, err := s.plain(v, decrypt)
	if err != nil {
		return nil, err
	}
	return &ssmtypes.Parameter{
		ARN: parameterARN(caller, v.Name), DataType: &v.DataType, LastModifiedDate: v.modified(),
		Name: &v.Name, Type: v.Type, Value: &text, Version: v.Version,
	}, nil
}

// referredSecret is a secret that is read as a parameter.
func (s *Services) referredSecret(ctx context.Context, caller awswire.Caller, id string, decrypt bool) (*ssmtypes.Parameter, error) {
	if !decrypt {
		return nil, ssmInvalid("WithDecryption flag must be True for retrieving a Secret Manager secret.")
	}
	name, selector, _ := strings.Cut(id, ":")
	found, err := s.secretValue(ctx, caller, name, selector, "")
	if err != nil && selector != "" {
		found, err = s.secretValue(ctx, caller, name, "", selector)
	}
	var refusal *awswire.Error
	switch {
	case errors.As(err, &refusal):
		return nil, parameterNotFound()
	case err != nil:
		return nil, err
	case found.String == nil:
		return nil, ssmInvalid("The secret %s is binary.", words.Cut(name, 200))
	}
	source, err := json.Marshal(map[string]any{"ARN": found.ARN, "name": found.Name, "versionId": found.Version, "versionStages": found.Stages})
	if err != nil {
		return nil, err
	}
	full := secretReference + name
	p := &ssmtypes.Parameter{
		ARN: parameterARN(caller, full), DataType: new("text"), LastModifiedDate: &found.CreatedAt, Name: &full,
		Type: ssmtypes.ParameterTypeSecureString, Value: found.String, SourceResult: new(string(source)),
	}
	if selector != "" {
		p.Selector = new(":" + selector)
	}
	return p, nil
}

func (s *Services) getParameters(ctx context.Context, caller awswire.Caller, in *ssm.GetParametersInput) (*ssm.GetParametersOutput, error) {
	out := &ssm.GetParametersOutput{Parameters: []ssmtypes.Parameter{}, InvalidParameters: []string{}}
	for i, name := range in.Names {
		if slices.Contains(in.Names[:i], name) {
			return nil, ssmInvalid("Duplicate parameter name in the request: %s", words.Cut(name, 200))
		}
		p, err := s.parameter(ctx, caller, name, value(in.WithDecryption))
		var refusal *awswire.Error
		switch {
		case errors.As(err, &refusal):
			out.InvalidParameters = append(out.InvalidParameters, name)
		case err != nil:
			return nil, err
		default:
			out.Parameters = append(out.Parameters, *p)
		}
	}
	return out, nil
}

// A parameterFilter is a condition on parameters.
type parameterFilter func(v *parameterVersion, t map[string]string) bool

// parameterFilters reads the filters of a request. keys are those that it may have.
func parameterFilters(filters []ssmtypes.ParameterStringFilter, keys ...string) ([]parameterFilter, error) {
	var out []parameterFilter
	for _, f := range filters {
		key, option, values := value(f.Key), value(f.Option), f.Values
		known := slices.Contains(keys, key) || strings.HasPrefix(key, "tag:") && slices.Contains(keys, "tag:")
		if !known {
			return nil, awswire.Errorf("InvalidFilterKey", 0, "The following filter key is not valid: %s. Valid filter keys include: [%s].", words.Cut(key, 100), strings.Join(keys, ", "))
		}
		if key == "Path" {
			f, err := pathFilter(cmp.Or(option, "OneLevel"), values)
			if err != nil {
				return nil, err
			}
			out = append(out, f)
			continue
		}
		match, err := matchOption(key, cmp.Or(option, "Equals"))
		if err != nil {
			return nil, err
		}
		if len(values) == 0 && !strings.HasPrefix(key, "tag:") {
			return nil, awswire.Errorf("InvalidFilterValue", 0, "The following filter values are missing for filter key %s.", key)
		}
		out = append(out, func(v *parameterVersion, t map[string]string) bool {
			for _, have := range filterValues(key, v, t) {
				if len(values) == 0 || slices.ContainsFunc(values, func(want string) bool { return match(have, want) }) {
					return true
				}
			}
			return false
		})
	}
	return out, nil
}

// matchOption is how a filter compares.
func matchOption(key, option string) (func(have, want string) bool, error) {
	switch {
	case option == "Equals":
		return func(have, want string) bool { return have == want }, nil
	case option == "BeginsWith" && (key == "Name" || key == "Type" || key == "KeyId"):
		return strings.HasPrefix, nil
	case option == "Contains" && key == "Name":
		return strings.Contains, nil
	}
	return nil, awswire.Errorf("InvalidFilterOption", 0, "The following filter option is not valid for filter key %s: %s.", key, words.Cut(option, 50))
}

// filterValues are what a parameter has under the key of a filter.
func filterValues(key string, v *parameterVersion, t map[string]string) []string {
	switch key {
	case "Name":
		return []string{v.Name}
	case "Type":
		return []string{string(v.Type)}
	case "KeyId":
		if v.KeyID != nil {
			return []string{*v.KeyID}
		}
		return nil
	case "Tier":
		return []string{string(v.Tier)}
	case "DataType":
		return []string{v.DataType}
	case "Label":
		return v.Labels.Get()
	}
	if text, ok := t[strings.TrimPrefix(key, "tag:")]; ok {
		return []string{text}
	}
	return nil
}

func pathFilter(option string, paths []string) (parameterFilter, error) {
	if option != "Recursive" && option != "OneLevel" {
		return nil, awswire.Errorf("InvalidFilterOption", 0, "The following filter option is not valid for filter key Path: %s.", words.Cut(option, 50))
	}
	for _, path := range paths {
		if !strings.HasPrefix(path, "/") {
			return nil, ssmInvalid("The parameter doesn't meet the parameter name requirements. The parameter name must begin with a forward slash \"/\". It can't be prefixed with \"aws\" or \"ssm\" (case-insensitive).")
		}
	}
	return func(v *parameterVersion, _ map[string]string) bool {
		return slices.ContainsFunc(paths, func(path string) bool { return below(v.Name, path, option == "Recursive") })
	}, nil
}

// below reports whether a parameter is in a hierarchy. What has no slash is below "/".
func below(name, path string, recursive bool) bool {
	path = strings.TrimSuffix(path, "/") + "/"
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	rest, ok := strings.CutPrefix(name, path)
	return ok && (recursive || !strings.Contains(rest, "/"))
}

// A foundParameter is a parameter that a list gives: its newest version, and its tags.
type foundParameter struct {
	parameterVersion
	Tags store.JSON[map[string]string] `db:"tags"`
}

// eachParameter collects the newest versions of the parameters that satisfy all filters, in
// the order of their names, at most limit. next is where the list continues, nil at its end.
func (s *Services) eachParameter(ctx context.Context, caller awswire.Caller, token *string, limit int, filters []parameterFilter) (found []foundParameter, next *string, err error) {
	after, err := parameterAfter(token)
	if err != nil {
		return nil, nil, err
	}
	const batch = 200
	for {
		var rows []foundParameter
		err := store.Query(ctx, s.store.Read(), &rows, "SELECT v.*, p.tags AS tags FROM ssm_versions AS v JOIN ssm_parameters AS p ON p.account = v.account AND p.region = v.region AND p.name = v.name AND p.version = v.version WHERE v.account = ? AND v.region = ? AND v.name > ? ORDER BY v.name LIMIT ?",
			caller.Account, caller.Region, after, batch)
		if err != nil {
			return nil, nil, fmt.Errorf("listing parameters: %w", err)
		}
		for i := range rows {
			if slices.ContainsFunc(filters, func(f parameterFilter) bool { return !f(&rows[i].parameterVersion, rows[i].Tags.Get()) }) {
				continue
			}
			if len(found) == limit {
				return found, new(store.KeyToken(found[limit-1].Name)), nil
			}
			found = append(found, rows[i])
		}
		if len(rows) < batch {
			return found, nil, nil
		}
		after = rows[len(rows)-1].Name
	}
}

// parameterAfter is the name in the token of a list, after which the list continues.
func parameterAfter(token *string) (string, error) {
	if token == nil {
		return "", nil
	}
	after, ok := store.ReadKeyToken(*token)
	if !ok {
		return "", awswire.Errorf("InvalidNextToken", 0, "The specified token is not valid.")
	}
	return after, nil
}

// eachPublicParameter is eachParameter for public parameters.
func (s *Services) eachPublicParameter(_ context.Context, caller awswire.Caller, token *string, limit int, filters []parameterFilter) (found []foundParameter, next *string, err error) {
	after, err := parameterAfter(token)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range s.publicNames() {
		v := s.publicParameter(caller.Region, name)
		if name <= after || slices.ContainsFunc(filters, func(f parameterFilter) bool { return !f(v, nil) }) {
			continue
		}
		if len(found) == limit {
			return found, new(store.KeyToken(found[limit-1].Name)), nil
		}
		found = append(found, foundParameter{parameterVersion: *v})
	}
	return found, nil, nil
}

func (s *Services) getParametersByPath(ctx context.Context, caller awswire.Caller, in *ssm.GetParametersByPathInput) (*ssm.GetParametersByPathOutput, error) {
	option := "OneLevel"
	if value(in.Recursive) {
		option = "Recursive"
	}
	path, err := pathFilter(option, []string{*in.Path})
	if err != nil {
		return nil, err
	}
	filters, err := parameterFilters(in.ParameterFilters, "Type", "KeyId", "Label", "DataType")
	if err != nil {
		return nil, err
	}
	each := s.eachParameter
	if strings.HasPrefix(*in.Path+"/", publicPrefix) {
		each = s.eachPublicParameter
	}
	found, next, err := each(ctx, caller, in.NextToken, awswire.PageSize(in.MaxResults, 10), append(filters, path))
	if err != nil {
		return nil, err
	}
	out := &ssm.GetParametersByPathOutput{Parameters: []ssmtypes.Parameter{}, NextToken: next}
	for i := range found {
		p, err := s.describe(caller, &found[i].parameterVersion, value(in.WithDecryption))
		if err != nil {
			return nil, err
		}
		out.Parameters = append(out.Parameters, *p)
	}
	return out, nil
}

func (s *Services) describeParameters(ctx context.Context, caller awswire.Caller, in *ssm.DescribeParametersInput) (*ssm.DescribeParametersOutput, error) {
	if len(in.Filters) > 0 && len(in.ParameterFilters) > 0 {
		return nil, ssmInvalid("You can use either Filters or ParameterFilters in a single request.")
	}
	filters := in.ParameterFilters
	for _, f := range in.Filters {
		option := "Equals"
		if f.Key == ssmtypes.ParametersFilterKeyName {
			option = "Contains"
		}
		filters = append(filters, ssmtypes.ParameterStringFilter{Key: new(string(f.Key)), Option: &option, Values: f.Values})
	}
	conditions, err := parameterFilters(filters, "Name", "Path", "Type", "KeyId", "Tier", "DataType", "Label", "tag:")
	if err != nil {
		return nil, err
	}
	out := &ssm.DescribeParametersOutput{Parameters: []ssmtypes.ParameterMetadata{}}
	if value(in.Shared) {
		return out, nil // nothing is shared between accounts
	}
	found, next, err := s.eachParameter(ctx, caller, in.NextToken, awswire.PageSize(in.MaxResults, 50), conditions)
	if err != nil {
		return nil, err
	}
	out.NextToken = next
	for i := range found {
		v := &found[i].parameterVersion
		out.Parameters = append(out.Parameters, ssmtypes.ParameterMetadata{
			ARN: parameterARN(caller, v.Name), AllowedPattern: v.Pattern, DataType: &v.DataType, Description: v.Description, KeyId: v.KeyID,
			LastModifiedDate: v.modified(), LastModifiedUser: &v.ModifiedBy, Name: &v.Name, Tier: v.Tier, Type: v.Type, Version: v.Version,
			Policies: []ssmtypes.ParameterInlinePolicy{},
		})
	}
	return out, nil
}

func (s *Services) getParameterHistory(ctx context.Context, caller awswire.Caller, in *ssm.GetParameterHistoryInput) (*ssm.GetParameterHistoryOutput, error) {
	after := int64(0)
	if in.NextToken != nil {
		text, ok := store.ReadKeyToken(*in.NextToken)
		if n, err := fmt.Sscanf(text, "%d", &after); !ok || err != nil || n != 1 {
			return nil, awswire.Errorf("InvalidNextToken", 0, "The specified token is not valid.")
		}
	}
	current, _, err := s.findParameter(ctx, s.store.Read(), caller, *in.Name)
	if err != nil {
		return nil, err
	}
	limit := awswire.PageSize(in.MaxResults, 50)
	var versions []parameterVersion
	err = store.List(ctx, s.store.Read(), &versions, "WHERE account = ? AND region = ? AND name = ? AND version > ? ORDER BY version LIMIT ?",
		caller.Account, caller.Region, current.Name, after, int64(limit)+1)
	if err != nil {
		return nil, fmt.Errorf("reading the history: %w", err)
	}
	out := &ssm.GetParameterHistoryOutput{Parameters: []ssmtypes.ParameterHistory{}}
	if len(versions) > limit {
		versions = versions[:limit]
		out.NextToken = new(store.KeyToken(fmt.Sprint(versions[limit-1].Version)))
	}
	for i := range versions {
		v := &versions[i]
		text, err := s.plain(v, value(in.WithDecryption))
		if err != nil {
			return nil, err
		}
		out.Parameters = append(out.Parameters, ssmtypes.ParameterHistory{
			AllowedPattern: v.Pattern, DataType: &v.DataType, Description: v.Description, KeyId: v.KeyID, Labels: append([]string{}, v.Labels.Get()...),
			LastModifiedDate: v.modified(), LastModifiedUser: &v.ModifiedBy, Name: &v.Name, Tier: v.Tier, Type: v.Type, Value: &text, Version: v.Version,
			Policies: []ssmtypes.ParameterInlinePolicy{},
		})
	}
	return out, nil
}

var (
	labelForm     = lazyregexp.New(`^[a-zA-Z_.\-][a-zA-Z0-9_.\-]{0,99}$`)
	labelReserved = lazyregexp.New(`(?i)^(aws|ssm)`)
)

const maxLabels = 10 // of a version

func (s *Services) labelParameterVersion(ctx context.Context, caller awswire.Caller, in *ssm.LabelParameterVersionInput) (*ssm.LabelParameterVersionOutput, error) {
	var out *ssm.LabelParameterVersionOutput
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		out = &ssm.LabelParameterVersionOutput{InvalidLabels: []string{}}
		target, versions, err := versionsOf(ctx, tx, caller, *in.Name, in.ParameterVersion)
		if err != nil {
			return err
		}
		out.ParameterVersion = target.Version
		changed := map[int64]*parameterVersion{}
		for _, label := range in.Labels {
			if !labelForm.MatchString(label) || labelReserved.MatchString(label) {
				out.InvalidLabels = append(out.InvalidLabels, label)
				continue
			}
			for i := range versions { // a label is at one version only
				var found bool
				if versions[i].Labels, found = withoutText(versions[i].Labels, label); found {
					changed[versions[i].Version] = &versions[i]
				}
			}
			target.Labels = withText(target.Labels, label)
			changed[target.Version] = target
		}
		if len(target.Labels.Get()) > maxLabels {
			return awswire.Errorf("ParameterVersionLabelLimitExceeded", 0, "A parameter version can have a maximum of %d labels. Move one or more labels to another version and try again.", maxLabels)
		}
		return keepLabels(ctx, tx, changed)
	})
	return out, err
}

func (s *Services) unlabelParameterVersion(ctx context.Context, caller awswire.Caller, in *ssm.UnlabelParameterVersionInput) (*ssm.UnlabelParameterVersionOutput, error) {
	var out *ssm.UnlabelParameterVersionOutput
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		out = &ssm.UnlabelParameterVersionOutput{RemovedLabels: []string{}, InvalidLabels: []string{}}
		target, _, err := versionsOf(ctx, tx, caller, *in.Name, in.ParameterVersion)
		if err != nil {
			return err
		}
		for _, label := range in.Labels {
			var found bool
			if target.Labels, found = withoutText(target.Labels, label); found {
				out.RemovedLabels = append(out.RemovedLabels, label)
			} else {
				out.InvalidLabels = append(out.InvalidLabels, label)
			}
		}
		return keepLabels(ctx, tx, map[int64]*parameterVersion{target.Version: target})
	})
	return out, err
}

// versionsOf are all versions of a parameter, and the one with a number, the newest for nil.
func versionsOf(ctx context.Context, tx *store.Tx, caller awswire.Caller, name string, number *int64) (*parameterVersion, []parameterVersion, error) {
	var versions []parameterVersion
	err := store.List(ctx, tx, &versions, "WHERE account = ? AND region = ? AND name = ? ORDER BY version", caller.Account, caller.Region, name)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the versions of the parameter: %w", err)
	}
	if len(versions) == 0 {
		return nil, nil, parameterNotFound()
	}
	if number == nil {
		return &versions[len(versions)-1], versions, nil
	}
	for i := range versions {
		if versions[i].Version == *number {
			return &versions[i], versions, nil
		}
	}
	return nil, nil, parameterVersionNotFound(name, fmt.Sprint(*number))
}

func keepLabels(ctx context.Context, tx *store.Tx, versions map[int64]*parameterVersion) error {
	for _, v := range versions {
		if err := store.Update(ctx, tx, v, "labels"); err != nil {
			return fmt.Errorf("keeping the labels: %w", err)
		}
	}
	return nil
}

// changeTags changes the tags of a parameter.
func (s *Services) changeTags(ctx context.Context, caller awswire.Caller, kind ssmtypes.ResourceTypeForTagging, id string, change func(map[string]string)) error {
	return s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := taggedParameter(ctx, tx, caller, kind, id)
		if err != nil {
			return err
		}
		tags := tagsOf(row.Tags)
		change(tags)
		if len(tags) > 50 {
			return awswire.Errorf("TooManyTagsError", 0, "A parameter can have at most 50 tags.")
		}
		row.Tags = store.JSONOf(tags)
		return store.Update(ctx, tx, row, "tags")
	})
}

func taggedParameter(ctx context.Context, db store.DB, caller awswire.Caller, kind ssmtypes.ResourceTypeForTagging, id string) (*parameterRow, error) {
	if kind != ssmtypes.ResourceTypeForTaggingParameter {
		return nil, awswire.NotOffered("Tagging of a " + string(kind))
	}
	row := &parameterRow{}
	err := store.Get(ctx, db, row, "WHERE account = ? AND region = ? AND name = ?", caller.Account, caller.Region, id)
	if err != nil {
		if !errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("reading the parameter: %w", err)
		}
		return nil, awswire.Errorf("InvalidResourceId", 0, "The resource ID is not valid. Verify that you entered the correct ID and try again.")
	}
	return row, nil
}

func (s *Services) addTagsToResource(ctx context.Context, caller awswire.Caller, in *ssm.AddTagsToResourceInput) (*ssm.AddTagsToResourceOutput, error) {
	err := s.changeTags(ctx, caller, in.ResourceType, *in.ResourceId, func(t map[string]string) {
		for _, tag := range in.Tags {
			t[value(tag.Key)] = value(tag.Value)
		}
	})
	return &ssm.AddTagsToResourceOutput{}, err
}

func (s *Services) removeTagsFromResource(ctx context.Context, caller awswire.Caller, in *ssm.RemoveTagsFromResourceInput) (*ssm.RemoveTagsFromResourceOutput, error) {
	err := s.changeTags(ctx, caller, in.ResourceType, *in.ResourceId, func(t map[string]string) {
		for _, key := range in.TagKeys {
			delete(t, key)
		}
	})
	return &ssm.RemoveTagsFromResourceOutput{}, err
}

func (s *Services) listTagsForParameter(ctx context.Context, caller awswire.Caller, in *ssm.ListTagsForResourceInput) (*ssm.ListTagsForResourceOutput, error) {
	row, err := taggedParameter(ctx, s.store.Read(), caller, in.ResourceType, *in.ResourceId)
	if err != nil {
		return nil, err
	}
	out := &ssm.ListTagsForResourceOutput{TagList: []ssmtypes.Tag{}}
	for _, key := range sortedKeys(row.Tags.Get()) {
		out.TagList = append(out.TagList, ssmtypes.Tag{Key: &key, Value: new(row.Tags.Get()[key])})
	}
	return out, nil
}
