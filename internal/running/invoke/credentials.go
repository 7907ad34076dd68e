package invoke

import (
	"context"
	"encoding/json"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// Credentials are what a handler is given to call AWS with. All empty means none.
type Credentials struct {
	AccessKeyID     string `json:"accessKeyId"`
	SecretAccessKey string `json:"secretAccessKey"`
	SessionToken    string `json:"sessionToken"`
}

// MarshalJSON encodes an absent member as null. The library for Python demands all three
// members; the one for TypeScript hides the value of each in its log, which an empty string
// would match between all characters.
func (c Credentials) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]*string{
		"accessKeyId": given(c.AccessKeyID), "secretAccessKey": given(c.SecretAccessKey), "sessionToken": given(c.SessionToken),
	})
}

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// A Source returns credentials. It is called before every call of a handler, so that an
// operation of hours never runs on expired ones.
type Source interface {
	// Credentials returns credentials that hold for the length of a call. An error ends
	// the operation.
	Credentials(ctx context.Context) (Credentials, error)
}

// Static is a Source that always gives the same credentials.
type Static Credentials

// Credentials returns them.
func (s Static) Credentials(context.Context) (Credentials, error) { return Credentials(s), nil }

// Dummy are credentials that no service accepts, and emulators of AWS do.
// Handlers get them if no others are configured, so that they do not fall back on credentials
// that they find on the machine.
var Dummy = Static{AccessKeyID: lambda.DummyKeyID, SecretAccessKey: lambda.DummySecret, SessionToken: lambda.DummyToken}

// LocalSecret is the secret access key of clients of a server that does not check
// signatures. The access key is the number of their account.
const LocalSecret = lambda.DummySecret

// IsDummy reports whether a secret access key is one that everybody knows. Nothing that
// belongs to it is secret: hiding it would take words and account numbers out of texts.
func IsDummy(secretAccessKey string) bool {
	return secretAccessKey == LocalSecret || secretAccessKey == "test" // which clients of emulators set
}
