package awslite

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

func putParameter(t testing.TB, b *bench, name, text string) {
	t.Helper()
	_, err := ssm.NewFromConfig(b.config(account)).PutParameter(t.Context(), &ssm.PutParameterInput{Name: &name, Value: &text, Type: ssmtypes.ParameterTypeSecureString, Overwrite: aws.Bool(true)})
	ok(t, err)
}

func createSecret(t testing.TB, b *bench, name, text string) *secretsmanager.CreateSecretOutput {
	t.Helper()
	out, err := secretsmanager.NewFromConfig(b.config(account)).CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: &text})
	ok(t, err)
	return out
}

func TestParameters(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		c, ctx := ssm.NewFromConfig(b.config(account)), t.Context()
		put := func(in ssm.PutParameterInput) (int64, error) {
			out, err := c.PutParameter(ctx, &in)
			if err != nil {
				return 0, err
			}
			return out.Version, nil
		}
		name := aws.String("/app/db/host")
		version, err := put(ssm.PutParameterInput{Name: name, Value: aws.String("one"), Type: ssmtypes.ParameterTypeString, Tags: []ssmtypes.Tag{{Key: aws.String("k"), Value: aws.String("v")}}})
		ok(t, err)
		equal(t, "version", version, 1)
		_, err = put(ssm.PutParameterInput{Name: name, Value: aws.String("two"), Type: ssmtypes.ParameterTypeString})
		wantCode(t, err, "ParameterAlreadyExists")
		version, err = put(ssm.PutParameterInput{Name: name, Value: aws.String("two"), Overwrite: aws.Bool(true)})
		ok(t, err)
		equal(t, "version", version, 2)
		_, err = c.LabelParameterVersion(ctx, &ssm.LabelParameterVersionInput{Name: name, ParameterVersion: aws.Int64(1), Labels: []string{"live", "9bad", "awsx"}})
		ok(t, err)
		_, err = put(ssm.PutParameterInput{Name: aws.String("/app/key"), Value: aws.String("hunter22"), Type: ssmtypes.ParameterTypeSecureString})
		ok(t, err)
		_, err = put(ssm.PutParameterInput{Name: aws.String("bare"), Value: aws.String("a,b"), Type: ssmtypes.ParameterTypeStringList})
		ok(t, err)

		for _, test := range []struct {
			name, want, selector string
		}{
			{"/app/db/host", "two", ""}, {"/app/db/host:1", "one", ":1"}, {"/app/db/host:live", "one", ":live"},
			{"arn:aws:ssm:eu-west-1:123456789012:parameter/app/db/host:2", "two", ":2"}, {"arn:aws:ssm:eu-west-1:123456789012:parameter/bare", "a,b", ""}, {"/app/key", "hunter22", ""},
		} {
			out, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: &test.name, WithDecryption: aws.Bool(true)})
			ok(t, err)
			equal(t, test.name, *out.Parameter.Value+aws.ToString(out.Parameter.Selector), test.want+test.selector)
		}
		closed, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/app/key")})
		ok(t, err)
		if strings.Contains(*closed.Parameter.Value, "hunter22") || *closed.Parameter.ARN != "arn:aws:ssm:eu-west-1:123456789012:parameter/app/key" {
			t.Errorf("without decryption: %s, %s", *closed.Parameter.Value, *closed.Parameter.ARN)
		}
		for name, code := range map[string]string{"/app/none": "ParameterNotFound", "/app/key:7": "ParameterVersionNotFound", "/app/key:x": "ParameterVersionNotFound",
			"arn:aws:ssm:eu-west-1:999999999999:parameter/app/key": "ParameterNotFound"} {
			_, err = c.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
			wantCode(t, err, code)
		}
		_, err = ssm.NewFromConfig(b.config("999999999999")).GetParameter(ctx, &ssm.GetParameterInput{Name: name})
		wantCode(t, err, "ParameterNotFound")
		many, err := c.GetParameters(ctx, &ssm.GetParametersInput{Names: []string{"bare", "nope", "/app/db/host:live"}})
		ok(t, err)
		equal(t, "found and not", fmt.Sprint(len(many.Parameters), many.InvalidParameters), "2 [nope]")
		history, err := c.GetParameterHistory(ctx, &ssm.GetParameterHistoryInput{Name: name})
		ok(t, err)
		equal(t, "history", fmt.Sprint(len(history.Parameters), history.Parameters[0].Labels), "2 [live]")

		for path, want := range map[string]string{"/app": "/app/key", "/": "bare", "/app/db/": "/app/db/host"} {
			out, err := c.GetParametersByPath(ctx, &ssm.GetParametersByPathInput{Path: &path})
			ok(t, err)
			if len(out.Parameters) != 1 || *out.Parameters[0].Name != want {
				t.Errorf("below %s: %+v", path, out.Parameters)
			}
		}
		var all []string
		pages := ssm.NewGetParametersByPathPaginator(c, &ssm.GetParametersByPathInput{Path: aws.String("/"), Recursive: aws.Bool(true), MaxResults: aws.Int32(1)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			ok(t, err)
			for _, p := range page.Parameters {
				all = append(all, *p.Name)
			}
		}
		equal(t, "all", strings.Join(all, " "), "/app/db/host /app/key bare")
		described, err := c.DescribeParameters(ctx, &ssm.DescribeParametersInput{ParameterFilters: []ssmtypes.ParameterStringFilter{{Key: aws.String("tag:k"), Values: []string{"v"}}, {Key: aws.String("Name"), Option: aws.String("BeginsWith"), Values: []string{"/app"}}}})
		ok(t, err)
		equal(t, "described", len(described.Parameters), 1)
		_, err = c.DescribeParameters(ctx, &ssm.DescribeParametersInput{ParameterFilters: []ssmtypes.ParameterStringFilter{{Key: aws.String("Odd"), Values: []string{"v"}}}})
		wantCode(t, err, "InvalidFilterKey")

		_, err = c.AddTagsToResource(ctx, &ssm.AddTagsToResourceInput{ResourceType: "Parameter", ResourceId: name, Tags: []ssmtypes.Tag{{Key: aws.String("two"), Value: aws.String("2")}}})
		ok(t, err)
		_, err = c.RemoveTagsFromResource(ctx, &ssm.RemoveTagsFromResourceInput{ResourceType: "Parameter", ResourceId: name, TagKeys: []string{"k"}})
		ok(t, err)
		tagged, err := c.ListTagsForResource(ctx, &ssm.ListTagsForResourceInput{ResourceType: "Parameter", ResourceId: name})
		ok(t, err)
		equal(t, "tags", fmt.Sprint(len(tagged.TagList), " ", *tagged.TagList[0].Key), "1 two")

		deleted, err := c.DeleteParameters(ctx, &ssm.DeleteParametersInput{Names: []string{"bare", "nope"}})
		ok(t, err)
		equal(t, "deleted and not", fmt.Sprint(deleted.DeletedParameters, deleted.InvalidParameters), "[bare] [nope]")
		_, err = c.DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: aws.String("bare")})
		wantCode(t, err, "ParameterNotFound")
	})
}

