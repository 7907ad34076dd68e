package awslite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/dlclark/regexp2/v2"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const (
	maxParameterVersions = 100
	maxStandardValue     = 4096
	maxAdvancedValue     = 8192
	maxParameterLevels   = 15
	defaultParameterKey  = "alias/aws/ssm"
	secretReference      = "/aws/reference/secretsmanager/"
)

// ssmTable is the Parameter Store of Systems Manager.
func (s *Services) ssmTable() *awswire.Table {
	name := awswire.Constraint{Member: "Name", Required: true, MinLength: 1, MaxLength: 2048}
	resource := []awswire.Constraint{{Member: "ResourceType", Required: true}, {Member: "ResourceId", Required: true, MinLength: 1, MaxLength: 2048}}
	page := func(most int64) awswire.Constraint {
		return awswire.Constraint{Member: "MaxResults", Min: number(1), Max: number(most)}
	}
	return &awswire.Table{
		Service: "ssm", Protocol: awswire.JSON11, TargetPrefix: "AmazonSSM", Logger: s.log,
		Operations: []awswire.Operation{
			awswire.TextOp("AddTagsToResource", s.addTagsToResource),
			awswire.TextOp("DeleteParameter", s.deleteParameter),
			awswire.TextOp("DeleteParameters", s.deleteParameters),
			awswire.TextOp("DescribeParameters", s.describeParameters),
			awswire.TextOp("GetParameter", s.getParameter),
			awswire.TextOp("GetParameterHistory", s.getParameterHistory),
			awswire.TextOp("GetParameters", s.getParameters),
			awswire.TextOp("GetParametersByPath", s.getParametersByPath),
			awswire.TextOp("LabelParameterVersion", s.labelParameterVersion),
			awswire.TextOp("ListTagsForResource", s.listTagsForParameter),
			awswire.TextOp("PutParameter", s.putParameter),
			awswire.TextOp("RemoveTagsFromResource", s.removeTagsFromResource),
			awswire.TextOp("UnlabelParameterVersion", s.unlabelParameterVersion),
		},
		Known: ssmKnown,
		Constraints: map[string][]awswire.Constraint{
			"PutParameter": {name,
				{Member: "Value", Required: true, MinLength: 1, Secret: true},
				{Member: "Description", MaxLength: 1024},
				{Member: "KeyId", MinLength: 1, MaxLength: 256, Pattern: `([a-zA-Z0-9:/_-]+)`},
				{Member: "AllowedPattern", MaxLength: 1024},
				{Member: "DataType", MaxLength: 128},
				{Member: "Tags", MaxLength: 1000},
			},
			"GetParameter":            {name},
			"DeleteParameter":         {name},
			"GetParameters":           {{Member: "Names", Required: true, MinLength: 1, MaxLength: 10}},
			"DeleteParameters":        {{Member: "Names", Required: true, MinLength: 1, MaxLength: 10}},
			"GetParametersByPath":     {{Member: "Path", Required: true, MinLength: 1, MaxLength: 2048}, page(10)},
			"DescribeParameters":      {page(50)},
			"GetParameterHistory":     {name, page(50)},
			"LabelParameterVersion":   {name, {Member: "Labels", Required: true, MinLength: 1, MaxLength: 10}},
			"UnlabelParameterVersion": {name, {Member: "Labels", Required: true, MinLength: 1, MaxLength: 10}},
			"AddTagsToResource":       append(slices.Clone(resource), awswire.Constraint{Member: "Tags", Required: true, MaxLength: 1000}),
			"RemoveTagsFromResource":  append(slices.Clone(resource), awswire.Constraint{Member: "TagKeys", Required: true}),
			"ListTagsForResource":     resource,
		},
	}
}

