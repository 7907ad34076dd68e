package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

func TestParseSettings(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"all of it", `{"$schema": "x", "rules": {"lint/TAG*": "off", "breaking/PAT003": "error"}, "suppress": [{"id": "schema/non-ascii", "type": "A::*", "pointer": "/description", "reason": "r"}]}`, ""},
		{"nothing", `{}`, ""},
		{"no object", `[]`, "1:1 lint/settings"},
		{"no JSON", `{"rules": }`, "1:11 document/syntax"},
		{"unknown key", `{"rule": {}}`, "1:2 lint/settings"},
		{"rules of another type", `{"rules": []}`, "1:11 lint/settings"},
		{"unknown rule", `{"rules": {"lint/PR03": "off"}}`, "1:12 lint/settings"},
		{"unknown namespace", `{"rules": {"nothing/*": "off"}}`, "1:12 lint/settings"},
		{"unknown severity", `{"rules": {"lint/PR006": "fatal"}}`, "1:26 lint/settings"},
		{"severity of another type", `{"rules": {"lint/PR006": 1}}`, "1:26 lint/settings"},
		{"an error that stays one", `{"rules": {"schema/unknown-key": "warning"}}`, "1:12 lint/settings"},
		{"a warning that becomes an error", `{"rules": {"schema/non-ascii": "error"}}`, ""},
		{"suppressions of another type", `{"suppress": {}}`, "1:14 lint/settings"},
		{"a suppression of another type", `{"suppress": ["lint/PR006"]}`, "1:15 lint/settings"},
		{"no reason", `{"suppress": [{"id": "lint/PR006"}]}`, "1:22 lint/suppression-reason"},
		{"a blank reason", `{"suppress": [{"id": "lint/PR006", "reason": " "}]}`, "1:22 lint/suppression-reason"},
		{"no id", `{"suppress": [{"reason": "r"}]}`, "1:15 lint/settings"},
		{"an unknown id", `{"suppress": [{"id": "lint/none", "reason": "r"}]}`, "1:22 lint/settings"},
		{"an error suppressed", `{"suppress": [{"id": "schema/missing-key", "reason": "r"}]}`, "1:22 lint/settings"},
		{"no pointer", `{"suppress": [{"id": "lint/PR006", "pointer": "properties", "reason": "r"}]}`, "1:47 lint/settings"},
		{"an unknown key of a suppression", `{"suppress": [{"id": "lint/PR006", "path": "/x", "reason": "r"}]}`, "1:36 lint/settings"},
		{"a text of another type", `{"suppress": [{"id": "lint/PR006", "pointer": 5, "reason": "r"}]}`, "1:47 lint/settings"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := ParseSettings(SettingsFile, []byte(test.text))
			var got []string
			for _, p := range problems {
				got = append(got, strings.TrimPrefix(p.At.String(), SettingsFile+":")+" "+p.ID)
			}
			if strings.Join(got, "|") != test.want {
				t.Errorf("got %v, want %s: %+v", got, test.want, problems)
			}
		})
	}
}

// TestSettingsRules derives a case from the rows that are about the settings themselves.
func TestSettingsRules(t *testing.T) {
	found := func(text string) []string {
		s, problems := ParseSettings(SettingsFile, []byte("{"+text+"}"))
		filter := s.Filter()
		filter.Apply(Run(soundWith(t, `"tagging": {"taggable": false}`), Config{}), "Initech::TPS::Report")
		return append(ids(problems), ids(filter.Unused())...)
	}
	for _, rule := range settingsRules {
		if got := found(rule.Bad); !slices.Contains(got, rule.ID) {
			t.Errorf("%s: the wrong example gives %v", rule.ID, got)
		}
		if got := found(rule.Good); len(got) > 0 {
			t.Errorf("%s: the right example gives %v", rule.ID, got)
		}
	}
}

