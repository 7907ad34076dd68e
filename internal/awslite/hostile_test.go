package awslite

import (
	"github.com/formwork-dev/formwork/internal/awswire"
	"strings"
	"testing"
)

func FuzzReferences(f *testing.F) {
	for _, seed := range []string{"id", "arn:aws:secretsmanager:r:a:secret:n:SecretString:k::", `?a -"b c" d`, "{ $.a }"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parseSecretReference(text); err == nil && !strings.HasPrefix(text, p.id) {
			t.Errorf("%q gave %+v", text, p)
		}
		if p, err := parseFilter(text); err == nil {
			p.matches(text)
		}
		_, _, _ = splitParameter(awswire.Caller{Place: awswire.Place{Account: account, Region: region}}, text)
	})
}

func BenchmarkAppendLogs(b *testing.B) {
	s := onSQLite(b, Config{})
	for b.Loop() {
		ok(b, s.AppendLogs(b.Context(), home, "g", "s", []Line{{Text: "a line of output of a handler, of common length"}}))
	}
	ok(b, s.lines.flush(b.Context()))
}
