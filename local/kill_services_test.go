package local_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// A secretValue is the version of a secret that was answered last, with its value, and the value
// that was not answered.
type secretValue struct{ version, value, maybe string }

// otherClients are those of services with a client of their own.
func otherClients(url string) (*secretsmanager.Client, *cloudcontrol.Client) {
	who := credentials.NewStaticCredentialsProvider(account, "secret", "")
	return secretsmanager.New(secretsmanager.Options{BaseEndpoint: &url, Region: region, Credentials: who, Retryer: aws.NopRetryer{}}),
		cloudcontrol.New(cloudcontrol.Options{BaseEndpoint: &url, Region: region, Credentials: who, Retryer: aws.NopRetryer{}})
}

// putSecrets gives a secret one value after the other.
func (k *killing) putSecrets(ctx context.Context, round int) {
	client, _ := otherClients(k.server.url)
	name := fmt.Sprint("kill-", round)
	s := &secretValue{}
	for i := 0; ctx.Err() == nil; i++ {
		value := fmt.Sprintf("%d of %s", i, name)
		s.maybe = value
		var version *string
		var err error
		if i == 0 {
			var made *secretsmanager.CreateSecretOutput
			if made, err = client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: &name, SecretString: &value}); err == nil {
				version = made.VersionId
			}
		} else {
			var put *secretsmanager.PutSecretValueOutput
			if put, err = client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: &name, SecretString: &value}); err == nil {
				version = put.VersionId
			}
		}
		if err != nil {
			k.lost(ctx, "a secret", err)
			break
		}
		k.answered()
		s.version, s.value, s.maybe = aws.ToString(version), value, ""
	}
	k.mu.Lock()
	k.secrets[name] = s
	k.mu.Unlock()
}

// putResources requests one resource after the other of Cloud Control.
func (k *killing) putResources(ctx context.Context, round int) {
	_, client := otherClients(k.server.url)
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("/kill/control/%d/%d", round, i)
		out, err := client.CreateResource(ctx, &cloudcontrol.CreateResourceInput{TypeName: aws.String("AWS::SSM::Parameter"), ClientToken: aws.String(fmt.Sprintf("token-%d-%d", round, i)),
			DesiredState: aws.String(`{"Name": "` + name + `", "Type": "String", "Value": "made"}`)})
		if err != nil {
			k.lost(ctx, "CreateResource", err)
			return
		}
		k.answered()
		k.mu.Lock()
		k.resources[*out.ProgressEvent.RequestToken] = name
		k.mu.Unlock()
	}
}

// checkServices looks whether the secrets have the values that were answered, and whether the
// resources that were requested are made.
func (k *killing) checkServices() {
	secrets, control := otherClients(k.server.url)
	for name, s := range k.secrets {
		got, err := secrets.GetSecretValue(k.t.Context(), &secretsmanager.GetSecretValueInput{SecretId: &name})
		switch {
		case err != nil && codeOf(err) == "ResourceNotFoundException" && s.version == "":
		case err != nil:
			k.t.Errorf("secret %s: %v", name, err)
		case s.version == aws.ToString(got.VersionId) && s.value == aws.ToString(got.SecretString), s.maybe != "" && s.maybe == aws.ToString(got.SecretString):
		default:
			k.t.Errorf("secret %s is %q in version %s, want %q in version %s (or %q)", name, aws.ToString(got.SecretString), aws.ToString(got.VersionId), s.value, s.version, s.maybe)
		}
	}
	for token, name := range k.resources {
		eventually(k.t, 2*time.Minute, "the request for "+name, func() bool {
			out, err := control.GetResourceRequestStatus(k.t.Context(), &cloudcontrol.GetResourceRequestStatusInput{RequestToken: &token})
			if err != nil {
				k.t.Errorf("the request for %s: %v", name, err)
				return true
			}
			if status := out.ProgressEvent.OperationStatus; status == "FAILED" || status == "CANCEL_COMPLETE" {
				k.t.Errorf("the request for %s is %s: %s", name, status, aws.ToString(out.ProgressEvent.StatusMessage))
				return true
			}
			return out.ProgressEvent.OperationStatus == "SUCCESS"
		})
		if got, err := k.clients.ssm.GetParameter(k.t.Context(), &ssm.GetParameterInput{Name: &name}); err != nil || aws.ToString(got.Parameter.Value) != "made" {
			k.t.Errorf("%s, of a request that succeeded: %+v, %v", name, got, err)
		}
	}
	clear(k.secrets)
	clear(k.resources)
}
