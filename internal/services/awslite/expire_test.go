package awslite

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

func TestExpireSessions(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		old, err := b.Session(ctx, SessionRequest{Place: awswire.Place{Account: account, Region: region}, Length: time.Hour})
		ok(t, err)
		b.advance(24 * time.Hour)
		late, err := b.Session(ctx, SessionRequest{Place: awswire.Place{Account: account, Region: region}, Length: time.Hour})
		ok(t, err)
		count := func() int64 {
			n, err := store.Count(ctx, b.store.Read(), "FROM sts_sessions")
			ok(t, err)
			return n
		}
		ok(t, b.Expire(ctx, b.now().Time))
		equal(t, "sessions after one that ended today expired", count(), int64(2))
		b.advance(2 * time.Hour)
		ok(t, b.Expire(ctx, b.now().Time))
		equal(t, "sessions after one that ended yesterday expired", count(), int64(1))
		for id, want := range map[string]bool{old.AccessKeyID: false, late.AccessKeyID: true} {
			_, found, err := b.Key(ctx, id)
			ok(t, err)
			equal(t, "known", found, want)
		}
	})
}

// TestSessionsDoNotRenewThemselves: temporary keys end.
func TestSessionsDoNotRenewThemselves(t *testing.T) {
	b := onSQLite(t, Config{})
	c := sts.NewFromConfig(b.config(account))
	first, err := c.GetSessionToken(t.Context(), &sts.GetSessionTokenInput{})
	ok(t, err)
	role, err := c.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String("arn:aws:iam::" + account + ":role/r"), RoleSessionName: aws.String("me")})
	ok(t, err)
	handler, err := b.Session(t.Context(), SessionRequest{Place: awswire.Place{Account: account, Region: region}})
	ok(t, err)
	for _, keys := range [][3]string{
		{*first.Credentials.AccessKeyId, *first.Credentials.SecretAccessKey, *first.Credentials.SessionToken},
		{*role.Credentials.AccessKeyId, *role.Credentials.SecretAccessKey, *role.Credentials.SessionToken},
		{handler.AccessKeyID, handler.SecretAccessKey, handler.SessionToken},
	} {
		config := b.config("")
		config.Credentials = credentials.NewStaticCredentialsProvider(keys[0], keys[1], keys[2])
		_, err := sts.NewFromConfig(config).GetSessionToken(t.Context(), &sts.GetSessionTokenInput{})
		wantCode(t, err, "AccessDenied")
		if err == nil || !strings.Contains(err.Error(), "StatusCode: 403") || !strings.Contains(err.Error(), "Cannot call GetSessionToken with session credentials") {
			t.Errorf("the refusal is %v", err)
		}
	}
}
