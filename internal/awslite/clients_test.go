package awslite

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// tool is the path of a program that a test needs. Without it the test is skipped, and
// fails under CI=true.
func tool(t *testing.T, check ...string) {
	t.Helper()
	if out, err := exec.Command(check[0], check[1:]...).CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s: %v: %s", strings.Join(check, " "), err, out)
		}
		t.Skipf("skipped: %s does not work here: %v", strings.Join(check, " "), err)
	}
}

// run runs a program with the services as its AWS, and gives its output.
func (b *bench) run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Dir = dir
	c.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+b.url, "AWS_ACCESS_KEY_ID="+account, "AWS_SECRET_ACCESS_KEY=secret", "AWS_REGION="+region, "AWS_DEFAULT_REGION="+region,
		"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_PAGER=", "AWS_EC2_METADATA_DISABLED=true")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestAWSCLI goes through what people type.
func TestAWSCLI(t *testing.T) {
	tool(t, "aws", "--version")
	tool(t, "curl", "--version")
	t.Parallel()
	b, dir := onSQLite(t, Config{}), t.TempDir()
	big := noise(30 << 20)
	ok(t, os.WriteFile(filepath.Join(dir, "big"), big, 0o600))
	ok(t, os.MkdirAll(filepath.Join(dir, "tree", "a b"), 0o700))
	for _, name := range []string{"one.txt", "a b/two.txt", "a b/ü.txt"} {
		ok(t, os.WriteFile(filepath.Join(dir, "tree", name), []byte(name), 0o600))
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
	out := b.run(t, dir, "sh", "-c", script)
	for _, want := range []string{"make_bucket: cli-bucket", "\none.txt\n", "delete: s3://cli-bucket/tree/a b/ü.txt", "remove_bucket: cli-bucket", "\n1\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

// TestBoto3 is the same for Python: the managed transfer, paginators and waiters.
func TestBoto3(t *testing.T) {
	tool(t, "python3", "-c", "import boto3")
	t.Parallel()
	b, dir := onSQLite(t, Config{}), t.TempDir()
	makeBucket(t, b.s3(account), "boto-bucket", true)
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
	out := b.run(t, dir, "python3", "-c", script)
	equal(t, "output", out, "arn:aws:iam::123456789012:root arn:aws:sts::999999999999:assumed-role/r/me\n")
	text, _ := get(t, b.s3(account), &s3.GetObjectInput{Bucket: aws.String("boto-bucket"), Key: aws.String("dir/big ü")})
	if !bytes.HasPrefix([]byte(text), []byte{0, 1, 2, 3}) || len(text) != 256*40000 {
		t.Error("Go reads another object than Python wrote")
	}
}
