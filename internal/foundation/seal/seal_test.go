package seal

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
)

func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	first, err := LoadKey(path)
	ok(t, err)
	again, err := LoadKey(path)
	ok(t, err)
	if len(first) != KeySize || !bytes.Equal(first, again) {
		t.Errorf("the key is %x and then %x", first, again)
	}
	info, err := os.Stat(path)
	ok(t, err)
	if othersMayRead(info) {
		t.Errorf("the key's mode is %v", info.Mode())
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("there are other files beside the key: %v", entries)
	}
	ok(t, os.Chmod(path, 0o644))
	if _, err := LoadKey(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others may read gave %v", err)
	}
	ok(t, os.Chmod(path, 0o600))
	ok(t, os.Chmod(path, 0o440)) // as platforms of containers mount it
	if given, err := ReadKey(path); err != nil || !bytes.Equal(given, first) {
		t.Errorf("%x, %v", given, err)
	}
	ok(t, os.Chmod(path, 0o444))
	if _, err := ReadKey(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that everyone may read: %v", err)
	}
	if _, err := ReadKey(path + "-missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing key: %v", err)
	}
	ok(t, os.Chmod(path, 0o600))
	ok(t, os.WriteFile(path, []byte("deadbeef"), 0o600))
	if _, err := LoadKey(path); err == nil || strings.Contains(err.Error(), "deadbeef") {
		t.Errorf("a short key gave %v", err)
	}
}

// TestOtherKey opens a store with another key than the one that it is sealed with.
func TestOtherKey(t *testing.T) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			opened, err := store.Open(t.Context(), store.Config{Dir: place.Dir, DSN: place.DSN})
			ok(t, err)
			defer opened.Close()
			first, err := New(bytes.Repeat([]byte{7}, KeySize))
			ok(t, err)
			ok(t, first.Claim(t.Context(), opened))
			ok(t, first.Claim(t.Context(), opened))
			second, err := New(bytes.Repeat([]byte{8}, KeySize))
			ok(t, err)
			err = second.Claim(t.Context(), opened)
			var other *KeyError
			if !errors.As(err, &other) || other.Store == other.Given {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := New(nil); err == nil {
		t.Error("a sealer without a key was made")
	}
}

func TestSealing(t *testing.T) {
	s, err := New(make([]byte, KeySize))
	ok(t, err)
	sealed := s.Seal("owner", "hunter22")
	if text, err := s.Open("owner", sealed); err != nil || text != "hunter22" {
		t.Errorf("got %q, %v", text, err)
	}
	if sealed == s.Seal("owner", "hunter22") {
		t.Error("the same text is sealed to the same text twice")
	}
	for _, bad := range []struct{ owner, sealed string }{{"another", sealed}, {"owner", sealed[4:]}, {"owner", "!"}, {"owner", ""}} {
		if text, err := s.Open(bad.owner, bad.sealed); err == nil {
			t.Errorf("open(%q, %q) gave %q", bad.owner, bad.sealed, text)
		}
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
