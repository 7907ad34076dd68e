package local_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"database/sql"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/formwork-dev/formwork/local"
)

// TestNobodyIsTakenForSomebodyElse: while the store cannot say whose a session key is,
// requests with it are refused with a status that SDKs try again after, and never served as
// those of the default account.
func TestNobodyIsTakenForSomebodyElse(t *testing.T) {
	for name, keys := range map[string][]byte{"signatures checked": keyFile, "nothing checked": nil} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			url := serving(t, local.ServerConfig{Config: local.Config{Dir: dir, Keys: keys}}).URL()
			long := credentials.NewStaticCredentialsProvider(keyID, secret, "")
			if keys == nil {
				long = credentials.NewStaticCredentialsProvider(account, secret, "")
			}
			config := aws.Config{Region: region, BaseEndpoint: &url, Credentials: long, RetryMaxAttempts: 1}
			session, err := sts.NewFromConfig(config).AssumeRole(t.Context(), &sts.AssumeRoleInput{
				RoleArn: aws.String("arn:aws:iam::" + account + ":role/Tester"), RoleSessionName: aws.String("test"),
			})
			if err != nil {
				t.Fatal(err)
			}
			given := session.Credentials
			config.Credentials = credentials.NewStaticCredentialsProvider(*given.AccessKeyId, *given.SecretAccessKey, *given.SessionToken)
			put := func(config aws.Config, value string) error {
				_, err := ssm.NewFromConfig(config).PutParameter(t.Context(), &ssm.PutParameterInput{
					Name: aws.String("whose"), Value: &value, Type: ssmtypes.ParameterTypeString, Overwrite: aws.Bool(true)})
				return err
			}
			if err := put(config, "before"); err != nil {
				t.Fatal(err)
			}
			if info, err := sts.NewFromConfig(config).GetCallerIdentity(t.Context(), nil); err != nil || *info.Arn != *session.AssumedRoleUser.Arn || *info.Account != account {
				t.Errorf("the session is %v, %v", info, err)
			}

			mend := breakSessions(t, dir)
			for name, send := range map[string]func() error{
				"ssm":  func() error { return put(config, "while broken") },
				"s3":   func() error { _, err := s3.NewFromConfig(config).ListBuckets(t.Context(), nil); return err },
				"sts":  func() error { _, err := sts.NewFromConfig(config).GetCallerIdentity(t.Context(), nil); return err },
				"http": func() error { return fmt.Errorf("StatusCode: %d", signedStatus(t, url, config)) },
			} {
				if err := send(); err == nil || !strings.Contains(err.Error(), "StatusCode: 503") {
					t.Errorf("%s: %v, want status 503", name, err)
				}
			}
			// The SDK tries again by itself.
			var mending sync.WaitGroup
			mending.Go(func() {
				letRun(50 * time.Millisecond)
				mend()
			})
			config.RetryMaxAttempts = 20
			if err := put(config, "after"); err != nil {
				t.Errorf("the store works again: %v", err)
			}
			mending.Wait()
			if keys == nil {
				nobody := config
				nobody.Credentials = credentials.NewStaticCredentialsProvider("nobody", secret, "")
				if _, err := ssm.NewFromConfig(nobody).GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("whose")}); codeOf(err) != "ParameterNotFound" {
					t.Errorf("the default account has the parameter of another one: %v", err)
				}
			}
		})
	}
}

// breakSessions makes the table of temporary keys unreadable, until what it returns is called.
func breakSessions(t *testing.T, dir string) (mend func()) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	db, err := sql.Open("sqlite", files[0]+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	rename := func(from, to string) {
		if _, err := db.Exec("ALTER TABLE " + from + " RENAME TO " + to); err != nil {
			t.Error(err)
		}
	}
	rename("sts_sessions", "elsewhere")
	return func() { rename("elsewhere", "sts_sessions") }
}

// signedStatus is the status that an invocation is answered with.
func signedStatus(t *testing.T, url string, config aws.Config) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/2015-03-31/functions/Acme-Spy-Thing/invocations", nil)
	if err != nil {
		t.Fatal(err)
	}
	who, err := config.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if err := v4.NewSigner().SignHTTP(t.Context(), who, request, empty, "lambda", region, time.Now()); err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// TestAccessKeyInfo: keys of the key file belong to the account that it says.
func TestAccessKeyInfo(t *testing.T) {
	keys := append([]byte("AKIAOFANOTHERONE 0ther 999988887777\n"), keyFile...)
	keys = append(keys, "AKIAEXAMPLEABCDE "+secret+" "+account+"\n"...)
	url := serving(t, local.ServerConfig{Config: local.Config{Keys: keys}}).URL()
	client := sts.New(sts.Options{Region: region, BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider(keyID, secret, "")})
	for id, want := range map[string]string{"AKIAEXAMPLEABCDE": account, "AKIAOFANOTHERONE": "999988887777", "AKIAUNKNOWNKEY00": "", "1111222233334444": ""} {
		out, err := client.GetAccessKeyInfo(t.Context(), &sts.GetAccessKeyInfoInput{AccessKeyId: &id})
		if want == "" && codeOf(err) != "ValidationError" || want != "" && (err != nil || *out.Account != want) {
			t.Errorf("%s: %v %v, want %q", id, out, err, want)
		}
	}
}

