package local_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/formwork-dev/formwork/local"
)

// runAt runs a program with the services as its AWS, and gives its output.
func runAt(t *testing.T, url, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Dir = dir
	c.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+url, "AWS_ACCESS_KEY_ID="+account, "AWS_SECRET_ACCESS_KEY=secret", "AWS_REGION="+region, "AWS_DEFAULT_REGION="+region,
		"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_PAGER=", "AWS_EC2_METADATA_DISABLED=true")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestAWSCLI goes through what people type.
func TestAWSCLI(t *testing.T) {
	program(t, "aws", "--version")
	program(t, "curl", "--version")
	t.Parallel()
	url, dir := serving(t, local.ServerConfig{}).URL(), t.TempDir()
	big := make([]byte, 30<<20)
	rand.NewChaCha8([32]byte{}).Read(big)
	for name, content := range map[string][]byte{"big": big, "tree/one.txt": []byte("one.txt"), "tree/a b/two.txt": []byte("two"), "tree/a b/ü.txt": []byte("ü")} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	script := `set -e
aws s3 mb s3://cli-bucket
aws s3 cp big s3://cli-bucket/tree/big --no-progress &
aws s3 sync tree s3://cli-bucket/tree --no-progress
wait $!
aws s3 sync s3://cli-bucket/tree back --no-progress &
curl -sf "$(aws s3 presign s3://cli-bucket/tree/one.txt)"; echo
wait $!
cmp big back/big
rm back/big
diff -r tree back
aws s3 rb --force s3://cli-bucket
aws ssm put-parameter --name /cdk-bootstrap/hnb659fds/version --type String --value 21 --query Version
`
	out := runAt(t, url, dir, "sh", "-c", script)
	for _, want := range []string{"make_bucket: cli-bucket", "\none.txt\n", "delete: s3://cli-bucket/tree/a b/ü.txt", "remove_bucket: cli-bucket", "\n1\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

// TestBoto3 is the same for Python: the managed transfer, paginators and waiters.
func TestBoto3(t *testing.T) {
	program(t, "python3", "-c", "import boto3")
	t.Parallel()
	url, dir := serving(t, local.ServerConfig{}).URL(), t.TempDir()
	c := newClients(t, url)
	bucket := aws.String("boto-bucket")
	_, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: bucket, CreateBucketConfiguration: here})
	if err == nil {
		_, err = c.s3.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{Bucket: bucket, VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusEnabled}})
	}
	if err != nil {
		t.Fatal(err)
	}
	script := `
import boto3, io, json, time
from botocore.exceptions import ClientError
s3 = boto3.client("s3")
data = bytes(range(256)) * 40000
s3.upload_fileobj(io.BytesIO(data), "boto-bucket", "dir/big ü")
s3.get_waiter("object_exists").wait(Bucket="boto-bucket", Key="dir/big ü")
out = io.BytesIO(); s3.download_fileobj("boto-bucket", "dir/big ü", out)
assert out.getvalue() == data
s3.put_object(Bucket="boto-bucket", Key="small", Body=b"x", ChecksumAlgorithm="SHA256")
assert s3.get_object(Bucket="boto-bucket", Key="small", ChecksumMode="ENABLED")["Body"].read() == b"x"
keys = [o["Key"] for p in s3.get_paginator("list_objects_v2").paginate(Bucket="boto-bucket", PaginationConfig={"PageSize": 1}) for o in p["Contents"]]
assert keys == ["dir/big ü", "small"], keys
versions = [v["VersionId"] for p in s3.get_paginator("list_object_versions").paginate(Bucket="boto-bucket") for v in p["Versions"]]
assert len(versions) == 2
try:
    s3.get_object(Bucket="boto-bucket", Key="nope"); assert False
except s3.exceptions.NoSuchKey: pass
assert s3.get_bucket_encryption(Bucket="boto-bucket")["ServerSideEncryptionConfiguration"]["Rules"][0]["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"
sm = boto3.client("secretsmanager")
arn = sm.create_secret(Name="s", SecretString=json.dumps({"a": 1}))["ARN"]
assert json.loads(sm.get_secret_value(SecretId=arn)["SecretString"]) == {"a": 1}
try:
    sm.get_secret_value(SecretId="nope"); assert False
except sm.exceptions.ResourceNotFoundException: pass
ssm = boto3.client("ssm")
try:
    ssm.get_parameter(Name="nope"); assert False
except ssm.exceptions.ParameterNotFound: pass
logs = boto3.client("logs")
logs.create_log_group(logGroupName="g"); logs.create_log_stream(logGroupName="g", logStreamName="s")
logs.put_log_events(logGroupName="g", logStreamName="s", logEvents=[{"timestamp": int(time.time() * 1000), "message": "hello world"}])
assert [e["message"] for e in logs.filter_log_events(logGroupName="g", filterPattern="hello")["events"]] == ["hello world"]
sts = boto3.client("sts")
creds = sts.assume_role(RoleArn="arn:aws:iam::999999999999:role/r", RoleSessionName="me")["Credentials"]
other = boto3.client("sts", aws_access_key_id=creds["AccessKeyId"], aws_secret_access_key=creds["SecretAccessKey"], aws_session_token=creds["SessionToken"])
print(sts.get_caller_identity()["Arn"], other.get_caller_identity()["Arn"])
`
	out := runAt(t, url, dir, "python3", "-c", script)
	if want := "arn:aws:iam::" + account + ":root arn:aws:sts::999999999999:assumed-role/r/me\n"; out != want {
		t.Errorf("the output is %q, want %q", out, want)
	}
	object, err := c.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: aws.String("dir/big ü")})
	if err != nil {
		t.Fatal(err)
	}
	defer object.Body.Close()
	text, err := io.ReadAll(object.Body)
	if err != nil || !bytes.HasPrefix(text, []byte{0, 1, 2, 3}) || len(text) != 256*40000 {
		t.Errorf("Go reads another object than Python wrote: %v", err)
	}
}
