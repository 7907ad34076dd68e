package local_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/formwork-dev/formwork/local"
)

// spyVar makes the test binary the handler of the type Acme::Spy::Thing. Its value is a file
// that the handler adds a line of JSON to for each start and each call.
const spyVar = "TEST_LOCAL_SPY"

func init() {
	if file := os.Getenv(spyVar); file != "" {
		awslambda.Start(func(ctx context.Context, event spyEvent) (any, error) { return spyOn(ctx, file, event) })
	}
}

// spied is what the handler has seen.
type spied struct {
	Start, Action  string // one of the two
	Endpoint       string
	Own, Callers   string // who it is by its environment, and by the credentials of the call
	Before, Report string // errors of RecordHandlerProgress, "" for none
}

type spyEvent struct {
	Action      string
	BearerToken string
	RequestData struct {
		ResourceProperties map[string]any
		CallerCredentials  struct{ AccessKeyId, SecretAccessKey, SessionToken string }
	}
}

// spyOn is a call of the handler. Its property Do says more: "progress" reports and ends,
// "wait" ends in progress, "sleep" takes three seconds. As long as there is the file of hangs,
// every call takes an hour.
func spyOn(ctx context.Context, file string, event spyEvent) (any, error) {
	given := event.RequestData.CallerCredentials
	seen := spied{Action: event.Action, Endpoint: os.Getenv("AWS_ENDPOINT_URL")}
	do, _ := event.RequestData.ResourceProperties["Do"].(string)
	who := func(id, secret, token string) string {
		client := sts.New(sts.Options{Region: os.Getenv("AWS_REGION"), BaseEndpoint: &seen.Endpoint, Credentials: credentials.NewStaticCredentialsProvider(id, secret, token)})
		out, err := client.GetCallerIdentity(ctx, nil)
		if err != nil {
			return err.Error()
		}
		return *out.Arn
	}
	id, secret, token := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")
	seen.Own = who(id, secret, token)
	if given.AccessKeyId != "" {
		seen.Callers = who(given.AccessKeyId, given.SecretAccessKey, given.SessionToken)
	}
	if _, err := os.Stat(file + hangs); err == nil {
		note(file, spied{Action: "hanging", Endpoint: seen.Endpoint})
		time.Sleep(time.Hour)
	}
	reply := map[string]any{"status": "SUCCESS", "resourceModel": event.RequestData.ResourceProperties}
	switch do {
	case "progress", "wait":
		client := cloudformation.New(cloudformation.Options{Region: os.Getenv("AWS_REGION"), BaseEndpoint: &seen.Endpoint, Credentials: credentials.NewStaticCredentialsProvider(id, secret, token)})
		_, err := client.RecordHandlerProgress(ctx, &cloudformation.RecordHandlerProgressInput{
			BearerToken: &event.BearerToken, OperationStatus: cfntypes.OperationStatusInProgress, StatusMessage: aws.String("half way"),
		})
		seen.Report = fmt.Sprint(err)
		if do == "wait" {
			reply["status"], reply["callbackDelaySeconds"] = "IN_PROGRESS", 1
		}
	case "sleep":
		note(file, spied{Action: "sleeping", Endpoint: seen.Endpoint})
		time.Sleep(3 * time.Second)
	}
	note(file, seen)
	return reply, remember(file, event, reply)
}

// remember keeps which things were made, in files beside that of the notes. A READ of another
// one finds nothing.
func remember(file string, event spyEvent, reply map[string]any) error {
	made := file + fmt.Sprint(".made-", event.RequestData.ResourceProperties["Name"])
	switch {
	case event.Action == "CREATE" && reply["status"] == "SUCCESS":
		return os.WriteFile(made, nil, 0o600)
	case event.Action == "DELETE":
		_ = os.Remove(made)
		delete(reply, "resourceModel")
	case event.Action == "READ":
		if _, err := os.Stat(made); err != nil {
			reply["status"], reply["errorCode"], reply["message"] = "FAILED", "NotFound", "not found"
			delete(reply, "resourceModel")
		}
	}
	return nil
}

// hangs is appended to the name of the file of notes.
const hangs = ".hangs"

