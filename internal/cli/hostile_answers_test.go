package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A hostileAnswer answers requests. The texts come before and after what an answer of the operation has in it, as
// XML or JSON.
type hostileAnswer func(w http.ResponseWriter, r *http.Request, before, after string)

// raw answers with bytes instead of HTTP, again and again until the client has gone, and hangs up.
func raw(text string, times int) hostileAnswer {
	return func(w http.ResponseWriter, _ *http.Request, _, _ string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err) // the server of the test has HTTP/1.1
		}
		defer conn.Close()
		for ; times != 0 && err == nil; times-- {
			_, err = io.WriteString(conn, text)
		}
		_ = conn.(*net.TCPConn).CloseWrite() // the client may have left
	}
}

// repeated answers with a text between others, n times or until the client has gone.
func repeated(xml, json string, n int) hostileAnswer {
	return func(w http.ResponseWriter, r *http.Request, before, after string) {
		text := xml
		if before[0] == '{' {
			text = json
		}
		many := 64 << 10 / len(text)
		if n > 0 {
			many = min(many, n)
		}
		_, err := io.WriteString(w, before)
		for i := 0; (n < 0 || i < n) && err == nil && r.Context().Err() == nil; i += many {
			_, err = io.WriteString(w, strings.Repeat(text, many))
		}
		_, _ = io.WriteString(w, after) // the client may have left
	}
}

// zipBomb is 64 MB of text, packed.
var zipBomb = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	for chunk := bytes.Repeat([]byte("x"), 1<<20); b.Len() < 64<<10; {
		_, _ = packed.Write(chunk) // a buffer
	}
	_ = packed.Close()
	return b.Bytes()
})

// hostileAnswers are what no service answers.
var hostileAnswers = map[string]hostileAnswer{
	"nothing": func(http.ResponseWriter, *http.Request, string, string) {},
	"a page": func(w http.ResponseWriter, _ *http.Request, _, _ string) {
		_, _ = io.WriteString(w, "<!DOCTYPE html><html><body>It works!<br></body></html>")
	},
	"no connection":         raw("", 1),
	"another service":       raw("SSH-2.0-OpenSSH_9.9\r\n", 1),
	"half an answer":        raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<a", 1),
	"early hints":           raw("HTTP/1.1 103 Early Hints\r\nX-A: "+strings.Repeat("x", 1000)+"\r\n\r\n", -1),
	"endless header":        raw("HTTP/1.1 200 OK\r\nX-A: "+strings.Repeat("x", 1<<20), -1),
	"many headers":          raw("HTTP/1.1 200 OK\r\n"+strings.Repeat("X-A: b\r\n", 2<<20)+"\r\n", 1),
	"endless text":          repeated("x", "x", -1),
	"endless members":       repeated("</a><member/><a>", `":{},"`, -1),
	"deep":                  repeated("<a>", `":{"`, 1<<18),
	"deep lists":            repeated("<member>", `":[[[[{"`, 1<<18),
	"wrong types":           repeated("</a><StackId><a/></StackId><StackSummaries>1</StackSummaries><a>", `":1,"StatusCode":"x","ProgressEvent":[],"`, 1),
	"pages that do not end": repeated("</a><NextToken>1</NextToken><a>", `":1,"NextToken":"1","nextToken":"1","`, 1),
	"redirects": func(w http.ResponseWriter, r *http.Request, _, _ string) {
		http.Redirect(w, r, r.URL.String(), http.StatusTemporaryRedirect)
	},
	"redirects elsewhere in a circle": func(w http.ResponseWriter, r *http.Request, _, _ string) {
		http.Redirect(w, r, "/"+r.URL.Path+"x", http.StatusPermanentRedirect)
	},
	"unpacks to 64 MB": func(w http.ResponseWriter, _ *http.Request, before, _ string) {
		w.Header().Set("Content-Encoding", "gzip")
		var head bytes.Buffer
		packed := gzip.NewWriter(&head)
		_, _ = io.WriteString(packed, before) // a buffer
		_ = packed.Close()
		_, _ = w.Write(append(head.Bytes(), zipBomb()...)) // the client may have left
	},
	"a long message": func(w http.ResponseWriter, _ *http.Request, before, _ string) {
		message := "\x1b[2J\u202e\a" + strings.Repeat("no ", 1<<20)
		w.WriteHeader(http.StatusBadRequest)
		if before[0] == '{' {
			_, _ = fmt.Fprintf(w, `{"__type": "ValidationException", "Type": "User", "message": %q}`, message)
			return
		}
		_, _ = io.WriteString(w, "<ErrorResponse><Error><Code>ValidationError</Code><Message>"+strings.NewReplacer("\x1b", "\u009b", "\a", "\u0090").Replace(message)+"</Message></Error></ErrorResponse>")
	},
}

