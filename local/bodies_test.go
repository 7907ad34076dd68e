package local_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/formwork-dev/formwork/local"
)

// TestManyLargeBodies sends many large bodies at once, as anybody and with a signature: they
// share a budget, and all are answered.
func TestManyLargeBodies(t *testing.T) {
	const clients, size = 24, 15 << 20
	body := append([]byte(`{"Name":"n","Type":"String","Value":"`), bytes.Repeat([]byte("x"), size)...)
	body = append(body, `"}`...)
	hash := sha256.Sum256(body)
	for name, test := range map[string]struct {
		keys       []byte
		id, secret string
		status     int
	}{
		"nothing checked": {nil, account, "any", 400},
		"a known key":     {keyFile, keyID, secret, 400},
		"an unknown key":  {keyFile, "AKIANOBODY", secret, 400},
	} {
		t.Run(name, func(t *testing.T) {
			url := serving(t, local.ServerConfig{Config: local.Config{Keys: test.keys}}).URL()
			peak := watchHeap(t)
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			var sending sync.WaitGroup
			for range clients {
				sending.Go(func() {
					request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
					if err != nil {
						t.Error(err)
						return
					}
					request.Header.Set("Content-Type", "application/x-amz-json-1.1")
					request.Header.Set("X-Amz-Target", "AmazonSSM.PutParameter")
					if err := v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: test.id, SecretAccessKey: test.secret}, request, hex.EncodeToString(hash[:]), "ssm", region, time.Now()); err != nil {
						t.Error(err)
						return
					}
					answer, err := transport.RoundTrip(request)
					if err != nil {
						t.Error(err)
						return
					}
					defer answer.Body.Close()
					text, _ := io.ReadAll(answer.Body)
					if answer.StatusCode != test.status && answer.StatusCode != http.StatusServiceUnavailable {
						t.Errorf("%d %s, want %d", answer.StatusCode, text, test.status)
					}
				})
			}
			sending.Wait()
			if most := peak(); most > 300<<20 {
				t.Errorf("%d bodies of %d MB took %d MB of memory", clients, size>>20, most>>20)
			} else {
				t.Logf("%d bodies of %d MB took %d MB of memory", clients, size>>20, most>>20)
			}
		})
	}
}

// TestRefusalsReachClientsThatSendFirst: a client that reads nothing until it has sent
// everything gets the answer, not a reset connection.
func TestRefusalsReachClientsThatSendFirst(t *testing.T) {
	url := serving(t, local.ServerConfig{Config: local.Config{Keys: keyFile}}).URL()
	address := strings.TrimPrefix(url, "http://")
	const size = 40 << 20
	for name, test := range map[string]struct {
		head   string
		status int
	}{
		"too large":     {"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSSM.PutParameter\r\n", 400},
		"not signed":    {"PUT /bucket/key HTTP/1.1\r\nHost: localhost\r\n", 403},
		"unknown key":   {"PUT /bucket/key HTTP/1.1\r\nHost: localhost\r\n" + fmt.Sprintf("Authorization: "+scope+"\r\n", "s3"), 403},
		"another page":  {"POST / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n", 403},
		"to no console": {"POST /_cfn/types HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n", 401},
	} {
		t.Run(name, func(t *testing.T) {
			connection, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			if err := connection.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprintf(connection, "%sContent-Length: %d\r\n\r\n", test.head, size); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(connection, io.LimitReader(zeros{}, size)); err != nil {
				t.Fatalf("the server does not take the body: %v", err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			defer answer.Body.Close()
			if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != test.status {
				t.Errorf("%d %s, %v; want %d", answer.StatusCode, text, err, test.status)
			}
		})
	}
}