func TestParameterRules(t *testing.T) {
	b := onSQLite(t, Config{})
	c, ctx := ssm.NewFromConfig(b.config(account)), t.Context()
	for _, test := range []struct {
		name, code string
		in         ssm.PutParameterInput
	}{
		{"reserved", "AccessDeniedException", ssm.PutParameterInput{Name: aws.String("/aws/x")}},
		{"reserved too", "ValidationException", ssm.PutParameterInput{Name: aws.String("ssmthing")}},
		{"not qualified", "ValidationException", ssm.PutParameterInput{Name: aws.String("a/b")}},
		{"characters", "ValidationException", ssm.PutParameterInput{Name: aws.String("/a b")}},
		{"levels", "HierarchyLevelLimitExceededException", ssm.PutParameterInput{Name: aws.String(strings.Repeat("/a", 16))}},
		{"nested", "ValidationException", ssm.PutParameterInput{Value: aws.String("{{ssm:x}}")}},
		{"no value", "ValidationException", ssm.PutParameterInput{Value: aws.String("")}},
		{"NUL", "ValidationException", ssm.PutParameterInput{Value: aws.String("a\x00b")}},
		{"no type", "ValidationException", ssm.PutParameterInput{Type: "none"}},
		{"too large", "ValidationException", ssm.PutParameterInput{Value: aws.String(strings.Repeat("x", 4097))}},
		{"too large for the tier", "ValidationException", ssm.PutParameterInput{Tier: "Advanced", Value: aws.String(strings.Repeat("x", 8193))}},
		{"pattern", "ParameterPatternMismatchException", ssm.PutParameterInput{AllowedPattern: aws.String(`^\d+$`)}},
		{"no pattern", "InvalidAllowedPatternException", ssm.PutParameterInput{AllowedPattern: aws.String(`(`)}},
		{"slow pattern", "ParameterPatternMismatchException", ssm.PutParameterInput{AllowedPattern: aws.String(`^(a+)+$`), Value: aws.String(strings.Repeat("a", 40) + "b")}},
		{"data type", "ValidationException", ssm.PutParameterInput{DataType: aws.String("Text")}},
		{"key", "ValidationException", ssm.PutParameterInput{KeyId: aws.String("k")}},
		{"policies", "NotImplemented", ssm.PutParameterInput{Policies: aws.String(`[{"Type":"Expiration"}]`)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := test.in
			if in.Name == nil {
				in.Name = aws.String("/rules/" + strings.ReplaceAll(test.name, " ", "-"))
			}
			if in.Value == nil {
				in.Value = aws.String("text")
			}
			switch in.Type {
			case "":
				in.Type = ssmtypes.ParameterTypeString
			case "none":
				in.Type = ""
			}
			_, err := c.PutParameter(ctx, &in)
			wantCode(t, err, test.code)
		})
	}
	tier, err := c.PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String("tiered"), Type: ssmtypes.ParameterTypeString, Tier: ssmtypes.ParameterTierIntelligentTiering, Value: aws.String(strings.Repeat("x", 5000))})
	ok(t, err)
	equal(t, "tier", tier.Tier, ssmtypes.ParameterTierAdvanced)
	_, err = c.PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String("tiered"), Overwrite: aws.Bool(true), Tier: ssmtypes.ParameterTierStandard, Value: aws.String("x")})
	wantCode(t, err, "ValidationException")
	_, err = c.CreateDocument(ctx, &ssm.CreateDocumentInput{Name: aws.String("d"), Content: aws.String("{}")})
	wantCode(t, err, "NotImplemented")
}