// emptyAnswers are those in which some commands find an empty list.
var emptyAnswers = []string{"nothing", "wrong types", "pages that do not end", "endless members"}

// hostileServer answers as told, after it has said that it is cfn serve.
func hostileServer(t *testing.T, answer hostileAnswer) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			_, _ = io.WriteString(w, `{"product": "formwork", "status": "ok", "version": "1.2.3"}`)
			return
		}
		body, _ := io.ReadAll(r.Body) // of a client of this test
		form, _ := url.ParseQuery(string(body))
		before, after := `{"`, `":0}`
		if action := form.Get("Action"); action != "" {
			before = "<" + action + "Response><" + action + "Result><a>"
			after = "</a></" + action + "Result></" + action + "Response>"
		} else if r.Header.Get("X-Amz-Target") == "" && !strings.HasPrefix(r.URL.Path, "/2015-03-31/") {
			before, after = "<Error><Code>", "</Code></Error>" // of S3
		}
		answer(w, r, before, after)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestHostileAnswers runs each command against servers that answer what no service does. It ends with an error in
// words, within bounds of memory. FORMWORK_TORTURE has each meet more of them.
func TestHostileAnswers(t *testing.T) {
	dir := stopProject(t)
	most := uint64(0)
	stop := make(chan struct{})
	measured := make(chan struct{})
	go func() {
		defer close(measured)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for ticker := time.Tick(5 * time.Millisecond); ; {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-stop:
				return
			case <-ticker:
			}
		}
	}()
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	names := slices.Sorted(maps.Keys(hostileAnswers))
	every := len(names) // each command meets one answer, and each answer some commands
	if os.Getenv("FORMWORK_TORTURE") != "" {
		every = 6
	}
	for i, name := range names {
		for j, test := range stoppedCommands {
			if (i+j)%every != 0 || strings.HasSuffix(test.command, "--follow") { // what follows something goes on
				continue
			}
			t.Run(name+" "+test.command, func(t *testing.T) {
				server := hostileServer(t, hostileAnswers[name])
				if err := os.WriteFile(filepath.Join(dir, "remote.json"), []byte(strings.Replace(remoteSchema, "URL", server.URL, 1)), 0o600); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				command := strings.NewReplacer("ENDPOINT", server.URL, "MODULE", filepath.Join(dir, "module"), "HOOK", filepath.Join(dir, "hook")).Replace(test.command)
				code, out := stopMain(ctx, t, dir, server.URL, strings.Fields(command), strings.NewReader(""))
				if ctx.Err() != nil {
					t.Fatalf("does not end: %.2000s", out)
				}
				if code == exitBug || code == exitOK && !slices.Contains(emptyAnswers, name) || len(out) > 64<<10 || strings.ContainsAny(out, "\x1b\a\u202e\u009b\u0090") {
					t.Errorf("code %d, %d bytes: %.2000q", code, len(out), out)
				}
			})
		}
	}
	close(stop)
	<-measured
	if most > 512<<20 {
		t.Errorf("the answers took %d MB of memory", most>>20)
	}
}
