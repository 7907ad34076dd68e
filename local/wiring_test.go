package local_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/formwork-dev/formwork/local"
)

// TestProgressOfInvocations has a handler that was called through Lambda Invoke report on
// its operation, and looks for how long its bearer token is known.
func TestProgressOfInvocations(t *testing.T) {
	c := newClients(t, serving(t, local.ServerConfig{}).URL())
	file := filepath.Join(t.TempDir(), "notes")
	registered(t, c, registerSpy(t, c, spyPackage(t, file, "", 0)), 30*time.Second)
	report := func(token string) string {
		_, err := c.RecordHandlerProgress(t.Context(), &cloudformation.RecordHandlerProgressInput{BearerToken: &token, OperationStatus: cfntypes.OperationStatusInProgress})
		return codeOf(err)
	}
	const payload = `{"action": "CREATE", "bearerToken": %q, "requestData": {"resourceProperties": {"Name": "abcd", "Do": %q}}}`

	invokeSpy(t, c, fmt.Sprintf(payload, "token-1", "progress"))
	if code := report("token-1"); code != "ValidationError" {
		t.Errorf("after the end of the operation: %q", code)
	}
	invokeSpy(t, c, fmt.Sprintf(payload, "token-2", "wait"))
	if code := report("token-2"); code != "" {
		t.Errorf("while the operation is in progress: %q", code)
	}
	invokeSpy(t, c, fmt.Sprintf(payload, "token-2", "progress"))
	if code := report("token-2"); code != "ValidationError" {
		t.Errorf("after the end of the operation: %q", code)
	}
	invokeSpy(t, c, `{"bearerToken": 7}`) // for the handler to judge
	invokeSpy(t, c, `{"action": "READ"}`)
	calls := 0
	for _, seen := range notes(t, file) {
		if seen.Report != "" {
			calls++
			if seen.Report != "<nil>" {
				t.Errorf("RecordHandlerProgress in the handler: %s", seen.Report)
			}
		}
	}
	if calls != 3 {
		t.Errorf("%d calls have reported", calls)
	}
}

// TestDeregisteredHandlersEnd looks at the processes of a version that is deregistered.
func TestDeregisteredHandlersEnd(t *testing.T) {
	server := serving(t, local.ServerConfig{})
	c := newClients(t, server.URL())
	file := filepath.Join(t.TempDir(), "notes")
	for range 2 {
		registered(t, c, registerSpy(t, c, spyPackage(t, file, "", 0)), 30*time.Second)
	}
	invokeSpy(t, c, `{"action": "READ"}`)
	running := func() float64 { return metric(t, server.URL(), "cfn_handlers_running") }
	if n := running(); n != 2 { // the second one since its registration
		t.Fatalf("%v handlers run", n)
	}
	_, err := c.DeregisterType(t.Context(), &cloudformation.DeregisterTypeInput{Type: cfntypes.RegistryTypeResource, TypeName: aws.String(spyType), VersionId: aws.String("00000002")})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the end of one handler", func() bool { return running() == 1 })
	if _, err := c.DeregisterType(t.Context(), &cloudformation.DeregisterTypeInput{Type: cfntypes.RegistryTypeResource, TypeName: aws.String(spyType)}); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the end of the other", func() bool { return running() == 0 })
}

// TestSweep lets an hour and more pass, and looks at which blobs are left.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	var ahead atomic.Int64
	cloud, err := local.Open(t.Context(), local.Config{Dir: dir, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(func() {
		server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	c := newClients(t, server.URL)
	blobs := func() (paths []string) {
		err := filepath.WalkDir(filepath.Join(dir, "blobs"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && len(d.Name()) == 64 {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	registered(t, c, registerSpy(t, c, spyPackage(t, filepath.Join(t.TempDir(), "notes"), "", 0)), 30*time.Second)
	put := func(body []byte) {
		t.Helper()
		if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("spies"), Key: aws.String("spy.zip"), Body: bytes.NewReader(body)}); err != nil {
			t.Fatal(err)
		}
	}
	first, second := bytes.Repeat([]byte("first "), 20_000), bytes.Repeat([]byte("second "), 20_000)
	put(first) // in the place of the package, which the version needs
	put(second)
	if n := len(blobs()); n != 3 {
		t.Fatalf("%d blobs", n)
	}
	old := time.Now().Add(-2 * time.Hour)
	for _, path := range blobs() {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	fresh := bytes.Repeat([]byte("fresh "), 20_000)
	put(fresh)
	put(second) // nothing names the fresh one any more, and it is young
	ahead.Store(int64(11 * time.Minute))
	eventually(t, time.Minute, "the sweep", func() bool { return len(blobs()) == 3 })
	invokeSpy(t, c, `{"action": "READ"}`)
	out, err := c.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("spies"), Key: aws.String("spy.zip")})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	if body, err := io.ReadAll(out.Body); err != nil || !bytes.Equal(body, second) {
		t.Errorf("the object has %d bytes, %v", len(body), err)
	}
}