// TestParameterVersions writes more versions than are kept.
func TestParameterVersions(t *testing.T) {
	b := onSQLite(t, Config{})
	c, ctx, name := ssm.NewFromConfig(b.config(account)), t.Context(), aws.String("counter")
	put := func() error {
		_, err := c.PutParameter(ctx, &ssm.PutParameterInput{Name: name, Value: aws.String("x"), Type: ssmtypes.ParameterTypeString, Overwrite: aws.Bool(true)})
		return err
	}
	for range maxParameterVersions + 1 {
		ok(t, put())
	}
	_, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("counter:1")})
	wantCode(t, err, "ParameterVersionNotFound")
	_, err = c.LabelParameterVersion(ctx, &ssm.LabelParameterVersionInput{Name: name, ParameterVersion: aws.Int64(2), Labels: []string{"keep"}})
	ok(t, err)
	wantCode(t, put(), "ParameterMaxVersionLimitExceeded")
	_, err = c.UnlabelParameterVersion(ctx, &ssm.UnlabelParameterVersionInput{Name: name, ParameterVersion: aws.Int64(2), Labels: []string{"keep"}})
	ok(t, err)
	ok(t, put())
}

// TestConcurrentWrites has many clients write one thing: no write may be lost.
func TestConcurrentWrites(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		caller, ctx := awswire.Caller{Place: awswire.Place{Account: account, Region: region}}, t.Context()
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() {
				text := fmt.Sprint("text ", i)
				_, err := b.putParameter(ctx, caller, &ssm.PutParameterInput{Name: aws.String("shared"), Value: &text, Type: ssmtypes.ParameterTypeString, Overwrite: aws.Bool(true)})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		v, err := currentParameter(ctx, b.store.Read(), caller, "shared")
		ok(t, err)
		equal(t, "version", v.Version, 8)
	})
}

