package awslite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// stsTable is STS. Roles are not stored, so any role can be assumed, in any account unless
// Config.IsolateAccounts is set: the result is keys of the role's account, until they expire.
func (s *Services) stsTable() *awswire.Table {
	return &awswire.Table{
		Service: "sts", Protocol: awswire.Query, Namespace: "https://sts.amazonaws.com/doc/2011-06-15/", Version: "2011-06-15", Logger: s.log,
		Operations: []awswire.Operation{
			awswire.TextOp("AssumeRole", s.assumeRole),
			awswire.TextOp("GetAccessKeyInfo", s.getAccessKeyInfo),
			awswire.TextOp("GetCallerIdentity", s.getCallerIdentity),
			awswire.TextOp("GetSessionToken", s.getSessionToken),
		},
		Known: strings.Fields(`AssumeRoleWithSAML AssumeRoleWithWebIdentity AssumeRoot DecodeAuthorizationMessage
			GetDelegatedAccessToken GetFederationToken GetWebIdentityToken`),
		Constraints: map[string][]awswire.Constraint{
			"AssumeRole": {
				{Member: "RoleArn", Required: true, MinLength: 20, MaxLength: 2048},
				{Member: "RoleSessionName", Required: true, MinLength: 2, MaxLength: 64, Pattern: `[\w+=,.@-]*`},
				{Member: "DurationSeconds", Min: number(900), Max: number(43200)},
				{Member: "ExternalId", MinLength: 2, MaxLength: 1224},
			},
			"GetSessionToken":  {{Member: "DurationSeconds", Min: number(900), Max: number(129600)}},
			"GetAccessKeyInfo": {{Member: "AccessKeyId", Required: true, MinLength: 16, MaxLength: 128, Pattern: `[\w]*`}},
		},
	}
}

func number(n int64) *int64 { return &n }

// A sessionRow is a temporary key. Sealed is its secret and its token.
type sessionRow struct {
	store.Row `db:"sts_sessions"`
	AccessKey string     `db:"access_key,pk"`
	Account   string     `db:"account"`
	ARN       string     `db:"arn"`
	UserID    string     `db:"user_id"`
	Sealed    string     `db:"sealed"`
	ExpiresAt store.Time `db:"expires_at"`
}

type sessionSecret struct{ Secret, Token string }

// isTemporary reports by its form whether an access key belongs to a session.
func isTemporary(accessKey string) bool {
	return len(accessKey) == 20 && strings.HasPrefix(accessKey, "ASIA")
}

func (s *Services) sessionNamed(ctx context.Context, accessKey string) (*sessionRow, error) {
	if !isTemporary(accessKey) {
		return nil, nil
	}
	row := &sessionRow{}
	err := store.Get(ctx, s.store.Read(), row, "WHERE access_key = ?", accessKey)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the session: %w", err)
	}
	return row, nil
}

// Key is the temporary key with an id, for awswire.Verifier; false where none was given
// out under it, an error where that cannot be known now. Keys that have expired are known
// for a while, so that they are refused as such. It can be called without a Verifier too,
// for the account.
func (s *Services) Key(ctx context.Context, accessKeyID string) (awswire.Key, bool, error) {
	row, err := s.sessionNamed(ctx, accessKeyID)
	if row == nil || err != nil {
		return awswire.Key{}, false, err
	}
	text, err := s.sealer.Open("session/"+row.AccessKey, row.Sealed)
	var secret sessionSecret
	if err == nil {
		err = json.Unmarshal([]byte(text), &secret)
	}
	if err != nil {
		return awswire.Key{}, false, fmt.Errorf("open a temporary key: %w", err)
	}
	return awswire.Key{
		Secret: secret.Secret, Account: row.Account, SessionToken: secret.Token, Expires: row.ExpiresAt.Time, ARN: row.ARN, UserID: row.UserID,
	}, true, nil
}

// startSession gives out a temporary key.
func (s *Services) startSession(ctx context.Context, account, arn, userID string, length time.Duration) (*ststypes.Credentials, error) {
	random := make([]byte, 10+30+180)
	rand.Read(random)
	id := "ASIA" + base32.StdEncoding.EncodeToString(random[:10])
	secret := sessionSecret{base64.StdEncoding.EncodeToString(random[10:40]), base64.StdEncoding.EncodeToString(random[40:])}
	text, err := json.Marshal(secret)
	if err != nil {
		return nil, err
	}
	now := s.now()
	row := &sessionRow{AccessKey: id, Account: account, ARN: arn, UserID: userID, Sealed: s.sealer.Seal("session/"+id, string(text)), ExpiresAt: store.At(now.Add(length))}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := store.Insert(ctx, tx, row); err != nil {
			return err
		}
		return forgetSessions(ctx, tx, s.now().Time)
	})
	if err != nil {
		return nil, fmt.Errorf("starting a session: %w", err)
	}
	expires := row.ExpiresAt.Truncate(time.Second)
	return &ststypes.Credentials{AccessKeyId: &id, SecretAccessKey: &secret.Secret, SessionToken: &secret.Token, Expiration: &expires}, nil
}