func note(file string, seen spied) {
	line, err := json.Marshal(seen)
	if err != nil {
		panic(err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

// notes are the lines that a handler has written so far.
func notes(t testing.TB, file string) (seen []spied) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var s spied
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, s)
	}
	return seen
}

// spyPackage is the package of Acme::Spy::Thing, whose handler takes so many seconds to start.
func spyPackage(t testing.TB, file, properties string, slow int) []byte {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: a handler that is a script of sh")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\necho '{\"Start\": \"start\", \"Endpoint\": \"'$AWS_ENDPOINT_URL'\"}' >>'%s'\nsleep %d\n%s='%s' exec '%s'\n", file, slow, spyVar, file, self)
	if properties == "" {
		properties = `"Do": {"type": "string"}`
	}
	return zipped(t,
		entry{name: ".rpdk-config", data: []byte(`{"artifact_type": "RESOURCE", "typeName": "Acme::Spy::Thing", "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0"}}`)},
		entry{name: "schema.json", data: []byte(`{"typeName": "Acme::Spy::Thing", "description": "A thing", "additionalProperties": false,
			"properties": {"Name": {"type": "string", "pattern": "^[a-z]{4}$"}, ` + properties + `}, "required": ["Name"],
			"primaryIdentifier": ["/properties/Name"], "createOnlyProperties": ["/properties/Name"], "tagging": {"taggable": false},
			"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}}}`)},
		entry{name: "ResourceProvider.zip", data: zipped(t, entry{name: "bootstrap", data: []byte(script)})},
	)
}

// registerSpy registers the type with a role, through any server of several.
func registerSpy(t testing.TB, c clients, data []byte) (token string) {
	t.Helper()
	const bucket = "spies"
	if _, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket), CreateBucketConfiguration: here}); err != nil && codeOf(err) != "BucketAlreadyOwnedByYou" {
		t.Fatal(err)
	}
	if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("spy.zip"), Body: bytes.NewReader(data)}); err != nil {
		t.Fatal(err)
	}
	out, err := c.RegisterType(t.Context(), &cloudformation.RegisterTypeInput{
		Type: cfntypes.RegistryTypeResource, TypeName: aws.String(spyType), SchemaHandlerPackage: aws.String("s3://" + bucket + "/spy.zip"),
		ExecutionRoleArn: aws.String("arn:aws:iam::" + account + ":role/Runner"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *out.RegistrationToken
}

const spyType = "Acme::Spy::Thing"

// registered waits for the end of a registration.
func registered(t testing.TB, c clients, token string, patience time.Duration) {
	t.Helper()
	eventually(t, patience, "the registration", func() bool {
		out, err := c.DescribeTypeRegistration(t.Context(), &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &token})
		if err == nil && out.ProgressStatus == cfntypes.RegistrationStatusFailed {
			t.Fatalf("the registration has failed: %s", aws.ToString(out.Description))
		}
		return err == nil && out.ProgressStatus == cfntypes.RegistrationStatusComplete
	})
}

// tested waits for the end of the tests of the first version.
func tested(t testing.TB, c clients, patience time.Duration) {
	t.Helper()
	eventually(t, patience, "the tests", func() bool {
		out, err := c.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: cfntypes.RegistryTypeResource, TypeName: aws.String(spyType), VersionId: aws.String("00000001")})
		return err == nil && (out.TypeTestsStatus == cfntypes.TypeTestsStatusFailed || out.TypeTestsStatus == cfntypes.TypeTestsStatusPassed)
	})
}

// invokeSpy calls the handler through Lambda Invoke.
func invokeSpy(t testing.TB, c clients, payload string) string {
	t.Helper()
	out, err := c.lambda.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("Acme-Spy-Thing"), Payload: []byte(payload), InvocationType: lambdatypes.InvocationTypeRequestResponse})
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Payload)
}