func TestSecrets(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		c, ctx := secretsmanager.NewFromConfig(b.config(account)), t.Context()
		made := createSecret(t, b, "app/db", `{"user":"me","port":5432}`)
		if !strings.HasPrefix(*made.ARN, "arn:aws:secretsmanager:eu-west-1:123456789012:secret:app/db-") || len(*made.VersionId) < 32 {
			t.Errorf("got %s, %s", *made.ARN, *made.VersionId)
		}
		_, err := c.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: aws.String("app/db"), SecretString: aws.String("x")})
		wantCode(t, err, "ResourceExistsException")
		same, err := c.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: aws.String("app/db"), SecretString: aws.String(`{"user":"me","port":5432}`), ClientRequestToken: made.VersionId})
		ok(t, err)
		equal(t, "the same request again", *same.ARN, *made.ARN)
		second, err := c.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: made.ARN, SecretString: aws.String("two")})
		ok(t, err)
		binary, err := c.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: aws.String("app/db"), SecretBinary: []byte{0, 1, 255}, VersionStages: []string{"NEXT"}})
		ok(t, err)
		get := func(id string, in secretsmanager.GetSecretValueInput) string {
			in.SecretId = &id
			out, err := c.GetSecretValue(ctx, &in)
			ok(t, err)
			return aws.ToString(out.SecretString) + string(out.SecretBinary)
		}
		partial := strings.TrimSuffix(*made.ARN, (*made.ARN)[len(*made.ARN)-7:])
		equal(t, "current", get("app/db", secretsmanager.GetSecretValueInput{}), "two")
		equal(t, "by ARN", get(*made.ARN, secretsmanager.GetSecretValueInput{}), "two")
		equal(t, "by a part of the ARN", get(partial, secretsmanager.GetSecretValueInput{}), "two")
		equal(t, "previous", get("app/db", secretsmanager.GetSecretValueInput{VersionStage: aws.String("AWSPREVIOUS")}), `{"user":"me","port":5432}`)
		equal(t, "binary", get("app/db", secretsmanager.GetSecretValueInput{VersionId: binary.VersionId}), "\x00\x01\xff")
		_, err = c.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: aws.String("app/db"), VersionStage: aws.String("NONE")})
		wantCode(t, err, "ResourceNotFoundException")
		_, err = secretsmanager.NewFromConfig(b.config("999999999999")).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: made.ARN})
		wantCode(t, err, "ResourceNotFoundException")

		_, err = c.UpdateSecretVersionStage(ctx, &secretsmanager.UpdateSecretVersionStageInput{SecretId: made.ARN, VersionStage: aws.String("AWSCURRENT"), MoveToVersionId: binary.VersionId})
		wantCode(t, err, "InvalidParameterException")
		_, err = c.UpdateSecretVersionStage(ctx, &secretsmanager.UpdateSecretVersionStageInput{SecretId: made.ARN, VersionStage: aws.String("AWSCURRENT"), MoveToVersionId: made.VersionId, RemoveFromVersionId: second.VersionId})
		ok(t, err)
		described, err := c.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: made.ARN})
		ok(t, err)
		equal(t, "stages", fmt.Sprint(described.VersionIdsToStages[*made.VersionId], described.VersionIdsToStages[*second.VersionId]), "[AWSCURRENT] [AWSPREVIOUS]")
		_, err = c.UpdateSecret(ctx, &secretsmanager.UpdateSecretInput{SecretId: made.ARN, Description: aws.String("about")})
		ok(t, err)
		_, err = c.TagResource(ctx, &secretsmanager.TagResourceInput{SecretId: made.ARN, Tags: []smtypes.Tag{{Key: aws.String("team"), Value: aws.String("a")}}})
		ok(t, err)
		createSecret(t, b, "other", "x")
		for key, values := range map[smtypes.FilterNameStringType][]string{"name": {"app"}, "tag-key": {"team"}, "all": {"DB"}, "description": {"about"}} {
			list, err := c.ListSecrets(ctx, &secretsmanager.ListSecretsInput{Filters: []smtypes.Filter{{Key: key, Values: values}}})
			ok(t, err)
			if len(list.SecretList) != 1 || *list.SecretList[0].Name != "app/db" || *list.SecretList[0].Description != "about" {
				t.Errorf("filter %s: %+v", key, list.SecretList)
			}
		}
		count := 0
		pages := secretsmanager.NewListSecretsPaginator(c, &secretsmanager.ListSecretsInput{MaxResults: aws.Int32(1)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			ok(t, err)
			count += len(page.SecretList)
		}
		equal(t, "secrets", count, 2)
		_, err = c.RotateSecret(ctx, &secretsmanager.RotateSecretInput{SecretId: made.ARN})
		wantCode(t, err, "NotImplemented")
	})
}

