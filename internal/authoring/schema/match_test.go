package schema_test

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

func TestMatchTarget(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"AWS::S3::Bucket", "AWS::S3::Bucket", true},
		{"AWS::S3::Bucket", "AWS::S3::bucket", false},
		{"AWS::S3::Bucket", "AWS::S3::BucketPolicy", false},
		{"AWS::S3::*", "AWS::S3::BucketPolicy", true},
		{"AWS::S3::*", "AWS::S3::", true},
		{"AWS::S3::?*", "AWS::S3::", false},
		{"AWS::*::Bucket", "AWS::S3::Bucket", true},
		{"AWS::*::Bucket", "AWS::S3::BucketPolicy", false},
		{"*Bucket*", "AWS::S3::BucketPolicy", true},
		{"AWS::S?::Bucket", "AWS::S3::Bucket", true},
		{"AWS::S?::Bucket", "AWS::S::Bucket", false},
		{"AWS::S?::Bucket", "AWS::SQS::Bucket", false},
		{"A::??::C", "A::äb::C", true},
		{"A::*b::C", "A::äb::C", true},
		{"*", "", true},
		{"**", "x", true},
		{"?", "", false},
		{"", "", true},
		{"", "x", false},
		{"*x*y*z", "axbxyybzcz", true},
		{"*x*y*z", "axbxyybzczw", false},
		// Only * and ? are special: not what path.Match has beside them, and "/" is a
		// character like others.
		{"[A]WS::S3::Bucket", "AWS::S3::Bucket", false},
		{"[A]", "[A]", true},
		{`A\*`, "A*", false},
		{"A*C", "A/B/C", true},
	} {
		if got := schema.MatchTarget(test.pattern, test.name); got != test.want {
			t.Errorf("MatchTarget(%q, %q) is %v", test.pattern, test.name, got)
		}
	}
}

// A target name that comes with a package cannot keep TestType busy.
func TestMatchTargetIsQuick(t *testing.T) {
	pattern := strings.Repeat("*a", 400) + "b"
	name := strings.Repeat("a", 2000)
	done := make(chan bool, 1)
	go func() { done <- schema.MatchTarget(pattern, name) }()
	select {
	case got := <-done:
		if got {
			t.Error("it matches")
		}
	case <-time.After(time.Minute):
		t.Fatal("the matcher does not come to an end")
	}
}

// FuzzMatchTarget compares with path.Match, where the two have the same rules.
func FuzzMatchTarget(f *testing.F) {
	f.Add("AWS::*::B?cket", "AWS::S3::Bucket")
	f.Add("*a*a*b", "aaab")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if strings.ContainsAny(pattern, `[]\/`) || strings.Contains(name, "/") || len(pattern) > 40 || len(name) > 40 {
			return
		}
		want, err := path.Match(pattern, name)
		if err != nil {
			return
		}
		if got := schema.MatchTarget(pattern, name); got != want {
			t.Errorf("MatchTarget(%q, %q) is %v", pattern, name, got)
		}
	})
}
