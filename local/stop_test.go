package local_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// TestTerminate ends a server in the midst of registrations, a test and an open stream. It
// says that all went well, and the next server goes on with what had been begun.
func TestTerminate(t *testing.T) {
	eachPlace(t, func(t *testing.T, o serverOptions) {
		server := mustStart(t, o)
		c := newClients(t, server.url)
		if _, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(shelf), CreateBucketConfiguration: here}); err != nil {
			t.Fatal(err)
		}
		register := func(c clients, i int) string {
			name, key := fmt.Sprintf("Acme::Stop::Thing%d", i), fmt.Sprintf("%d.zip", i)
			if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(shelf), Key: &key, Body: bytes.NewReader(resource(t, name))}); err != nil {
				t.Fatal(err)
			}
			out, err := c.RegisterType(t.Context(), &cloudformation.RegisterTypeInput{Type: types.RegistryTypeResource, TypeName: &name, SchemaHandlerPackage: aws.String("s3://" + shelf + "/" + key)})
			if err != nil {
				t.Fatal(err)
			}
			return *out.RegistrationToken
		}
		complete := func(c clients, token string) bool {
			out, err := c.DescribeTypeRegistration(t.Context(), &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &token})
			if err != nil || out.ProgressStatus == types.RegistrationStatusFailed {
				t.Fatalf("registration %s: %+v, %v", token, out, err)
			}
			return out.ProgressStatus == types.RegistrationStatusComplete
		}
		first := register(c, 0)
		eventually(t, time.Minute, "the first type is there", func() bool { return complete(c, first) })
		if _, err := c.TestType(t.Context(), &cloudformation.TestTypeInput{Type: types.ThirdPartyTypeResource, TypeName: aws.String("Acme::Stop::Thing0")}); err != nil {
			t.Fatal(err)
		}
		stream, err := net.Dial("tcp", strings.TrimPrefix(server.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		fmt.Fprintf(stream, "GET /_cfn/events HTTP/1.1\r\nHost: %s\r\n\r\n", strings.TrimPrefix(server.url, "http://"))
		lines := bufio.NewReader(stream)
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
			t.Fatalf("the stream: %q, %v", line, err)
		}
		tokens := make([]string, 5)
		for i := range tokens {
			tokens[i] = register(c, i+1)
		}

		t.Logf("ended after %s", server.terminate(t).Round(time.Millisecond))
		_ = stream.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, lines); err != nil {
			t.Errorf("the stream does not end: %v", err)
		}
		if left := processesOf(o.Dir); len(left) > 0 {
			t.Errorf("handlers still run: %v", left)
		}

		server = mustStart(t, o)
		c = newClients(t, server.url)
		for _, token := range tokens {
			eventually(t, time.Minute, "a registration that was begun ends", func() bool { return complete(c, token) })
		}
		eventually(t, time.Minute, "the test that was begun ends", func() bool {
			out, err := c.DescribeType(t.Context(), &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: aws.String("Acme::Stop::Thing0"), VersionId: aws.String("00000001")})
			if err != nil {
				t.Fatal(err)
			}
			return out.TypeTestsStatus == types.TypeTestsStatusPassed || out.TypeTestsStatus == types.TypeTestsStatusFailed
		})
		server.terminate(t)
		if litter := litterOf(o.Dir); len(litter) > 0 {
			t.Errorf("left over: %v", litter)
		}
	})
}

// TestTakenPlaces starts a server where another one is.
func TestTakenPlaces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	server := mustStart(t, serverOptions{Dir: dir})
	_, err := startProcess(t, serverOptions{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(server.cmd.Process.Pid)) || !strings.Contains(err.Error(), dir) {
		t.Errorf("in the same folder: %v", err)
	}
	other := filepath.Join(t.TempDir(), "data")
	address := strings.TrimPrefix(server.url, "http://")
	_, err = startProcess(t, serverOptions{Dir: other, Address: address})
	if err == nil || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "another program") {
		t.Errorf("at the same address: %v", err)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a server that cannot listen has made its folder")
	}
	if got := server.terminate(t); got > time.Minute {
		t.Error(got)
	}
}