// TestPresignedURLsHaveOneReading sends URLs that were presigned for one object to every
// other host and path that could be taken for it. What is answered is that object, or a
// refusal.
func TestPresignedURLsHaveOneReading(t *testing.T) {
	server := serving(t, local.ServerConfig{Config: local.Config{Keys: keyFile, Hosts: []string{"cfn.example", ".cfn.example"}}})
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL(), "http://"), ":")
	c := keyedClients(t, server.URL(), keyID, secret)
	for _, at := range []string{"left", "right"} {
		if _, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &at, CreateBucketConfiguration: here}); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"k", "left/k", "right/k", "a/b", "left"} {
			if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &at, Key: &key, Body: strings.NewReader(at + " " + key)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	type place struct{ host, path, forwarded string }
	get := func(at place, query string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL()+at.path+"?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = at.host
		if at.forwarded != "" {
			request.Header.Set("X-Forwarded-Host", at.forwarded)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	version2 := func(resource string) string {
		h := hmac.New(sha1.New, []byte(secret))
		expires := fmt.Sprint(time.Now().Add(time.Hour).Unix())
		fmt.Fprintf(h, "GET\n\n\n%s\n%s", expires, resource)
		return url.Values{"AWSAccessKeyId": {keyID}, "Expires": {expires}, "Signature": {base64.StdEncoding.EncodeToString(h.Sum(nil))}}.Encode()
	}
	version4 := func(at place) string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at.host+at.path+"?X-Amz-Expires=600", nil)
		if err != nil {
			t.Fatal(err)
		}
		signed, _, err := v4.NewSigner().PresignHTTP(t.Context(), aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret}, request, "UNSIGNED-PAYLOAD", "s3", region, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		_, query, _ := strings.Cut(signed, "?")
		return query
	}
	self := "127.0.0.1:" + port
	sent := []place{
		{self, "/left/k", ""}, {self, "/right/k", ""}, {self, "/left%2Fk", ""}, {self, "//left/k", ""}, {self, "/left/a/b", ""}, {self, "/left/a%2Fb", ""}, {self, "/left/left/k", ""}, {self, "/left/left", ""},
		{"left.localhost:" + port, "/k", ""}, {"left.localhost:" + port, "/left/k", ""}, {"left.localhost:" + port, "/left", ""}, {"left.s3.localhost", "/k", ""}, {"LEFT.localhost.", "/k", ""},
		{"right.localhost:" + port, "/k", ""}, {"right.localhost:" + port, "/left/k", ""}, {"right.localhost:" + port, "/right/k", ""}, {"right.localhost:" + port, "/left", ""},
		{"left.cfn.example", "/k", ""}, {"right.cfn.example", "/k", ""}, {"right.cfn.example", "/left/k", ""}, {"left.right.localhost", "/k", ""},
		{"right.cfn.example", "/k", "left.cfn.example"}, {"left.cfn.example", "/k", "right.cfn.example"}, {"right.cfn.example:443", "/k", "left.cfn.example:443"},
		{"right.localhost:" + port, "/k", "left.localhost:" + port}, {"right.localhost", "/left/k", "cfn.example"}, {"cfn.example", "/left/k", "right.cfn.example"},
	}
	for name, test := range map[string]struct {
		query string
		want  string  // the object that the URL is for
		good  []place // some of the requests that must be served
	}{
		"version 2, path":   {version2("/left/k"), "left k", []place{sent[0], sent[8]}},
		"version 2, slash":  {version2("/left/a/b"), "left a/b", []place{{self, "/left/a/b", ""}}},
		"version 2, bucket": {version2("/left/left"), "left left", []place{{"left.localhost:" + port, "/left", ""}}},
		"version 4, path":   {version4(place{self, "/left/k", ""}), "left k", []place{sent[0]}},
		"version 4, host":   {version4(place{"left.localhost:" + port, "/k", ""}), "left k", []place{{"left.localhost:" + port, "/k", ""}}},
		"version 4, name":   {version4(place{"left.cfn.example", "/k", ""}), "left k", []place{{"left.cfn.example", "/k", ""}, {"right.cfn.example", "/k", "left.cfn.example"}}},
		"version 4, proxy":  {version4(place{"cfn.example", "/left/k", ""}), "left k", []place{{"cfn.example", "/left/k", ""}, {"10.0.0.1:8080", "/left/k", "cfn.example"}, {"cfn.example:443", "/left/k", ""}}},
	} {
		for _, at := range sent {
			if status, body := get(at, test.query); status == http.StatusOK && body != test.want {
				t.Errorf("%s: %+v is answered with the object %q, the URL is for %q", name, at, body, test.want)
			}
		}
		for _, at := range test.good {
			if status, body := get(at, test.query); status != http.StatusOK || body != test.want {
				t.Errorf("%s: %+v: %d %s", name, at, status, body)
			}
		}
	}
}
