// Package seal encrypts secrets in the database: AES-256-GCM with one key, which is in a file
// beside the data. docs/decisions/0010-secrets-are-sealed.md describes the limits of that.
package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// KeySize is the size of a key in bytes.
const KeySize = 32

// A KeyError reports that the key is not the one that the store's secrets are sealed with.
type KeyError struct {
	Store, Given string // fingerprints
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("the secrets of this store are sealed with another key (fingerprint %s, not %s): give the key that they were made with", e.Store, e.Given)
}

// Derive returns a key for one purpose, made of the key that all nodes on a database share.
func Derive(key []byte, purpose string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("formwork: " + purpose))
	return mac.Sum(nil)
}

// ParseKey reads a key as LoadKey writes it: 64 hexadecimal digits, with white space
// around. The error does not quote it.
func ParseKey(text string) ([]byte, error) {
	key, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != KeySize {
		return nil, fmt.Errorf("a key must have %d hexadecimal digits", 2*KeySize)
	}
	return key, nil
}

// LoadKey reads the key in a file, and makes a random one where there is no file. The file
// is for its owner only; one that others may read is refused.
func LoadKey(path string) ([]byte, error) {
	for range 2 {
		key, err := readKey(path, othersMayRead)
		if !errors.Is(err, fs.ErrNotExist) {
			return key, err
		}
		if err := makeKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("making the key %s: %w", path, err)
		}
	}
	return readKey(path, othersMayRead)
}

// ReadKey reads the key in a file that something else has made, such as a container platform. The
// file may be readable for its group.
func ReadKey(path string) ([]byte, error) { return readKey(path, worldMayRead) }

func readKey(path string, exposed func(fs.FileInfo) bool) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > 1024 {
		return nil, fmt.Errorf("the key %s is not a file of %d hexadecimal digits", path, 2*KeySize)
	}
	if exposed(info) {
		return nil, fmt.Errorf("other users can read the key %s: run chmod 600 %s", path, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	key, err := ParseKey(string(text))
	if err != nil {
		return nil, fmt.Errorf("the key %s: %w", path, err)
	}
	return key, nil
}

// makeKey writes a random key to a new file, completely or not at all.
func makeKey(path string) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".key-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is only a second name then
	key := make([]byte, KeySize)
	rand.Read(key)
	_, err = file.WriteString(hex.EncodeToString(key) + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Link(file.Name(), path) // fails if another process was first
}

// A Sealer encrypts secrets in the database: AES-256-GCM, with the owner of the value as
// associated data, so that no sealed value can be put in the place of another.
type Sealer struct {
	aead        cipher.AEAD
	fingerprint string
}

// New returns a sealer with a key of KeySize bytes.
func New(key []byte) (*Sealer, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("the key for secrets has %d bytes; expected %d", len(key), KeySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte("formwork sealing key "), key...))
	return &Sealer{aead, hex.EncodeToString(sum[:8])}, nil
}

// Seal encrypts a value that belongs to owner.
func (s *Sealer) Seal(owner, value string) string {
	return base64.StdEncoding.EncodeToString(s.aead.Seal(nil, nil, []byte(value), []byte(owner)))
}

// Open decrypts what Seal made for the same owner.
func (s *Sealer) Open(owner, sealed string) (string, error) {
	text, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return "", errors.New("an encrypted value is damaged")
	}
	value, err := s.aead.Open(nil, nil, text, []byte(owner))
	if err != nil {
		return "", errors.New("an encrypted value is damaged, or encrypted with another key")
	}
	return string(value), nil
}

type keyRow struct {
	store.Row   `db:"sealing_keys"`
	ID          string `db:"id,pk"`
	Fingerprint string `db:"fingerprint"`
}

// Claim returns a *KeyError unless the key is the one that the store is sealed with. The
// first key that a store sees becomes that one.
func (s *Sealer) Claim(ctx context.Context, st *store.Store) error {
	return st.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		row := keyRow{}
		err := store.Get(ctx, tx, &row, "WHERE id = ?", "secrets")
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return store.Insert(ctx, tx, &keyRow{ID: "secrets", Fingerprint: s.fingerprint})
		case err != nil:
			return fmt.Errorf("reading the fingerprint of the key: %w", err)
		case row.Fingerprint != s.fingerprint:
			return &KeyError{Store: row.Fingerprint, Given: s.fingerprint}
		}
		return nil
	})
}
