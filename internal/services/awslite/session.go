package awslite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A SessionRequest says whose keys Session returns.
type SessionRequest struct {
	awswire.Place

	// Role is the ARN of a role, whose name is in the ARN of the session. Empty, or what is
	// no ARN of a role, means the role "handler". The keys are those of Account, whatever
	// account the ARN of the role names.
	Role string

	// Name of the session. Characters that a name cannot have become "-".
	Name string

	// Length is how long the keys are good for. Zero means an hour.
	Length time.Duration
}

// Session gives out temporary keys to a part of the program itself, such as the one that
// runs handlers. They are as good as those of AssumeRole, and say when they expire.
func (s *Services) Session(ctx context.Context, of SessionRequest) (aws.Credentials, error) {
	role := "handler"
	if m := roleARN.FindStringSubmatch(of.Role); m != nil {
		role = m[3]
	}
	name := notInSession.ReplaceAllString(of.Name, "-")
	if len(name) < 2 {
		name = "formwork"
	}
	name = name[:min(len(name), 64)]
	if of.Length == 0 {
		of.Length = time.Hour
	}
	arn := fmt.Sprintf("arn:%s:sts::%s:assumed-role/%s/%s", awswire.PartitionOf(of.Region), of.Account, role, name)
	keys, err := s.startSession(ctx, of.Account, arn, roleID(of.Account, role)+":"+name, of.Length)
	if err != nil {
		return aws.Credentials{}, err
	}
	return aws.Credentials{
		AccessKeyID: *keys.AccessKeyId, SecretAccessKey: *keys.SecretAccessKey, SessionToken: *keys.SessionToken,
		AccountID: of.Account, Source: "formwork", CanExpire: true, Expires: *keys.Expiration,
	}, nil
}

var notInSession = lazyregexp.New(`[^\w+=,.@-]`)

// roleID is the unique id of a role: the same each time, as on AWS.
func roleID(account, role string) string {
	return "AROA" + strings.ToUpper(sha256Hex(account + "/" + role))[:17]
}

// sha256Hex is the SHA-256 of a text, in hex.
func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
