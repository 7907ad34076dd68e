package awslite

import (
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

func FuzzReferences(f *testing.F) {
	for _, seed := range []string{"id", "arn:aws:secretsmanager:r:a:secret:n:SecretString:k::"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parseSecretReference(text); err == nil && !strings.HasPrefix(text, p.id) {
			t.Errorf("%q gave %+v", text, p)
		}
		_, _, _ = splitParameter(awswire.Caller{Place: awswire.Place{Account: account, Region: region}}, text)
	})
}