func TestDeletedSecrets(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		c, ctx, name := secretsmanager.NewFromConfig(b.config(account)), t.Context(), aws.String("doomed")
		createSecret(t, b, *name, "x")
		_, err := c.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: name, RecoveryWindowInDays: aws.Int64(6)})
		wantCode(t, err, "InvalidParameterException")
		_, err = c.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: name, RecoveryWindowInDays: aws.Int64(7)})
		ok(t, err)
		_, err = c.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: name})
		wantCode(t, err, "InvalidRequestException")
		_, err = c.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: name})
		wantCode(t, err, "InvalidRequestException")
		_, err = c.RestoreSecret(ctx, &secretsmanager.RestoreSecretInput{SecretId: name})
		ok(t, err)
		_, err = c.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: name})
		ok(t, err)
		_, err = c.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: name})
		ok(t, err)
		b.advance(31 * 24 * time.Hour)
		_, err = c.DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: name})
		wantCode(t, err, "ResourceNotFoundException")
		createSecret(t, b, *name, "y")
		for range 2 {
			_, err = c.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: name, ForceDeleteWithoutRecovery: aws.Bool(true)})
			ok(t, err)
		}
		createSecret(t, b, *name, "z")
	})
}

func TestRandomPassword(t *testing.T) {
	b := onSQLite(t, Config{})
	c := secretsmanager.NewFromConfig(b.config(account))
	for range 20 {
		out, err := c.GetRandomPassword(t.Context(), &secretsmanager.GetRandomPasswordInput{PasswordLength: aws.Int64(4), ExcludeCharacters: aws.String("abc"), ExcludePunctuation: aws.Bool(true), IncludeSpace: aws.Bool(true)})
		ok(t, err)
		p := *out.RandomPassword
		if len(p) != 4 || !strings.ContainsAny(p, "0123456789") || !strings.Contains(p, " ") || strings.ContainsAny(p, "abc") || strings.ToLower(p) == p {
			t.Errorf("the password is %q", p)
		}
	}
	_, err := c.GetRandomPassword(t.Context(), &secretsmanager.GetRandomPasswordInput{PasswordLength: aws.Int64(2)})
	wantCode(t, err, "InvalidParameterException")
}

func TestResolve(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		c, ctx := ssm.NewFromConfig(b.config(account)), t.Context()
		for _, text := range []string{"one", "two"} {
			_, err := c.PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String("/p"), Value: &text, Type: ssmtypes.ParameterTypeString, Overwrite: aws.Bool(true)})
			ok(t, err)
		}
		putParameter(t, b, "/s", "hunter22")
		made := createSecret(t, b, "db", `{"user":"me","port":5432,"n":null}`)
		for _, test := range []struct{ service, reference, want string }{
			{"ssm", "/p", "two"}, {"ssm", "/p:1", "one"}, {"ssm-secure", "/s", "hunter22"}, {"ssm-secure", "/s:1", "hunter22"},
			{"secretsmanager", "db", `{"user":"me","port":5432,"n":null}`}, {"secretsmanager", "db:SecretString:user", "me"}, {"secretsmanager", "db:SecretString:port::", "5432"},
			{"secretsmanager", "db::user:AWSCURRENT", "me"}, {"secretsmanager", *made.ARN + ":SecretString:user", "me"}, {"secretsmanager", "db:SecretString:user::" + *made.VersionId, "me"},
		} {
			got, err := b.Resolve(ctx, awswire.Caller{Place: home}, test.service, test.reference)
			ok(t, err)
			equal(t, test.reference, got, test.want)
		}
		for _, test := range []struct{ service, reference, code string }{
			{"ssm", "/s", "ValidationError"}, {"ssm-secure", "/p", "ValidationError"}, {"ssm", "/p:x", "ValidationError"}, {"ssm", "/p:", "ValidationError"}, {"ssm", "/p:9", "ParameterVersionNotFound"},
			{"ssm", "/none", "ParameterNotFound"}, {"secretsmanager", "none", "ResourceNotFoundException"}, {"secretsmanager", "db:SecretBinary", "ValidationError"},
			{"secretsmanager", "db:SecretString:none", "ValidationError"}, {"secretsmanager", "db:SecretString:user:A:B", "ValidationError"}, {"secretsmanager", "a:b:c:d:e:f", "ValidationError"},
			{"secretsmanager", "", "ValidationError"}, {"kms", "x", "ValidationError"}, {"ssm", "a\x00", "ValidationError"},
		} {
			_, err := b.Resolve(ctx, awswire.Caller{Place: home}, test.service, test.reference)
			var refusal *awswire.Error
			if !errors.As(err, &refusal) || refusal.Code != test.code || strings.Contains(err.Error(), "hunter22") {
				t.Errorf("%s %s: got %v, want %s", test.service, test.reference, err, test.code)
			}
		}
	})
}