// A parameterRow is a parameter: the number of its newest version, and its tags.
type parameterRow struct {
	store.Row `db:"ssm_parameters AS p"`
	Account   string                        `db:"account,pk"`
	Region    string                        `db:"region,pk"`
	Name      string                        `db:"name,pk"`
	Version   int64                         `db:"version"`
	Tags      store.JSON[map[string]string] `db:"tags"`
}

// A parameterVersion is one version of a parameter. Value is encrypted if Sealed is set.
type parameterVersion struct {
	store.Row   `db:"ssm_versions AS v"`
	Account     string                 `db:"account,pk"`
	Region      string                 `db:"region,pk"`
	Name        string                 `db:"name,pk"`
	Version     int64                  `db:"version,pk"`
	Type        ssmtypes.ParameterType `db:"type"`
	Value       string                 `db:"value"`
	Sealed      bool                   `db:"sealed"`
	Labels      store.JSON[[]string]   `db:"labels"`
	Description *string                `db:"description"`
	Pattern     *string                `db:"pattern"`
	KeyID       *string                `db:"key_id"`
	Tier        ssmtypes.ParameterTier `db:"tier"`
	DataType    string                 `db:"data_type"`
	ModifiedBy  string                 `db:"modified_by"`
	ModifiedAt  store.Time             `db:"modified_at"`
}

// withText is a list with one more text.
func withText(list store.JSON[[]string], text string) store.JSON[[]string] {
	return store.JSONOf(append(slices.Clone(list.Get()), text))
}

// withoutText is a list without a text, and whether it had it.
func withoutText(list store.JSON[[]string], text string) (store.JSON[[]string], bool) {
	at := slices.Index(list.Get(), text)
	if at < 0 {
		return list, false
	}
	return store.JSONOf(slices.Delete(slices.Clone(list.Get()), at, at+1)), true
}

// tagsOf are a copy of tags, not nil.
func tagsOf(tags store.JSON[map[string]string]) map[string]string {
	out := map[string]string{}
	maps.Copy(out, tags.Get())
	return out
}

func (v *parameterVersion) owner() string {
	return fmt.Sprintf("ssm/%s/%s/%s/%d", v.Account, v.Region, v.Name, v.Version)
}

func (v *parameterVersion) modified() *time.Time { return &v.ModifiedAt.Time }

func parameterARN(caller awswire.Caller, name string) *string {
	account := caller.Account
	if strings.HasPrefix(name, publicPrefix) {
		account = ""
	}
	return new(fmt.Sprintf("arn:%s:ssm:%s:%s:parameter/%s", caller.Partition(), caller.Region, account, strings.TrimPrefix(name, "/")))
}

func ssmInvalid(format string, args ...any) error {
	return awswire.Errorf("ValidationException", 0, format, args...)
}

var (
	parameterName = lazyregexp.New(`^[a-zA-Z0-9_.\-/]+$`)
	reservedStart = lazyregexp.New(`(?i)^/?(aws|ssm)`)
)

// checkParameterName holds the name of a new parameter to the rules of the Parameter Store.
func checkParameterName(name string) error {
	switch {
	case strings.HasPrefix(strings.ToLower(strings.TrimPrefix(name, "/")), "aws"):
		return awswire.Errorf("AccessDeniedException", 0, "No access to reserved parameter name: %s.", words.Cut(name, 200))
	case strings.Contains(name, "/") && !strings.HasPrefix(name, "/"):
		return ssmInvalid("Parameter name must be a fully qualified name.")
	case !parameterName.MatchString(name) || reservedStart.MatchString(name) || strings.Contains(name, "//") || strings.HasSuffix(name, "/") || len(name) > 1011:
		return ssmInvalid(`Parameter name: can't be prefixed with "aws" or "ssm" (case-insensitive). If formed as a path, it can consist of sub-paths divided by slash symbol; each sub-path can be formed as a mix of letters, numbers and the following 3 symbols .-_`)
	case strings.Count(name, "/") > maxParameterLevels:
		return awswire.Errorf("HierarchyLevelLimitExceededException", 0, "A parameter hierarchy can have a maximum of %d levels.", maxParameterLevels)
	}
	return nil
}

