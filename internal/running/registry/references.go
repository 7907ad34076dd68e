package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// dynamicReference finds dynamic references in a text: {{resolve:service:reference}}.
var dynamicReference = lazyregexp.New(`\{\{resolve:([^:{}]*)(?::([^{}]*))?\}\}`)

// referencePatterns are the services of dynamic references and the patterns of their
// parameters (user guide of CloudFormation, "dynamic references").
var referencePatterns = map[string]*lazyregexp.Regexp{
	"ssm":        lazyregexp.New(`\A[a-zA-Z0-9_.\-/]+(:[0-9]+)?\z`),
	"ssm-secure": lazyregexp.New(`\A[a-zA-Z0-9_.\-/]+(:[0-9]+)?\z`),
	// secret-id, which may be an ARN, then :secret-string:json-key:version-stage:version-id
	"secretsmanager": lazyregexp.New(`\A[^:\s]+(:[^\s]*)?\z`),
}

// checkReferences returns the errors in the dynamic references of a text. A reference is not a
// secret, and may be shown.
func checkReferences(text string) error {
	rest := dynamicReference.ReplaceAllStringFunc(text, func(string) string { return "" })
	if strings.Contains(rest, "{{resolve:") {
		return errors.New("incomplete dynamic reference: use {{resolve:service:reference}}")
	}
	for _, m := range dynamicReference.FindAllStringSubmatch(text, -1) {
		pattern, known := referencePatterns[m[1]]
		if !known {
			return fmt.Errorf("the dynamic reference %s does not use ssm, ssm-secure or secretsmanager", m[0])
		}
		if !pattern.MatchString(m[2]) {
			return fmt.Errorf("the dynamic reference %s does not name a value of %s", m[0], m[1])
		}
	}
	return nil
}

// hasReference reports whether a value has a dynamic reference in any of its texts.
func hasReference(value any) bool {
	switch value := value.(type) {
	case string:
		return strings.Contains(value, "{{resolve:")
	case map[string]any:
		for _, inner := range value {
			if hasReference(inner) {
				return true
			}
		}
	case []any:
		for _, inner := range value {
			if hasReference(inner) {
				return true
			}
		}
	}
	return false
}

// eachText calls f for every text in a value, keys of objects excepted, and puts what it
// returns in its place.
func eachText(value any, at document.Pointer, f func(at document.Pointer, text string) (string, error)) (any, error) {
	switch value := value.(type) {
	case string:
		return f(at, value)
	case map[string]any:
		for key, inner := range value {
			changed, err := eachText(inner, at.Append(key), f)
			if err != nil {
				return nil, err
			}
			value[key] = changed
		}
	case []any:
		for i, inner := range value {
			changed, err := eachText(inner, at.Append(fmt.Sprint(i)), f)
			if err != nil {
				return nil, err
			}
			value[i] = changed
		}
	}
	return value, nil
}

// resolveReferences replaces the dynamic references of a configuration by their values. Values
// are not resolved again: a value may look like a reference. A duplicate reference is resolved
// once. secrets are the values that are secret: all but those of plain parameters.
func (r *Registry) resolveReferences(ctx context.Context, caller awswire.Caller, configuration any) (resolved any, secrets []string, err error) {
	found := map[string]string{}
	resolved, err = eachText(configuration, nil, func(at document.Pointer, text string) (string, error) {
		if !strings.Contains(text, "{{resolve:") {
			return text, nil
		}
		var failed error
		resolved := dynamicReference.ReplaceAllStringFunc(text, func(reference string) string {
			value, known := found[reference]
			if !known && failed == nil {
				m := dynamicReference.FindStringSubmatch(reference)
				value, failed = r.resolveReference(ctx, caller, m[1], m[2])
				found[reference] = value
				if m[1] != "ssm" {
					secrets = append(secrets, value)
				}
			}
			return value
		})
		if failed != nil {
			return "", fmt.Errorf("the type configuration at %s: %w", at, failed)
		}
		return resolved, nil
	})
	return resolved, secrets, err
}

func (r *Registry) resolveReference(ctx context.Context, caller awswire.Caller, service, reference string) (string, error) {
	if r.config.Resolve == nil {
		return "", refuse("The dynamic reference {{resolve:%s:%s}} cannot be resolved here.", service, reference)
	}
	value, err := r.config.Resolve(ctx, caller, service, reference)
	if err != nil {
		return "", fmt.Errorf("resolve {{resolve:%s:%s}}: %w", service, reference, err)
	}
	return value, nil
}