func TestSessions(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		c, ctx := sts.NewFromConfig(b.config(account)), t.Context()
		who, err := c.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		ok(t, err)
		equal(t, "identity", *who.Arn+" "+*who.Account, "arn:aws:iam::123456789012:root 123456789012")
		china := sts.NewFromConfig(b.config(account), func(o *sts.Options) { o.Region = "cn-north-1" })
		who, err = china.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		ok(t, err)
		equal(t, "identity in China", *who.Arn, "arn:aws-cn:iam::123456789012:root")

		role, err := c.AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: aws.String("arn:aws:iam::999999999999:role/path/deploy"), RoleSessionName: aws.String("me")})
		ok(t, err)
		equal(t, "role", *role.AssumedRoleUser.Arn, "arn:aws:sts::999999999999:assumed-role/deploy/me")
		config := b.config("")
		config.Credentials = credentials.NewStaticCredentialsProvider(*role.Credentials.AccessKeyId, *role.Credentials.SecretAccessKey, *role.Credentials.SessionToken)
		who, err = sts.NewFromConfig(config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		ok(t, err)
		equal(t, "identity of the role", *who.Arn+" "+*who.Account, *role.AssumedRoleUser.Arn+" 999999999999")
		_, err = ssm.NewFromConfig(config).PutParameter(ctx, &ssm.PutParameterInput{Name: aws.String("mine"), Value: aws.String("x"), Type: ssmtypes.ParameterTypeString})
		ok(t, err)
		_, err = ssm.NewFromConfig(b.config(account)).GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("mine")})
		wantCode(t, err, "ParameterNotFound")
		key, found, err := b.Key(ctx, *role.Credentials.AccessKeyId)
		ok(t, err)
		if !found || key.Secret != *role.Credentials.SecretAccessKey || key.SessionToken != *role.Credentials.SessionToken || !key.Expires.After(time.Now()) {
			t.Errorf("the key is %+v, %v", key, found)
		}
		info, err := c.GetAccessKeyInfo(ctx, &sts.GetAccessKeyInfoInput{AccessKeyId: role.Credentials.AccessKeyId})
		ok(t, err)
		equal(t, "account of the key", *info.Account, "999999999999")
		_, err = c.GetSessionToken(ctx, &sts.GetSessionTokenInput{DurationSeconds: aws.Int32(900)})
		ok(t, err)
		for _, in := range []sts.AssumeRoleInput{
			{RoleArn: aws.String("arn:aws:iam::12:role/short-account"), RoleSessionName: aws.String("me")},
			{RoleArn: aws.String("arn:aws-cn:iam::999999999999:role/r"), RoleSessionName: aws.String("me")},
			{RoleArn: aws.String("arn:aws:iam::999999999999:role/r"), RoleSessionName: aws.String("m e")},
			{RoleArn: aws.String("arn:aws:iam::999999999999:role/r"), RoleSessionName: aws.String("me"), DurationSeconds: aws.Int32(60)},
		} {
			_, err = c.AssumeRole(ctx, &in)
			wantCode(t, err, "ValidationError")
		}
		_, err = c.GetFederationToken(ctx, &sts.GetFederationTokenInput{Name: aws.String("x")})
		wantCode(t, err, "NotImplemented")
		b.advance(48 * time.Hour)
		_, err = c.GetSessionToken(ctx, &sts.GetSessionTokenInput{})
		ok(t, err)
		if _, found, err := b.Key(ctx, *role.Credentials.AccessKeyId); found || err != nil {
			t.Error("a key that ended long ago is still known")
		}
	})
}

func TestIsolatedAccounts(t *testing.T) {
	c := sts.NewFromConfig(onSQLite(t, Config{IsolateAccounts: true}).config(account))
	for role, code := range map[string]string{account: "", "999999999999": "AccessDenied"} {
		_, err := c.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String("arn:aws:iam::" + role + ":role/r"), RoleSessionName: aws.String("me")})
		if code == "" {
			ok(t, err)
		} else {
			wantCode(t, err, code)
		}
	}
}