func (s *Services) putParameter(ctx context.Context, caller awswire.Caller, in *ssm.PutParameterInput) (*ssm.PutParameterOutput, error) {
	if err := checkParameterName(*in.Name); err != nil {
		return nil, err
	}
	overwrite := in.Overwrite != nil && *in.Overwrite
	switch {
	case in.Policies != nil && strings.Trim(*in.Policies, "[] \n\t{}") != "":
		return nil, awswire.NotOffered("A parameter with Policies")
	case overwrite && len(in.Tags) > 0:
		return nil, ssmInvalid("Invalid request: tags and overwrite can't be used together. To create a parameter with tags, please remove overwrite flag. To update tags for an existing parameter, please use AddTagsToResource or RemoveTagsFromResource.")
	case strings.Contains(*in.Value, "{{"):
		return nil, ssmInvalid(`Parameter value can't nest another parameter. Do not use "{{}}" in the value.`)
	}
	if err := matchPattern(in.AllowedPattern, *in.Value); err != nil {
		return nil, err
	}
	who := identity(caller)
	var v *parameterVersion
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		v = &parameterVersion{Account: caller.Account, Region: caller.Region, Name: *in.Name, Type: in.Type, Value: *in.Value,
			DataType: value(in.DataType), ModifiedBy: *who.Arn, ModifiedAt: s.now()}
		// A serializable insert has to look for its own key first: only then does
		// PostgreSQL see that two of them are in each other's way.
		var old *parameterVersion
		exists, err := store.Exists(ctx, tx, "FROM ssm_parameters WHERE account = ? AND region = ? AND name = ?", caller.Account, caller.Region, *in.Name)
		if err == nil && exists {
			old, err = currentParameter(ctx, tx, caller, *in.Name)
		}
		if err != nil {
			return err
		}
		if old != nil && !overwrite {
			return awswire.Errorf("ParameterAlreadyExists", 0, "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.")
		}
		if err := v.follow(in, old); err != nil {
			return err
		}
		if v.Type == ssmtypes.ParameterTypeSecureString {
			v.Value, v.Sealed = s.sealer.Seal(v.owner(), v.Value), true
		}
		return s.insertParameter(ctx, tx, v, old == nil, in.Tags)
	})
	if err != nil {
		return nil, err
	}
	return &ssm.PutParameterOutput{Tier: v.Tier, Version: v.Version}, nil
}

// currentParameter is the newest version of a parameter, nil if it does not exist.
func currentParameter(ctx context.Context, db store.DB, caller awswire.Caller, name string) (*parameterVersion, error) {
	v := &parameterVersion{}
	err := store.Get(ctx, db, v, "WHERE account = ? AND region = ? AND name = ? ORDER BY version DESC LIMIT 1", caller.Account, caller.Region, name)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the parameter: %w", err)
	}
	return v, nil
}

// follow makes v the version after old, nil for the first one: what the request does not
// say stays as it was.
func (v *parameterVersion) follow(in *ssm.PutParameterInput, old *parameterVersion) error {
	v.Version, v.Description, v.Pattern, v.KeyID, v.Tier = 1, in.Description, in.AllowedPattern, in.KeyId, in.Tier
	if old != nil {
		v.Version = old.Version + 1
		if v.Type == "" {
			v.Type = old.Type
		}
		if v.Type != old.Type {
			return awswire.Errorf("HierarchyTypeMismatchException", 0, "Parameter Store does not support changing a parameter type in a hierarchy. For example, you can't change a parameter from a String type to a SecureString type. You must create a new, unique parameter.")
		}
		if v.DataType == "" {
			v.DataType = old.DataType
		}
		if v.KeyID == nil {
			v.KeyID = old.KeyID
		}
		if v.Tier == "" && old.Tier == ssmtypes.ParameterTierAdvanced {
			v.Tier = old.Tier
		}
	}
	switch {
	case v.Type == "":
		return ssmInvalid("A parameter type is required when you create a parameter.")
	case v.Type != ssmtypes.ParameterTypeSecureString && in.KeyId != nil:
		return ssmInvalid("KeyId is required for SecureString type parameter only.")
	case v.Type == ssmtypes.ParameterTypeSecureString && v.KeyID == nil:
		v.KeyID = new(defaultParameterKey)
	}
	switch v.DataType {
	case "":
		v.DataType = "text"
	case "text", "aws:ec2:image", "aws:ssm:integration":
	default:
		return ssmInvalid("The following data type is not supported: %s (Data type names are all lowercase.)", words.Cut(v.DataType, 128))
	}
	if err := v.setTier(old); err != nil {
		return err
	}
	return nil
}

