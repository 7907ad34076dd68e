package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

func put(t *testing.T, s *Store, content []byte) Blob {
	t.Helper()
	blob, err := s.Blobs().Put(t.Context(), bytes.NewReader(content), 0)
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

func someBytes(n int) []byte {
	content := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	return content
}

func has(t *testing.T, s *Store, hash string) bool {
	t.Helper()
	has, err := s.Blobs().Has(t.Context(), hash)
	if err != nil {
		t.Fatal(err)
	}
	return has
}

func TestBlobsAreKept(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		for _, size := range []int{0, 1, chunkSize - 1, chunkSize, chunkSize + 1, 3*chunkSize + 17} {
			content := someBytes(size)
			sum := sha256.Sum256(content)
			want := Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(size)}
			for range 2 { // equal content is kept once
				if got := put(t, s, content); got != want {
					t.Errorf("got %v, want %v", got, want)
				}
			}
			if !has(t, s, want.Hash) {
				t.Errorf("%d bytes are not there", size)
			}
			r, n, err := s.Blobs().Open(t.Context(), want.Hash)
			if err != nil {
				t.Fatal(err)
			}
			if n != want.Size {
				t.Errorf("opened %d bytes, want %d", n, size)
			}
			tail := max(0, size-50) // the whole takes seconds
			if err := iotest.TestReader(io.NewSectionReader(r, int64(tail), n-int64(tail)), content[tail:]); err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes: read %d (%v)", size, len(got), err)
			}
			if at, err := r.Seek(-int64(min(5, size)), io.SeekEnd); err != nil || at != int64(size-min(5, size)) {
				t.Errorf("sought %d (%v)", at, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestBlobIsReadFromManySides(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		content := someBytes(3 * chunkSize)
		r, size, err := s.Blobs().Open(t.Context(), put(t, s, content).Hash)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				section := make([]byte, chunkSize)
				at := int64(i) * size / 5
				if _, err := r.ReadAt(section, at); err != nil || !bytes.Equal(section, content[at:at+chunkSize]) {
					t.Errorf("at %d: %v", at, err)
				}
			})
		}
		group.Wait()
	})
}

func TestNoSuchBlob(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		for _, hash := range []string{
			strings.Repeat("0", 64), "", "00", "../../../etc/passwd", strings.Repeat("A", 64), strings.Repeat("/", 64),
			"../" + strings.Repeat("0", 61), strings.Repeat("0", 63) + "\x00",
		} {
			if has(t, s, hash) {
				t.Errorf("there is a blob %q", hash)
			}
			_, _, err := s.Blobs().Open(t.Context(), hash)
			if !errors.Is(err, ErrNoBlob) || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q: got %v, want ErrNoBlob", hash, err)
			}
		}
	})
}

// TestPutFails: whatever goes wrong, nothing appears and nothing stays.
func TestPutFails(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		content := someBytes(300_000)
		failure := errors.New("the sender has gone")
		cancelled, cancel := context.WithCancel(t.Context())
		for _, c := range []struct {
			name string
			ctx  context.Context
			r    io.Reader
			max  int64
			is   func(error) bool
		}{
			{"the reader fails", t.Context(), io.MultiReader(bytes.NewReader(content), iotest.ErrReader(failure)), 0,
				func(err error) bool { return errors.Is(err, failure) }},
			{"too large", t.Context(), bytes.NewReader(content), int64(len(content)) - 1,
				func(err error) bool {
					var large *TooLargeError
					return errors.As(err, &large) && large.Max == int64(len(content))-1
				}},
			{"endless", t.Context(), endless{}, 1 << 20,
				func(err error) bool { var large *TooLargeError; return errors.As(err, &large) }},
			{"the context ends", cancelled, io.MultiReader(bytes.NewReader(content), call(cancel), endless{}), 0,
				func(err error) bool { return errors.Is(err, context.Canceled) }},
		} {
			if blob, err := s.Blobs().Put(c.ctx, c.r, c.max); err == nil || !c.is(err) || blob != (Blob{}) {
				t.Errorf("%s: got %v, %v", c.name, blob, err)
			}
		}
		swept, err := s.Blobs().Sweep(t.Context(), time.Nanosecond, func(context.Context, string) (bool, error) { return false, nil })
		if err != nil || swept != (Swept{}) {
			t.Errorf("there was %+v to sweep (%v)", swept, err)
		}
		if config.Dir != "" {
			left, err := os.ReadDir(filepath.Join(config.Dir, "blobs", "incoming"))
			if err != nil || len(left) > 0 {
				t.Errorf("%d files stayed (%v)", len(left), err)
			}
		}
		if _, err := s.Blobs().Put(t.Context(), bytes.NewReader(content), int64(len(content))); err != nil {
			t.Errorf("exactly the largest size: %v", err)
		}
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// call is an empty reader that does something.
type call func()

func (f call) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

// age makes blobs two hours older.
func age(t *testing.T, s *Store, blobs ...Blob) {
	t.Helper()
	for _, blob := range blobs {
		if !s.isPostgres() {
			makeOld(t, filepath.Join(s.config.Dir, "blobs", blob.Hash[:2], blob.Hash))
		} else if _, err := Exec(t.Context(), s.on(s.writer), "UPDATE blobs SET touched = touched - ? WHERE hash = ?", (2 * time.Hour).Microseconds(), blob.Hash); err != nil {
			t.Fatal(err)
		}
	}
}

// makeOld makes a file two hours older.
func makeOld(t *testing.T, path string) {
	t.Helper()
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

func TestSweep(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		wanted, unwanted := put(t, s, []byte("wanted")), put(t, s, []byte("unwanted"))
		keep := func(_ context.Context, hash string) (bool, error) { return hash == wanted.Hash, nil }
		for _, grace := range []time.Duration{0, time.Minute} {
			if swept, err := s.Blobs().Sweep(t.Context(), grace, keep); err != nil || swept != (Swept{}) {
				t.Errorf("grace %s: swept %+v (%v), although all is new", grace, swept, err)
			}
		}
		age(t, s, wanted, unwanted)
		swept, err := s.Blobs().Sweep(t.Context(), time.Hour, keep)
		if err != nil || swept != (Swept{Blobs: 1, Bytes: unwanted.Size}) {
			t.Errorf("swept %+v (%v)", swept, err)
		}
		if has(t, s, unwanted.Hash) || !has(t, s, wanted.Hash) {
			t.Error("the wrong one is gone")
		}
		if again := put(t, s, []byte("unwanted")); again != unwanted || !has(t, s, again.Hash) {
			t.Error("it cannot be put again")
		}
		failure := errors.New("cannot tell")
		_, err = s.Blobs().Sweep(t.Context(), time.Nanosecond, func(context.Context, string) (bool, error) { return false, failure })
		if !errors.Is(err, failure) || !has(t, s, wanted.Hash) {
			t.Errorf("got %v", err)
		}
	})
}

