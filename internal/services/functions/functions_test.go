package functions

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

var place = awswire.Place{Account: "123456789012", Region: "eu-west-1"}

func open(t *testing.T, at fixtures.Place) *Functions {
	t.Helper()
	opened, err := store.Open(t.Context(), store.Config{Dir: at.Dir, DSN: at.DSN})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return New(Config{Store: opened, Dir: filepath.Join(t.TempDir(), "functions")})
}

// zipped is a zip file; a name that starts with "@" is that of a link to its content.
func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		header := &zip.FileHeader{Name: strings.TrimPrefix(name, "@"), Method: zip.Deflate}
		header.SetMode(0o755)
		if strings.HasPrefix(name, "@") {
			header.SetMode(fs.ModeSymlink | 0o777)
		}
		w, err := z.CreateHeader(header)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDeployed(t *testing.T) {
	for _, at := range fixtures.Stores(t) {
		t.Run(at.Name, func(t *testing.T) { testDeployed(t, open(t, at)) })
	}
}

func testDeployed(t *testing.T, f *Functions) {
	t.Helper()
	hash, err := f.Store(t.Context(), bytes.NewReader(zipped(t, map[string]string{"index.py": "x = 1", "lib/a.py": "", "@bin/link": "/etc/passwd"})))
	if err != nil {
		t.Fatal(err)
	}
	model := map[string]any{"Runtime": "python3.12", "Handler": "index.handler", "Timeout": 7, "Role": "r", "LoggingConfig": map[string]any{"LogGroup": "/g"},
		"Environment": map[string]any{"Variables": map[string]any{"B": "2", "A": "1"}}}
	function := Resource{Type: TypeFunction, ID: "f", Model: model, CodeHash: hash}
	if err := f.Create(t.Context(), place, function); err != nil {
		t.Fatal(err)
	}
	var refusal *awswire.Error
	if err := f.Create(t.Context(), place, function); !errors.As(err, &refusal) || refusal.Code != "ResourceAlreadyExistsException" {
		t.Errorf("a second function: %v", err)
	}
	for _, r := range []Resource{
		{Type: TypeVersion, ID: "f:1", Model: map[string]any{Snapshot: map[string]any{"Runtime": "python3.11"}}, CodeHash: hash},
		{Type: TypeAlias, ID: "f:live", Model: map[string]any{"FunctionVersion": "1"}},
		{Type: TypeAlias, ID: "f:head", Model: map[string]any{"FunctionVersion": "$LATEST"}},
		{Type: TypeAlias, ID: "ff:live", Model: map[string]any{"FunctionVersion": "1"}},
	} {
		if err := f.Create(t.Context(), place, r); err != nil {
			t.Fatal(err)
		}
	}
	d, err := f.Deployed(t.Context(), place, "f", "")
	if err != nil || d.Version != "$LATEST" || d.Timeout != 7*time.Second || d.MemoryMB != 128 || strings.Join(d.Environment, " ") != "A=1 B=2" || d.LogGroup != "/g" || d.Role != "r" {
		t.Fatalf("%+v, %v", d, err)
	}
	dir, err := f.Unpacked(t.Context(), d.CodeHash)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "index.py")); err != nil || string(text) != "x = 1" {
		t.Errorf("the code is %q, %v", text, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "bin", "link")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link was unpacked: %v", err)
	}
	for qualifier, want := range map[string]string{"1": "1", "live": "1", "head": "$LATEST", "$LATEST": "$LATEST", "2": "", "dead": ""} {
		got, err := f.Deployed(t.Context(), place, "f", qualifier)
		if err != nil || (got == nil) != (want == "") || got != nil && got.Version != want {
			t.Errorf("%s: %+v, %v", qualifier, got, err)
		}
	}
	if other, err := f.Deployed(t.Context(), awswire.Place{Account: "1", Region: place.Region}, "f", ""); other != nil || err != nil {
		t.Errorf("of another account: %+v, %v", other, err)
	}
	if keeps, err := f.KeepsBlob(t.Context(), hash); !keeps || err != nil {
		t.Errorf("the code is not kept: %v", err)
	}
	if err := f.Delete(t.Context(), place, TypeFunction, "f"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Get(t.Context(), place, TypeVersion, "f:1"); !errors.As(err, &refusal) {
		t.Errorf("the version of a function that was deleted: %v", err)
	}
	if _, err := f.Get(t.Context(), place, TypeAlias, "ff:live"); err != nil {
		t.Errorf("the alias of another function: %v", err)
	}
	if err := f.Expire(t.Context(), time.Now().Add(2*unusedCode)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the unpacked code of a function that was deleted: %v", err)
	}
}

