package awslite

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Resolve gives the text behind a dynamic reference, {{resolve:SERVICE:REFERENCE}}:
//
//	ssm             name            the newest version of a String or StringList
//	                name:version    that version
//	ssm-secure      the same, of a SecureString
//	secretsmanager  id                                             the whole SecretString
//	                id:SecretString:json-key:stage:version-id      where all but id may be
//	                                                               empty or left out; id may
//	                                                               be an ARN
//
// All refusals are *awswire.Error: those of the service where there is no such value, and
// ValidationError where the reference is not of this form. None of them holds the value.
func (s *Services) Resolve(ctx context.Context, caller awswire.Caller, service, reference string) (string, error) {
	if len(reference) > 4096 || strings.ContainsRune(reference, 0) {
		return "", awswire.ValidationErrorf("the dynamic reference to %s is not valid", words.Cut(service, 50))
	}
	switch service {
	case "ssm", "ssm-secure":
		return s.resolveParameter(ctx, caller, service == "ssm-secure", reference)
	case "secretsmanager":
		return s.resolveSecret(ctx, caller, reference)
	}
	return "", awswire.ValidationErrorf("dynamic references are to ssm, ssm-secure or secretsmanager, not to %q", words.Cut(service, 50))
}

func (s *Services) resolveParameter(ctx context.Context, caller awswire.Caller, secure bool, reference string) (string, error) {
	if name, version, found := cutLast(reference, ":"); found && (name == "" || version == "" || strings.Trim(version, "0123456789") != "") {
		return "", awswire.ValidationErrorf("the version in the dynamic reference %q is not a whole number", words.Cut(reference, 200))
	}
	text, kind, err := s.Parameter(ctx, caller, reference, true)
	var refusal *awswire.Error
	switch {
	case errors.As(err, &refusal) && strings.HasSuffix(refusal.Code, "NotFound"):
		// The service itself names the parameter, but not the reason.
		return "", awswire.Errorf(refusal.Code, http.StatusBadRequest, "Unable to fetch parameters [%s] from parameter store for this account.", words.Cut(reference, 200))
	case err != nil:
		return "", err
	case secure && kind != ssmtypes.ParameterTypeSecureString:
		return "", awswire.ValidationErrorf("the parameter %s is no SecureString: use {{resolve:ssm:…}}", words.Cut(reference, 200))
	case !secure && kind == ssmtypes.ParameterTypeSecureString:
		return "", awswire.ValidationErrorf("the parameter %s is a SecureString: use {{resolve:ssm-secure:…}}", words.Cut(reference, 200))
	}
	return text, nil
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// A secretPlace is what a reference to a secret says.
type secretPlace struct{ id, key, stage, version string }

// parseSecretReference takes a reference to a secret apart.
func parseSecretReference(reference string) (secretPlace, error) {
	parts := strings.Split(reference, ":")
	width := 1
	if parts[0] == "arn" {
		width = 7
	}
	bad := awswire.ValidationErrorf("the dynamic reference %q is not of the form secret-id:SecretString:json-key:version-stage:version-id", words.Cut(reference, 200))
	if len(parts) < width || len(parts) > width+4 {
		return secretPlace{}, bad
	}
	p := secretPlace{id: strings.Join(parts[:width], ":")}
	rest := append(parts[width:], "", "", "", "")
	if p.id == "" || rest[0] != "" && rest[0] != "SecretString" {
		return secretPlace{}, bad
	}
	p.key, p.stage, p.version = rest[1], rest[2], rest[3]
	if p.stage != "" && p.version != "" {
		return secretPlace{}, awswire.ValidationErrorf("the dynamic reference %q names a version stage and a version id: name one of them", words.Cut(reference, 200))
	}
	return p, nil
}

func (s *Services) resolveSecret(ctx context.Context, caller awswire.Caller, reference string) (string, error) {
	p, err := parseSecretReference(reference)
	if err != nil {
		return "", err
	}
	found, err := s.secretValue(ctx, caller, p.id, p.version, p.stage)
	if err != nil {
		return "", err
	}
	if found.String == nil {
		return "", awswire.ValidationErrorf("the secret %s is binary, which a dynamic reference cannot give", found.Name)
	}
	if p.key == "" {
		return *found.String, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(*found.String), &members) != nil {
		return "", awswire.ValidationErrorf("Could not parse SecretString JSON of the secret %s", found.Name)
	}
	raw, ok := members[p.key]
	if !ok {
		return "", awswire.ValidationErrorf("Could not find a value associated with JSONKey in SecretString of the secret %s", found.Name)
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && raw[0] == '"' {
		return text, nil
	}
	return string(raw), nil // numbers, booleans and structures as written
}
