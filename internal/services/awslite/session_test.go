package awslite

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/seal"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestSession holds keys that the program gives itself to those of AssumeRole.
func TestSession(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	st, err := store.Open(t.Context(), store.Config{Dir: fixtures.TempDir(t), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	sealer, err := seal.New(make([]byte, seal.KeySize))
	ok(t, err)
	s, err := New(Config{Store: st, Sealer: sealer})
	ok(t, err)
	for name, test := range map[string]struct {
		of   SessionRequest
		arn  string
		last time.Duration
	}{
		"role":       {SessionRequest{Place: awswire.Place{Account: "111122223333", Region: "eu-west-1"}, Role: "arn:aws:iam::111122223333:role/path/Runner", Name: "Acme-Test", Length: 12 * time.Hour}, "arn:aws:sts::111122223333:assumed-role/Runner/Acme-Test", 12 * time.Hour},
		"no role":    {SessionRequest{Place: awswire.Place{Account: "111122223333", Region: "cn-north-1"}, Name: "Acme::Test"}, "arn:aws-cn:sts::111122223333:assumed-role/handler/Acme--Test", time.Hour},
		"other's":    {SessionRequest{Place: awswire.Place{Account: "111122223333", Region: "eu-west-1"}, Role: "arn:aws:iam::444455556666:role/R", Name: "n"}, "arn:aws:sts::111122223333:assumed-role/R/formwork", time.Hour},
		"no ARN":     {SessionRequest{Place: awswire.Place{Account: "111122223333", Region: "eu-west-1"}, Role: "R/../x", Name: "nn"}, "arn:aws:sts::111122223333:assumed-role/handler/nn", time.Hour},
		"a long one": {SessionRequest{Place: awswire.Place{Account: "111122223333", Region: "eu-west-1"}, Name: string(make([]byte, 100))}, "arn:aws:sts::111122223333:assumed-role/handler/" + "----------------------------------------------------------------", time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := s.Session(t.Context(), test.of)
			if err != nil {
				t.Fatal(err)
			}
			known, ok, err := s.Key(t.Context(), keys.AccessKeyID)
			if !ok || err != nil || known.Account != test.of.Account || known.Secret != keys.SecretAccessKey || known.SessionToken != keys.SessionToken || !known.Expires.Equal(keys.Expires) {
				t.Errorf("the key is known as %v (%v)", known, ok)
			}
			if !keys.CanExpire || !keys.Expires.Equal(now.Add(test.last)) {
				t.Errorf("the keys expire at %s", keys.Expires)
			}
			who, err := s.getCallerIdentity(t.Context(), awswire.Caller{Place: awswire.Place{Account: known.Account}, ARN: known.ARN, UserID: known.UserID}, &sts.GetCallerIdentityInput{})
			if err != nil || *who.Arn != test.arn || *who.Account != test.of.Account {
				t.Errorf("the identity is %v, %v", who, err)
			}
		})
	}
}