// TestPutDuringSweep puts old content again between the sweep's question and its deed.
func TestPutDuringSweep(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := open(t, config)
		blob := put(t, s, []byte("content"))
		age(t, s, blob)
		_, err := s.Blobs().Sweep(t.Context(), time.Hour, func(_ context.Context, hash string) (bool, error) {
			if hash != blob.Hash {
				t.Errorf("asked for %s", hash)
			}
			put(t, s, []byte("content"))
			return false, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !has(t, s, blob.Hash) {
			t.Error("the blob is gone, although Put had returned it")
		}
	})
}

func TestSweepGoesThroughAll(t *testing.T) {
	s := open(t, Config{Dir: fixtures.TempDir(t)})
	const count = 1203 // more than two pages
	kept := map[string]bool{}
	for i := range count {
		hash := fmt.Sprintf("%x", sha256.Sum256([]byte(fmt.Sprint(i))))
		path := filepath.Join(s.config.Dir, "blobs", hash[:2], hash)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, fmt.Sprint(i))
		makeOld(t, path)
		kept[hash] = i%3 == 0
	}
	asked := 0
	swept, err := s.Blobs().Sweep(t.Context(), time.Hour, func(_ context.Context, hash string) (bool, error) {
		asked++
		return kept[hash], nil
	})
	if err != nil || asked != count || swept.Blobs != count-(count+2)/3 {
		t.Errorf("asked for %d of %d, swept %+v (%v)", asked, count, swept, err)
	}
}

// TestInterruptedPutIsSwept: a process that was killed while it put leaves a file.
func TestInterruptedPutIsSwept(t *testing.T) {
	s := open(t, Config{Dir: fixtures.TempDir(t)})
	incoming := filepath.Join(s.config.Dir, "blobs", "incoming")
	writeFile(t, filepath.Join(incoming, "old"), "half")
	makeOld(t, filepath.Join(incoming, "old"))
	writeFile(t, filepath.Join(incoming, "new"), "half")
	if _, err := s.Blobs().Sweep(t.Context(), time.Hour, nil); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(incoming)
	if err != nil || len(left) != 1 || left[0].Name() != "new" {
		t.Errorf("left %v (%v)", left, err)
	}
}

func TestDamagedBlobIsReplaced(t *testing.T) {
	s := open(t, Config{Dir: fixtures.TempDir(t)})
	blob := put(t, s, []byte("content"))
	if err := os.Truncate(filepath.Join(s.config.Dir, "blobs", blob.Hash[:2], blob.Hash), 3); err != nil {
		t.Fatal(err)
	}
	put(t, s, []byte("content"))
	r, size, err := s.Blobs().Open(t.Context(), blob.Hash)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != "content" || size != blob.Size {
		t.Errorf("read %q (%v)", got, err)
	}
}

func TestMissingChunkIsNoticed(t *testing.T) {
	s := open(t, postgres(t))
	content := someBytes(2*chunkSize + 5)
	blob := put(t, s, content)
	for _, damage := range []string{"UPDATE blob_chunks SET data = 'x' WHERE part = 1", "DELETE FROM blob_chunks WHERE part = 1"} {
		if _, err := Exec(t.Context(), s.on(s.writer), damage); err != nil {
			t.Fatal(err)
		}
		r, _, err := s.Blobs().Open(t.Context(), blob.Hash)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, r); err == nil || n != chunkSize {
			t.Errorf("after %s: read %d bytes (%v)", damage, n, err)
		}
	}
}