// setTier chooses the tier and holds the value to it.
func (v *parameterVersion) setTier(old *parameterVersion) error {
	if v.Tier == "" {
		v.Tier = ssmtypes.ParameterTierStandard
	}
	if v.Tier == ssmtypes.ParameterTierIntelligentTiering {
		v.Tier = ssmtypes.ParameterTierStandard
		if len(v.Value) > maxStandardValue || old != nil && old.Tier == ssmtypes.ParameterTierAdvanced {
			v.Tier = ssmtypes.ParameterTierAdvanced
		}
	}
	switch {
	case v.Tier == ssmtypes.ParameterTierStandard && old != nil && old.Tier == ssmtypes.ParameterTierAdvanced:
		return ssmInvalid("This parameter uses the advanced-parameter tier. You can't downgrade a parameter from the advanced-parameter tier to the standard-parameter tier. If necessary, you can delete the advanced parameter and recreate it as a standard parameter.")
	case v.Tier == ssmtypes.ParameterTierStandard && len(v.Value) > maxStandardValue:
		return ssmInvalid("Standard tier parameters support a maximum parameter value of %d characters. To create a larger parameter value, upgrade the parameter to use the advanced-parameter tier.", maxStandardValue)
	case len(v.Value) > maxAdvancedValue:
		return ssmInvalid("Advanced tier parameters support a maximum parameter value of %d characters.", maxAdvancedValue)
	}
	return nil
}

// matchPattern holds a value to an allowed pattern, nil for none. The value is not repeated.
func matchPattern(pattern *string, value string) error {
	if pattern == nil || *pattern == "" {
		return nil
	}
	expression, err := regexp2.Compile(*pattern, regexp2.None)
	if err != nil {
		return awswire.Errorf("InvalidAllowedPatternException", 0, "The request does not meet the regular expression requirement.")
	}
	expression.MatchTimeout = 250 * time.Millisecond
	matches, err := expression.MatchString(value)
	if err != nil || !matches {
		return awswire.Errorf("ParameterPatternMismatchException", 0, "Parameter value, cannot be validated against allowedPattern: %s", *pattern)
	}
	return nil
}

