package local_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// An entry is one file of a zip file.
type entry struct {
	name   string
	data   []byte
	change func(*zip.FileHeader) // before it is written; nil for nothing
}

// zipped makes a zip file.
func zipped(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.change != nil {
			e.change(header)
		}
		f, err := w.CreateHeader(header)
		if err == nil && !strings.HasSuffix(e.name, "/") {
			_, err = f.Write(e.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// unzipped takes one apart.
func unzipped(t testing.TB, data []byte) []entry {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var entries []entry
	for _, f := range r.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		content.Close()
		entries = append(entries, entry{name: f.Name, data: data})
	}
	return entries
}

// extension is a real package under another type name: "LocalStack::Testing::X" becomes
// typeName throughout. change may change its entries; nil changes nothing.
func extension(t testing.TB, name, was, typeName string, change func([]entry) []entry) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(fixtures.Dir(t, "extensions"), name+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	entries := unzipped(t, data)
	for i, e := range entries {
		if e.name == "schema.json" || e.name == ".rpdk-config" {
			entries[i].data = bytes.ReplaceAll(e.data, []byte(was), []byte(typeName))
		}
	}
	if change != nil {
		entries = change(entries)
	}
	return zipped(t, entries...)
}

// resource is a resource type with a handler in Python.
func resource(t testing.TB, typeName string) []byte {
	return extension(t, "localstack-testing-deployableresource", "LocalStack::Testing::DeployableResource", typeName, nil)
}

// report builds the example, a resource type in Go, once. It is nil where that cannot be
// done.
var report = sync.OnceValue(func() []byte {
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(dir)
	const example = "../examples/tps-report"
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "bootstrap"), "./cmd")
	build.Dir = example
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if build.Run() != nil {
		return nil
	}
	program, err := os.ReadFile(filepath.Join(dir, "bootstrap"))
	if err != nil {
		return nil
	}
	schema, err := os.ReadFile(filepath.Join(example, "initech-tps-report.json"))
	if err != nil {
		return nil
	}
	settings, err := os.ReadFile(filepath.Join(example, ".rpdk-config"))
	if err != nil {
		return nil
	}
	pack := func(entries ...entry) []byte {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, e := range entries {
			header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
			header.SetMode(0o755)
			f, err := w.CreateHeader(header)
			if err == nil {
				_, err = f.Write(e.data)
			}
			if err != nil {
				return nil
			}
		}
		if w.Close() != nil {
			return nil
		}
		return out.Bytes()
	}
	entries := []entry{{name: ".rpdk-config", data: settings}, {name: "schema.json", data: schema}, {name: "ResourceProvider.zip", data: pack(entry{name: "bootstrap", data: program})}}
	for _, name := range []string{"inputs_1_create.json", "inputs_1_update.json", "inputs_1_invalid.json"} {
		if data, err := os.ReadFile(filepath.Join(example, "inputs", name)); err == nil {
			entries = append(entries, entry{name: "inputs/" + name, data: data})
		}
	}
	return pack(entries...)
})