// TestDamagedCode: code that was changed on the disk is unpacked again, also if it kept its size.
func TestDamagedCode(t *testing.T) {
	f := open(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	hash, err := f.Store(t.Context(), bytes.NewReader(zipped(t, map[string]string{"index.py": "x = 1", "lib/a.py": "y"})))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := f.Unpacked(t.Context(), hash)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "index.py")
	for name, damage := range map[string]func() error{
		"other content of the same size": func() error { return os.WriteFile(file, []byte("x = 2"), 0o600) },
		"a truncated file":               func() error { return os.Truncate(file, 0) },
		"a missing folder":               func() error { return os.RemoveAll(filepath.Join(dir, "lib")) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		again, err := f.Unpacked(t.Context(), hash)
		if err != nil || again != dir {
			t.Fatalf("%s: %q, %v", name, again, err)
		}
		text, err := os.ReadFile(file)
		if _, other := os.Stat(filepath.Join(dir, "lib", "a.py")); err != nil || other != nil || string(text) != "x = 1" {
			t.Errorf("%s: the code is %q, %v, %v", name, text, err, other)
		}
	}
	if _, err := f.Unpacked(t.Context(), strings.Repeat("0", 64)); err == nil {
		t.Error("code that is not stored was unpacked")
	}
}

// TestLayers: of files of one name in several layers, the last one counts, and what was merged is kept as long as the layers exist.
func TestLayers(t *testing.T) {
	f := open(t, fixtures.Place{Dir: t.TempDir()})
	var hashes []string
	for i, content := range []map[string]string{{"etc/name": "one", "bin/one": "1", "x": "file"}, {"etc/name": "two", "bin/two": "2"}, {"x/y": "below"}} {
		hash, err := f.Store(t.Context(), bytes.NewReader(zipped(t, content)))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Create(t.Context(), place, Resource{Type: TypeLayer, ID: fmt.Sprint("layer:", i), CodeHash: hash}); err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, hash)
	}
	merged := func(hashes ...string) map[string]string {
		dir, err := f.Unpacked(t.Context(), hashes...)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, name := range []string{"etc/name", "bin/one", "bin/two"} {
			text, _ := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			out[name] = string(text)
		}
		return out
	}
	one, two, below := hashes[0], hashes[1], hashes[2]
	if got, want := merged(one, two), (map[string]string{"etc/name": "two", "bin/one": "1", "bin/two": "2"}); !maps.Equal(got, want) {
		t.Errorf("one, two: %v", got)
	}
	if got, want := merged(two, one), (map[string]string{"etc/name": "one", "bin/one": "1", "bin/two": "2"}); !maps.Equal(got, want) {
		t.Errorf("two, one: %v", got)
	}
	for _, conflict := range [][]string{{one, below}, {below, one}} {
		if dir, err := f.Unpacked(t.Context(), conflict...); err == nil {
			t.Errorf("a file and a folder of one name were merged in %s", dir)
		}
	}
	expire := func(want int) {
		t.Helper()
		if err := f.Expire(t.Context(), time.Now().Add(2*unusedCode)); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(f.config.Dir); err != nil || len(left) != want {
			t.Errorf("%d folders, %v; want %d", len(left), err, want)
		}
	}
	expire(2)
	if err := f.Delete(t.Context(), place, TypeLayer, "layer:1"); err != nil {
		t.Fatal(err)
	}
	expire(0)
}

// packed is a zip file with one file, whose header was changed.
func packed(t *testing.T, change func(*zip.FileHeader)) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: "index.py", CompressedSize64: 1, UncompressedSize64: 1, CRC32: crc32.ChecksumIEEE([]byte("x"))}
	change(header)
	w, err := z.CreateRaw(header)
	if err == nil {
		_, err = w.Write([]byte("x"))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCodeIsRefused(t *testing.T) {
	f := open(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	for name, code := range map[string][]byte{
		"not a zip file":  []byte("PK nothing"),
		"outside":         zipped(t, map[string]string{"../../x": "x"}),
		"absolute":        zipped(t, map[string]string{"/etc/x": "x"}),
		"backslashes":     zipped(t, map[string]string{`..\x`: "x"}),
		"null byte":       zipped(t, map[string]string{"a\x00b.py": "x"}),
		"long":            zipped(t, map[string]string{strings.Repeat("n", 3000): "x"}),
		"long part":       zipped(t, map[string]string{"a/" + strings.Repeat("n", 256) + "/b.py": "x"}),
		"long path":       zipped(t, map[string]string{strings.Repeat("a/", 2000) + "b.py": "x"}),
		"no name":         zipped(t, map[string]string{"./": "", ".": "x"}),
		"file and folder": zipped(t, map[string]string{"a": "x", "a/b": "x"}),
		"deep in a file":  zipped(t, map[string]string{"a": "x", "a/b/c": "x"}),
		"method":          packed(t, func(h *zip.FileHeader) { h.Method = 12 }),
		"encrypted":       packed(t, func(h *zip.FileHeader) { h.Flags |= 1 }),
		"bomb":            zipped(t, map[string]string{"a": strings.Repeat("\x00", maxUnpacked/2+1), "b": strings.Repeat("\x00", maxUnpacked/2+1)}),
	} {
		var refusal *awswire.Error
		if _, err := f.Store(t.Context(), bytes.NewReader(code)); !errors.As(err, &refusal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var refusal *awswire.Error
	if _, err := f.Store(t.Context(), io.LimitReader(zeros{}, maxZip+1)); !errors.As(err, &refusal) || refusal.Message != "Zipped size must be smaller than 262144000 bytes." {
		t.Errorf("too large: %v", err)
	}
	for runtime, source := range map[string]string{"go1.x": "x", "": "x", "python3.12": strings.Repeat("x", maxInline+1)} {
		if _, err := Inline(runtime, source); err == nil {
			t.Errorf("inline code of %q was taken", runtime)
		}
	}
}

// zeros never end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