func mustParse(t *testing.T, text string) *Settings {
	t.Helper()
	s, problems := ParseSettings(SettingsFile, []byte(text))
	if s == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

func TestFilter(t *testing.T) {
	problems := diag.List{
		{ID: "lint/TAG015", Severity: diag.Warning, Pointer: "/tagging"},
		{ID: "lint/TAG007", Severity: diag.Warning, Pointer: "/tagging"},
		{ID: "lint/ARN002", Severity: diag.Warning, Pointer: "/properties/TopicArn"},
		{ID: "lint/ARN002", Severity: diag.Warning, Pointer: "/properties/QueueArn"},
		{ID: "schema/missing-key", Severity: diag.Error},
	}
	tests := []struct{ name, settings, want, unused string }{
		{"none", `{}`, "TAG015 warning, TAG007 warning, ARN002 warning, ARN002 warning, missing-key error", ""},
		{"off", `{"rules": {"lint/ARN002": "off"}}`, "TAG015 warning, TAG007 warning, missing-key error", ""},
		{"the exact id before a pattern", `{"rules": {"lint/*": "off", "lint/TAG0*": "info", "lint/TAG015": "error"}}`, "TAG015 error, TAG007 info, missing-key error", ""},
		{"errors stay", `{"rules": {"schema/*": "off"}}`, "TAG015 warning, TAG007 warning, ARN002 warning, ARN002 warning, missing-key error", ""},
		{"a suppression", `{"suppress": [{"id": "lint/ARN002", "pointer": "/properties/TopicArn", "reason": "r"}]}`, "TAG015 warning, TAG007 warning, ARN002 warning, missing-key error", ""},
		{"any token", `{"suppress": [{"id": "lint/ARN002", "pointer": "/properties/*", "reason": "r"}]}`, "TAG015 warning, TAG007 warning, missing-key error", ""},
		{"what is inside", `{"suppress": [{"id": "lint/ARN*", "pointer": "/properties", "reason": "r"}]}`, "TAG015 warning, TAG007 warning, missing-key error", ""},
		{"of the type", `{"suppress": [{"id": "lint/ARN002", "type": "Initech::*", "reason": "r"}]}`, "TAG015 warning, TAG007 warning, missing-key error", ""},
		{"of another type", `{"suppress": [{"id": "lint/ARN002", "type": "Acme::*", "reason": "r"}]}`, "TAG015 warning, TAG007 warning, ARN002 warning, ARN002 warning, missing-key error", ""},
		{"without use", `{"suppress": [{"id": "lint/ARN001", "reason": "r"}, {"id": "breaking/PR001", "reason": "r"}]}`, "TAG015 warning, TAG007 warning, ARN002 warning, ARN002 warning, missing-key error", "/suppress/0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := mustParse(t, test.settings).Filter()
			var got, unused []string
			for _, p := range f.Apply(slices.Clone(problems), "Initech::TPS::Report") {
				_, name, _ := strings.Cut(p.ID, "/")
				got = append(got, name+" "+p.Severity.String())
			}
			for _, p := range f.Unused() {
				unused = append(unused, p.Pointer)
			}
			if strings.Join(got, ", ") != test.want || strings.Join(unused, ", ") != test.unused {
				t.Errorf("got %v, unused %v", got, unused)
			}
		})
	}
	var none *Settings
	if got := none.Filter().Apply(problems, ""); len(got) != len(problems) || none.Filter().Unused() != nil {
		t.Errorf("without settings: %v", got)
	}
}

func TestApplyChanges(t *testing.T) {
	changes := []Change{{ID: "breaking/PR001", Pointer: "/properties/A"}, {ID: "breaking/PR001", Pointer: "/properties/B"}, {ID: "breaking/PAT003", Severity: Risky}}
	s := mustParse(t, `{"rules": {"breaking/PAT*": "error"}, "suppress": [{"id": "breaking/PR001", "pointer": "/properties/A", "reason": "never released"}]}`)
	got := s.ApplyChanges(changes, "")
	if len(got) != 3 || got[0].ID != "breaking/PAT003" || got[0].Severity != Breaking || got[1].Pointer != "/properties/B" || got[2].Accepted != "never released" || got[2].Severity != Compatible {
		t.Errorf("%+v", got)
	}
	if got := mustParse(t, `{"rules": {"breaking/PR001": "off", "breaking/PAT003": "info"}}`).ApplyChanges(changes, ""); len(got) != 1 || got[0].Severity != Compatible {
		t.Errorf("%+v", got)
	}
}

func TestFindSettings(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"repo/.git", "repo/a/b", "loose/c"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(dir string) string { return filepath.Join(top, dir, SettingsFile) }
	for _, dir := range []string{"", "repo", "loose"} {
		if err := os.WriteFile(at(dir), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{"repo/a/b": at("repo"), "repo": at("repo"), "loose": at("loose"), "loose/c": ""} {
		if got := FindSettings(filepath.Join(top, dir)); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}
