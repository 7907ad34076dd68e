package delegate_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/running/delegate"
)

func TestParseRules(t *testing.T) {
	allowed := func(host string) bool { return host == "emulator.example" }
	rules, err := delegate.ParseRules([]string{"AWS::*=http://127.0.0.1:1", "AWS::SQS::Queue=http://localhost:2/", "AWS::SQS::*,AWS::SNS::*=http://emulator.example:3", "AWS::SNS::Topic=none"}, allowed)
	want := []delegate.Rule{
		{"AWS::SQS::Queue", "http://localhost:2"}, {"AWS::SNS::Topic", ""}, {"AWS::SQS::*", "http://emulator.example:3"}, {"AWS::SNS::*", "http://emulator.example:3"},
		{"AWS::*", "http://127.0.0.1:1"},
	}
	if err != nil || !cmp.Equal(rules, want) {
		t.Errorf("%v: %s", err, cmp.Diff(want, rules))
	}
	for text, want := range map[string]string{
		"AWS::SQS::*":                                             "is not of the form PATTERN[,PATTERN]=URL",
		"=http://127.0.0.1:1":                                     "is not the name of a type of AWS or a pattern",
		"AWS::SQS=http://127.0.0.1:1":                             "is not the name of a type of AWS or a pattern, such as AWS::SQS::Queue, AWS::SQS::*",
		"Acme::*=http://127.0.0.1:1":                              "is not the name of a type of AWS or a pattern",
		"AWS::CloudFormation::Stack=http://127.0.0.1:1":           "cannot be delegated",
		"AWS::*=http://10.0.0.1:1":                                "pass --allow-host 10.0.0.1 as well",
		"AWS::*=ftp://127.0.0.1":                                  "is not the URL of an emulator",
		"AWS::*=http://user@127.0.0.1":                            "is not the URL of an emulator",
		"AWS::*=http://127.0.0.1/path":                            "is not the URL of an emulator",
		"AWS::SQS::*Q=http://127.0.0.1:1 AWS::SQS::Q*=none":       "match the same types equally well",
		"AWS::SQS::*=http://127.0.0.1:1 AWS::SQS::*=http://[::1]": "match the same types equally well",
	} {
		if _, err := delegate.ParseRules(strings.Fields(text), allowed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