// serving is a server that listens until the test ends.
func serving(t testing.TB, config local.ServerConfig) *local.Server {
	t.Helper()
	if config.Address == "" {
		config.Address = "127.0.0.1:0"
	}
	server, err := local.Listen(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server
}

const (
	keyID  = "AKIDEXAMPLE1"
	secret = "a-secret-of-this-test"
)

// keyFile is of the account that clients of these tests have.
var keyFile = []byte("# a key\n" + keyID + " " + secret + " " + account + "\n")

// keyedClients sign with a key.
func keyedClients(t testing.TB, url, id, secret string) clients {
	c := newClients(t, url)
	who := credentials.NewStaticCredentialsProvider(id, secret, "")
	c.Client = cloudformation.New(c.Client.Options(), func(o *cloudformation.Options) { o.Credentials = who })
	c.s3 = s3.New(c.s3.Options(), func(o *s3.Options) { o.Credentials = who })
	c.lambda = lambda.New(c.lambda.Options(), func(o *lambda.Options) { o.Credentials = who })
	return c
}

// TestSignatures sends every kind of signature, made with the right and with a wrong
// secret, to a server that checks them.
func TestSignatures(t *testing.T) {
	url := serving(t, local.ServerConfig{Config: local.Config{Keys: keyFile}}).URL()
	bucket := aws.String("signed")
	right := keyedClients(t, url, keyID, secret)
	if _, err := right.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: bucket, CreateBucketConfiguration: here}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, id, secret string
		want             string // "" for accepted
	}{
		{"right", keyID, secret, ""},
		{"wrong secret", keyID, "another", "SignatureDoesNotMatch"},
		{"unknown key", account, secret, "InvalidClientTokenId"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := keyedClients(t, url, test.id, test.secret)
			wantS3 := strings.Replace(test.want, "InvalidClientTokenId", "InvalidAccessKeyId", 1)
			check := func(what, want string, err error) {
				t.Helper()
				if code := codeOf(err); err != nil && code == "" || code != want {
					t.Errorf("%s: %v, want %q", what, err, want)
				}
			}
			_, err := c.ListTypes(t.Context(), &cloudformation.ListTypesInput{})
			check("ListTypes", test.want, err)
			key := aws.String(test.name + "/put")
			_, err = c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: key, Body: strings.NewReader("body")})
			check("PutObject", wantS3, err)
			_, err = c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: key, Body: strings.NewReader("body")},
				s3.WithAPIOptions(v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware))
			check("PutObject, unsigned body", wantS3, err)
			for what, code := range map[string]string{
				"presigned PUT": presigned(t, c, bucket, test.name+"/presigned"),
				"signed chunks": chunked(t, url, test.id, test.secret, test.name+"/chunked", false),
				"forged chunk":  chunked(t, url, test.id, test.secret, test.name+"/forged", true),
			} {
				want := wantS3
				if what == "forged chunk" && want == "" {
					want = "SignatureDoesNotMatch"
				}
				if code != want {
					t.Errorf("%s: %q, want %q", what, code, want)
				}
			}
			list, err := right.s3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: bucket, Prefix: aws.String(test.name)})
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{true: 3, false: 0}[test.want == ""]; len(list.Contents) != want {
				t.Errorf("%d objects were written, want %d", len(list.Contents), want)
			}
		})
	}
	response, err := http.Post(url, "application/x-www-form-urlencoded", strings.NewReader("Action=ListTypes&Version=2010-05-15"))
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(response.Body); response.StatusCode != 403 || !strings.Contains(string(body), "<Code>MissingAuthenticationToken</Code>") {
		t.Errorf("not signed: %s %s", response.Status, body)
	}
}

// presigned writes an object by a presigned URL, and returns the code of a refusal.
func presigned(t *testing.T, c clients, bucket *string, key string) string {
	t.Helper()
	signed, err := s3.NewPresignClient(c.s3).PresignPutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, signed.URL, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	return refusal(t, request)
}