// forgetSessions deletes keys that expired long ago.
func forgetSessions(ctx context.Context, tx *store.Tx, now time.Time) error {
	if _, err := store.Exec(ctx, tx, "DELETE FROM sts_sessions WHERE expires_at < ?", store.At(now.Add(-24*time.Hour))); err != nil {
		return fmt.Errorf("forgetting sessions: %w", err)
	}
	return nil
}

var roleARN = lazyregexp.New(`^arn:(aws(?:-[a-z]+)*):iam::(\d{12}):role/(?:[\x21-\x7e]+/)?([\w+=,.@-]{1,64})$`)

func (s *Services) assumeRole(ctx context.Context, caller awswire.Caller, in *sts.AssumeRoleInput) (*sts.AssumeRoleOutput, error) {
	m := roleARN.FindStringSubmatch(*in.RoleArn)
	if m == nil {
		return nil, awswire.ValidationErrorf("%s is invalid", words.Cut(*in.RoleArn, 200))
	}
	if m[1] != caller.Partition() {
		return nil, awswire.ValidationErrorf("%s is of the partition %s, and the region %s is of %s", *in.RoleArn, m[1], caller.Region, caller.Partition())
	}
	if in.SerialNumber != nil || in.TokenCode != nil {
		return nil, awswire.NotOffered("Multi-factor authentication")
	}
	account, role, session := m[2], m[3], *in.RoleSessionName
	if s.config.IsolateAccounts && account != caller.Account {
		return nil, awswire.Errorf("AccessDenied", http.StatusForbidden, "User: arn:%s:iam::%s:root is not authorized to perform: sts:AssumeRole on resource: %s", m[1], caller.Account, *in.RoleArn)
	}
	length := time.Hour
	if in.DurationSeconds != nil {
		length = time.Duration(*in.DurationSeconds) * time.Second
	}
	id := roleID(account, role) + ":" + session
	arn := fmt.Sprintf("arn:%s:sts::%s:assumed-role/%s/%s", m[1], account, role, session)
	credentials, err := s.startSession(ctx, account, arn, id, length)
	if err != nil {
		return nil, err
	}
	return &sts.AssumeRoleOutput{
		AssumedRoleUser: &ststypes.AssumedRoleUser{Arn: &arn, AssumedRoleId: &id},
		Credentials:     credentials,
		SourceIdentity:  in.SourceIdentity,
	}, nil
}

func (s *Services) getSessionToken(ctx context.Context, caller awswire.Caller, in *sts.GetSessionTokenInput) (*sts.GetSessionTokenOutput, error) {
	if isTemporary(caller.AccessKeyID) { // whose keys would never end
		return nil, awswire.Errorf("AccessDenied", http.StatusForbidden, "Cannot call GetSessionToken with session credentials")
	}
	if in.SerialNumber != nil || in.TokenCode != nil {
		return nil, awswire.NotOffered("Multi-factor authentication")
	}
	who := identity(caller)
	length := 12 * time.Hour
	if in.DurationSeconds != nil {
		length = time.Duration(*in.DurationSeconds) * time.Second
	}
	credentials, err := s.startSession(ctx, caller.Account, *who.Arn, *who.UserId, length)
	if err != nil {
		return nil, err
	}
	return &sts.GetSessionTokenOutput{Credentials: credentials}, nil
}

func (s *Services) getCallerIdentity(_ context.Context, caller awswire.Caller, _ *sts.GetCallerIdentityInput) (*sts.GetCallerIdentityOutput, error) {
	return identity(caller), nil
}

// identity is who calls: the session of a temporary key, or else the root of the account.
func identity(caller awswire.Caller) *sts.GetCallerIdentityOutput {
	if caller.ARN != "" {
		return &sts.GetCallerIdentityOutput{Account: &caller.Account, Arn: &caller.ARN, UserId: &caller.UserID}
	}
	arn := fmt.Sprintf("arn:%s:iam::%s:root", caller.Partition(), caller.Account)
	return &sts.GetCallerIdentityOutput{Account: &caller.Account, Arn: &arn, UserId: &caller.Account}
}

var twelveDigits = lazyregexp.New(`^\d{12}$`)

// getAccessKeyInfo returns the account that requests with a key are those of.
func (s *Services) getAccessKeyInfo(ctx context.Context, _ awswire.Caller, in *sts.GetAccessKeyInfoInput) (*sts.GetAccessKeyInfoOutput, error) {
	row, err := s.sessionNamed(ctx, *in.AccessKeyId)
	if err != nil {
		return nil, err
	}
	account := s.config.Account
	switch key, known := s.config.Keys[*in.AccessKeyId]; {
	case known:
		account = key.Account
	case row != nil:
		account = row.Account
	case s.config.Keys != nil:
		return nil, awswire.ValidationErrorf("The access key %s does not exist", *in.AccessKeyId)
	case twelveDigits.MatchString(*in.AccessKeyId):
		account = *in.AccessKeyId
	}
	return &sts.GetAccessKeyInfoOutput{Account: &account}, nil
}