// insertParameter keeps a version, and drops the oldest where there are too many.
func (s *Services) insertParameter(ctx context.Context, tx *store.Tx, v *parameterVersion, fresh bool, list []ssmtypes.Tag) error {
	row := &parameterRow{Account: v.Account, Region: v.Region, Name: v.Name, Version: v.Version}
	if fresh {
		tags := map[string]string{}
		for _, t := range list {
			tags[value(t.Key)] = value(t.Value)
		}
		row.Tags = store.JSONOf(tags)
		if len(tags) > 50 {
			return awswire.Errorf("TooManyTagsError", 0, "A parameter can have at most 50 tags.")
		}
		if err := store.Insert(ctx, tx, row); err != nil {
			return fmt.Errorf("keeping the parameter: %w", err)
		}
	} else if err := store.Update(ctx, tx, row, "version"); err != nil {
		return fmt.Errorf("keeping the parameter: %w", err)
	}
	if err := store.Insert(ctx, tx, v); err != nil {
		return fmt.Errorf("keeping the version of the parameter: %w", err)
	}
	if v.Version <= maxParameterVersions {
		return nil
	}
	oldest := &parameterVersion{}
	err := store.Get(ctx, tx, oldest, "WHERE account = ? AND region = ? AND name = ? AND version <= ? ORDER BY version LIMIT 1",
		v.Account, v.Region, v.Name, v.Version-maxParameterVersions)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the oldest version: %w", err)
	}
	if len(oldest.Labels.Get()) > 0 {
		return awswire.Errorf("ParameterMaxVersionLimitExceeded", 0, "You attempted to create a new version of %s by calling the PutParameter API with the overwrite flag. Version %d, the oldest version, can't be deleted because it has a label associated with it. Move the label to another version of the parameter, and try again.", v.Name, oldest.Version)
	}
	return store.Delete(ctx, tx, oldest)
}

// value is what a pointer points at, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

func (s *Services) deleteParameter(ctx context.Context, caller awswire.Caller, in *ssm.DeleteParameterInput) (*ssm.DeleteParameterOutput, error) {
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		gone, err := dropParameter(ctx, tx, caller, *in.Name)
		if err == nil && !gone {
			return parameterNotFound()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &ssm.DeleteParameterOutput{}, nil
}

func (s *Services) deleteParameters(ctx context.Context, caller awswire.Caller, in *ssm.DeleteParametersInput) (*ssm.DeleteParametersOutput, error) {
	var out *ssm.DeleteParametersOutput
	err := s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		out = &ssm.DeleteParametersOutput{DeletedParameters: []string{}, InvalidParameters: []string{}}
		for _, name := range in.Names {
			gone, err := dropParameter(ctx, tx, caller, name)
			switch {
			case err != nil:
				return err
			case gone:
				out.DeletedParameters = append(out.DeletedParameters, name)
			default:
				out.InvalidParameters = append(out.InvalidParameters, name)
			}
		}
		return nil
	})
	return out, err
}

// dropParameter deletes a parameter with all its versions, and reports whether there was one.
func dropParameter(ctx context.Context, tx *store.Tx, caller awswire.Caller, name string) (bool, error) {
	for _, table := range []string{"ssm_versions", "ssm_parameters"} {
		deleted, err := store.Exec(ctx, tx, "DELETE FROM "+table+" WHERE account = ? AND region = ? AND name = ?", caller.Account, caller.Region, name)
		if err != nil {
			return false, fmt.Errorf("deleting the parameter: %w", err)
		}
		if deleted == 0 {
			return false, nil
		}
	}
	return true, nil
}

// parameterNotFound has no message, as that of the service.
func parameterNotFound() error {
	return awswire.Errorf("ParameterNotFound", http.StatusBadRequest, "")
}

func parameterVersionNotFound(name, selector string) error {
	return awswire.Errorf("ParameterVersionNotFound", 0, "Systems Manager could not find version %s of %s. Verify the version and try again.", words.Cut(selector, 100), words.Cut(name, 200))
}

// splitParameter takes apart what names a parameter: a name or an ARN, and behind a colon
// the number of a version or a label. ok is false for the ARN of another account's or
// region's parameter.
func splitParameter(caller awswire.Caller, text string) (name, selector string, ok bool) {
	if strings.HasPrefix(text, "arn:") {
		parts := strings.SplitN(text, ":", 7)
		if len(parts) < 6 || parts[2] != "ssm" || parts[3] != caller.Region || parts[4] != caller.Account && parts[4] != "" || !strings.HasPrefix(parts[5], "parameter/") {
			return "", "", false
		}
		if len(parts) == 7 {
			selector = parts[6]
		}
		name = strings.TrimPrefix(parts[5], "parameter")
		return name, selector, (parts[4] == "") == strings.HasPrefix(name, publicPrefix)
	}
	name, selector, _ = strings.Cut(text, ":")
	return name, selector, true
}