// chunked writes an object in chunks that each have a signature, the last of which may be
// forged.
func chunked(t *testing.T, url, id, secret, key string, forge bool) string {
	t.Helper()
	now := time.Now().UTC()
	chunks := [][]byte{bytes.Repeat([]byte("x"), 64<<10), []byte("the rest"), nil}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url+"/signed/"+key, nil)
	if err != nil {
		t.Fatal(err)
	}
	const payload = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	request.Header.Set("Content-Encoding", "aws-chunked")
	request.Header.Set("X-Amz-Content-Sha256", payload)
	request.Header.Set("X-Amz-Decoded-Content-Length", fmt.Sprint(64<<10+8))
	if err := v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}, request, payload, "s3", region, now); err != nil {
		t.Fatal(err)
	}
	_, previous, _ := strings.Cut(request.Header.Get("Authorization"), "Signature=")
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	hash := func(data []byte) string { sum := sha256.Sum256(data); return hex.EncodeToString(sum[:]) }
	day, scope := now.Format("20060102"), now.Format("20060102")+"/"+region+"/s3/aws4_request"
	signing := mac(mac(mac(mac([]byte("AWS4"+secret), day), region), "s3"), "aws4_request")
	var body bytes.Buffer
	for i, chunk := range chunks {
		previous = hex.EncodeToString(mac(signing, strings.Join([]string{"AWS4-HMAC-SHA256-PAYLOAD", now.Format("20060102T150405Z"), scope, previous, hash(nil), hash(chunk)}, "\n")))
		if forge && i == 1 {
			chunk = []byte("the Rest")
		}
		fmt.Fprintf(&body, "%x;chunk-signature=%s\r\n%s\r\n", len(chunk), previous, chunk)
	}
	request.Body, request.ContentLength = io.NopCloser(&body), int64(body.Len())
	return refusal(t, request)
}

// refusal sends a request to S3 and returns the code of its refusal.
func refusal(t *testing.T, request *http.Request) string {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode == http.StatusOK {
		return ""
	}
	_, code, _ := strings.Cut(string(body), "<Code>")
	code, _, _ = strings.Cut(code, "</Code>")
	if code == "" {
		return response.Status
	}
	return code
}

