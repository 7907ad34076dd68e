package cli

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAWSSchemas: the zip of a region is downloaded, used again while it is young, and used when the
// download fails.
func TestAWSSchemas(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("acme-mail-queue.json")
	if err == nil {
		_, err = io.WriteString(w, `{"typeName": "Acme::Mail::Queue", "properties": {"Name": {"type": "string"}}, "primaryIdentifier": ["/properties/Name"]}`)
	}
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	answer, status := b.Bytes(), http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write(answer) // the client may have given up
	}))
	defer server.Close()
	cache := t.TempDir()
	var notes strings.Builder
	c := &app{Env: &Env{Stderr: &notes, Now: time.Now, Environ: []string{
		schemaURL + "=" + server.URL + "/CloudformationSchema.zip", "XDG_CACHE_HOME=" + cache, "LOCALAPPDATA=" + cache, "HOME=" + cache,
	}}}
	file, shown, err := c.awsSchemas(t.Context(), "eu-west-1")
	if err != nil || shown != server.URL+"/CloudformationSchema.zip" {
		t.Fatalf("%s, %s, %v", file, shown, err)
	}
	found := &importReader{}
	if err := found.source(t.Context(), file, shown); err != nil || len(found.schemas) != 1 {
		t.Errorf("%d schemas, %v", len(found.schemas), err)
	}
	if base := filepath.Base(file); base != "eu-west-1.zip" {
		t.Errorf("the file is %s", file)
	}
	for _, test := range []struct {
		answer, want string
		status       int
	}{{"", "404 Not Found", http.StatusNotFound}, {"<html>", "it is not a zip file", http.StatusOK}} {
		answer, status = []byte(test.answer), test.status
		if again, shown, err := c.awsSchemas(t.Context(), "eu-west-1"); err != nil || again != file || !strings.Contains(shown, "downloaded "+time.Now().Format(time.DateOnly)) {
			t.Errorf("with an earlier download: %s, %s, %v", again, shown, err)
		}
		if !strings.Contains(notes.String(), test.want) {
			t.Errorf("the warning is %q, want %q", notes.String(), test.want)
		}
		if _, _, err := c.awsSchemas(t.Context(), "us-east-1"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("without an earlier download: %v, want %q", err, test.want)
		}
	}
}

func TestInterpreterOf(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{"#!/opt/x/bin/python\nimport": "/opt/x/bin/python", "#!/usr/bin/env python3\n": "", "\x7fELF": "", "#!python\n": "", "": ""} {
		name := filepath.Join(dir, "script")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := interpreterOf(name); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