// findParameter is the version of a parameter that a name, or an ARN, with or without a
// selector means.
func (s *Services) findParameter(ctx context.Context, db store.DB, caller awswire.Caller, text string) (*parameterVersion, string, error) {
	name, selector, ok := splitParameter(caller, text)
	if !ok {
		return nil, "", parameterNotFound()
	}
	if strings.HasPrefix(name, publicPrefix) {
		v := s.publicParameter(caller.Region, name)
		switch {
		case v == nil:
			return nil, "", parameterNotFound()
		case selector != "" && selector != "1":
			return nil, "", parameterVersionNotFound(name, selector)
		}
		return v, selector, nil
	}
	candidates := []string{name}
	if strings.HasPrefix(text, "arn:") && strings.Count(name, "/") == 1 {
		candidates = append(candidates, name[1:]) // both have the same ARN
	}
	for _, name := range candidates {
		current, err := currentParameter(ctx, db, caller, name)
		if err != nil {
			return nil, "", err
		}
		if current == nil {
			continue
		}
		v, err := selectVersion(ctx, db, current, selector)
		return v, selector, err
	}
	return nil, "", parameterNotFound()
}

// selectVersion is the version that a selector means, the newest where it is "".
func selectVersion(ctx context.Context, db store.DB, current *parameterVersion, selector string) (*parameterVersion, error) {
	if selector == "" {
		return current, nil
	}
	var versions []parameterVersion
	var where store.Where
	where.And("account = ? AND region = ? AND name = ?", current.Account, current.Region, current.Name)
	number, err := strconv.ParseInt(selector, 10, 64)
	if err == nil {
		where.And("version = ?", number)
	}
	if err := store.List(ctx, db, &versions, where.Clause(), where.Args...); err != nil {
		return nil, fmt.Errorf("reading the versions of the parameter: %w", err)
	}
	for i := range versions {
		if err == nil || slices.Contains(versions[i].Labels.Get(), selector) {
			return &versions[i], nil
		}
	}
	return nil, parameterVersionNotFound(current.Name, selector)
}

// plain is the value of a version: decrypted, or what is sealed.
func (s *Services) plain(v *parameterVersion, decrypt bool) (string, error) {
	if !v.Sealed || !decrypt {
		return v.Value, nil
	}
	text, err := s.sealer.Open(v.owner(), v.Value)
	if err != nil {
		return "", fmt.Errorf("parameter %s: %w", v.Name, err)
	}
	return text, nil
}

// Parameter is the value of a parameter of an account and region. text is its name or ARN,
// with ":" and a version or label behind it where not the newest is meant. Without
// decrypt, a SecureString gives what is sealed. Refusals are ParameterNotFound and
// ParameterVersionNotFound.
func (s *Services) Parameter(ctx context.Context, caller awswire.Caller, text string, decrypt bool) (string, ssmtypes.ParameterType, error) {
	v, _, err := s.findParameter(ctx, s.store.Read(), caller, text)
	if err != nil {
		return "", "", err
	}
	value, err := s.plain(v, decrypt)
	return value, v.Type, err
}

// StoredParameters returns the parameters that exist among names, which are as in Parameter, by
// the requested names. A SecureString has the sealed value.
func (s *Services) StoredParameters(ctx context.Context, caller awswire.Caller, names []string) (map[string]template.Stored, error) {
	out := map[string]template.Stored{}
	for _, name := range names {
		value, kind, err := s.Parameter(ctx, caller, name, false)
		var refusal *awswire.Error
		switch {
		case errors.As(err, &refusal): // it does not exist
		case err != nil:
			return nil, err
		default:
			out[name] = template.Stored{Type: string(kind), Value: value}
		}
	}
	return out, nil
}