// TestSignaturesOfTheCLI has the AWS CLI work with a server that checks signatures.
func TestSignaturesOfTheCLI(t *testing.T) {
	program(t, "aws", "--version")
	url := serving(t, local.ServerConfig{Config: local.Config{Keys: keyFile}}).URL()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "large"), bytes.Repeat([]byte("0123456789abcdef"), 9<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(secret string, args ...string) (string, error) {
		cmd := exec.Command("aws", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+url, "AWS_ACCESS_KEY_ID="+keyID, "AWS_SECRET_ACCESS_KEY="+secret, "AWS_SESSION_TOKEN=",
			"AWS_REGION="+region, "AWS_DEFAULT_REGION="+region, "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_PAGER=", "AWS_MAX_ATTEMPTS=1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("wrong", "cloudformation", "list-types"); err == nil || !strings.Contains(out, "(SignatureDoesNotMatch)") {
		t.Errorf("with a wrong secret: %s %v", out, err)
	}
	if out, err := run("wrong", "s3", "mb", "s3://cli"); err == nil || !strings.Contains(out, "SignatureDoesNotMatch") {
		t.Errorf("with a wrong secret: %s %v", out, err)
	}
	for _, args := range [][]string{
		{"cloudformation", "list-types"},
		{"s3", "mb", "s3://cli"},
		{"s3", "cp", "large", "s3://cli/large"}, // in parts
		{"s3", "cp", "s3://cli/large", "again"},
	} {
		if out, err := run(secret, args...); err != nil {
			t.Fatalf("aws %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	out, err := run(secret, "s3", "presign", "s3://cli/large")
	if err != nil {
		t.Fatal(out)
	}
	response, err := http.Get(strings.TrimSpace(out))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, _ := io.ReadAll(response.Body)
	if want, _ := os.ReadFile(filepath.Join(dir, "again")); response.StatusCode != 200 || len(got) != 9<<20 || !bytes.Equal(got, want) {
		t.Errorf("the presigned URL answers %s with %d bytes", response.Status, len(got))
	}
}

// TestHandlerCredentials looks at who a handler is for the server, in its environment and by
// the credentials of a test.
func TestHandlerCredentials(t *testing.T) {
	for _, test := range []struct {
		name         string
		keys         []byte
		own, callers string
	}{
		{"checked", keyFile, "arn:aws:sts::" + account + ":assumed-role/Runner/Acme-Spy-Thing", "arn:aws:sts::" + account + ":assumed-role/Runner/AWSCloudFormation"},
		{"unchecked", nil, "arn:aws:iam::" + account + ":root", "arn:aws:iam::" + account + ":root"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url := serving(t, local.ServerConfig{Config: local.Config{Keys: test.keys}}).URL()
			c := newClients(t, url)
			if test.keys != nil {
				c = keyedClients(t, url, keyID, secret)
			}
			file := filepath.Join(t.TempDir(), "notes")
			registered(t, c, registerSpy(t, c, spyPackage(t, file, "", 0)), 30*time.Second)
			if _, err := c.TestType(t.Context(), &cloudformation.TestTypeInput{Type: cfntypes.ThirdPartyTypeResource, TypeName: aws.String(spyType)}); err != nil {
				t.Fatal(err)
			}
			tested(t, c, 60*time.Second)
			calls := 0
			for _, seen := range notes(t, file) {
				if seen.Action == "" {
					continue
				}
				calls++
				if seen.Own != test.own || seen.Callers != test.callers {
					t.Fatalf("the handler is %q, and for its caller %q", seen.Own, seen.Callers)
				}
			}
			if calls == 0 {
				t.Error("the tests have not called the handler")
			}
		})
	}
}

// outside is an address of this machine that is not loopback.
func outside(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if ip, ok := address.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			return ip.IP.String()
		}
	}
	t.Skip("skipped: this machine has no address but loopback's")
	return ""
}

// TestExposed reaches a server from where other machines would.
func TestExposed(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
		var exposed *local.ExposedError
		if _, err := local.Listen(t.Context(), local.ServerConfig{Address: address}); !errors.As(err, &exposed) || exposed.Address != address {
			t.Errorf("%s without keys: %v", address, err)
		}
		if _, err := local.Listen(t.Context(), local.ServerConfig{Address: "127.0.0.1:0", LambdaAddress: address}); !errors.As(err, &exposed) {
			t.Errorf("functions at %s without keys: %v", address, err)
		}
	}
	if _, err := local.Listen(t.Context(), local.ServerConfig{Address: "0.0.0.0:0", Config: local.Config{Keys: []byte{}, KeysName: "keys.txt"}}); err == nil || !strings.Contains(err.Error(), "keys.txt: no keys") {
		t.Errorf("with an empty key file: %v", err)
	}
	_, err := local.Listen(t.Context(), local.ServerConfig{Address: "127.0.0.1:0", Config: local.Config{KeysName: "keys.txt", Keys: []byte("# keys\nAKID1 gEhEiM 111111111111\nAKID2 gEhEiM2 11111111111\n")}})
	if err == nil || !strings.Contains(err.Error(), "keys.txt: line 3: ") || strings.Contains(err.Error(), "gEhEiM") {
		t.Errorf("with a bad key file: %v", err)
	}

	ip := outside(t)
	server := serving(t, local.ServerConfig{Address: "0.0.0.0:0", Config: local.Config{Keys: keyFile, Hosts: []string{"cfn.example"}}})
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL(), "http://"), ":")
	far := "http://" + net.JoinHostPort(ip, port)
	if _, err := keyedClients(t, far, keyID, secret).ListTypes(t.Context(), &cloudformation.ListTypesInput{}); err != nil {
		t.Errorf("at %s: %v", far, err)
	}
	if _, err := keyedClients(t, far, keyID, "wrong").ListTypes(t.Context(), &cloudformation.ListTypesInput{}); codeOf(err) != "SignatureDoesNotMatch" {
		t.Errorf("at %s with a wrong secret: %v", far, err)
	}
	for _, page := range []struct {
		url, host, forwarded string
		want                 int
	}{
		{server.URL(), "", "", 401},
		{server.URL(), "localhost:" + port, "", 401},
		{server.URL(), "cfn.example", "", 401},
		{server.URL(), "evil.example", "", 403},
		{server.URL(), "", "203.0.113.9", 403},
		{far, "", "", 403},
		{far, "localhost:" + port, "", 403},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page.url+"/_cfn/", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = page.host
		if page.forwarded != "" {
			request.Header.Set("X-Forwarded-For", page.forwarded)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != page.want {
			t.Errorf("the console at %+v: %s %.200s", page, response.Status, body)
		}
	}
}
