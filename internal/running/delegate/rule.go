package delegate

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A Rule sends the types that a pattern matches to an emulator.
type Rule struct {
	Pattern string // AWS::SQS::*
	URL     string // http://127.0.0.1:4567; "" excludes the types from wider patterns
}

// Everything is the pattern of all types of AWS. It does not take types from the services of this server
// that narrower patterns do not name.
const Everything = "AWS::*"

var typePattern = lazyregexp.New(`^AWS::(?:[A-Za-z0-9]*\*[A-Za-z0-9*]*|[A-Za-z0-9*]+::[A-Za-z0-9*]+)$`)

// ParseRules reads PATTERN[,PATTERN]=URL, or =none. Emulators must be on this machine, unless allowed
// reports that a host may be used.
func ParseRules(texts []string, allowed func(host string) bool) ([]Rule, error) {
	var rules []Rule
	for _, text := range texts {
		patterns, at, found := strings.Cut(text, "=")
		if !found {
			return nil, fmt.Errorf("%q is not of the form PATTERN[,PATTERN]=URL, such as AWS::SQS::*=http://127.0.0.1:4567", text)
		}
		base := ""
		if at != "none" {
			var err error
			if base, err = parseURL(at, allowed); err != nil {
				return nil, err
			}
		}
		for pattern := range strings.SplitSeq(patterns, ",") {
			switch {
			case !typePattern.MatchString(pattern):
				return nil, fmt.Errorf("%q is not the name of a type of AWS or a pattern, such as AWS::SQS::Queue, AWS::SQS::* or AWS::*", pattern)
			case strings.HasPrefix(pattern, "AWS::CloudFormation::"):
				return nil, fmt.Errorf("%q: types of AWS::CloudFormation are provided by this server and cannot be delegated", pattern)
			}
			rules = append(rules, Rule{Pattern: pattern, URL: base})
		}
	}
	// The most specific pattern comes first.
	slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(specificity(b.Pattern), specificity(a.Pattern)) })
	for i, rule := range rules {
		for _, other := range rules[i+1:] {
			if specificity(rule.Pattern) == specificity(other.Pattern) && rule.URL != other.URL && overlap(rule.Pattern, other.Pattern) {
				return nil, fmt.Errorf("the patterns %s and %s match the same types equally well but name different emulators", rule.Pattern, other.Pattern)
			}
		}
	}
	return rules, nil
}

func parseURL(text string, allowed func(host string) bool) (string, error) {
	at, err := url.Parse(text)
	switch {
	case err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "" || strings.Trim(at.Path, "/") != "":
		return "", fmt.Errorf("%q is not the URL of an emulator, such as http://127.0.0.1:4567, or none", text)
	case !invoke.Loopback(at.Hostname()) && !allowed(at.Hostname()):
		return "", fmt.Errorf("the emulator %s is not on this machine: pass --allow-host %s as well", text, at.Hostname())
	}
	return at.Scheme + "://" + at.Host, nil
}

// specificity orders patterns: the one with more literal characters is more specific, and a full name most.
func specificity(pattern string) int {
	n := 2 * len(strings.ReplaceAll(pattern, "*", ""))
	if !schema.HasWildcard(pattern) {
		n++
	}
	return n
}

// overlap reports whether a type may match both patterns.
func overlap(a, b string) bool {
	if a == "" || b == "" {
		return strings.Trim(a+b, "*") == ""
	}
	switch {
	case a[0] == '*':
		return overlap(a[1:], b) || overlap(a, b[1:])
	case b[0] == '*':
		return overlap(a, b[1:]) || overlap(a[1:], b)
	}
	return a[0] == b[0] && overlap(a[1:], b[1:])
}
