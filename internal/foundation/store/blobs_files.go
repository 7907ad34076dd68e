package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// fileBlobs stores each blob as the file aa/<hash>, where aa is the first byte of the hash,
// and incomplete ones in the folder incoming. A file gets its name only when all its bytes are
// on the disk, so a crash never truncates one.
type fileBlobs struct {
	store *Store
	root  string
	// mu is held shared while a blob appears or is counted as put again, and alone while
	// one is removed: a removal must not come between a put and its answer.
	mu sync.RWMutex
}

const incoming = "incoming"

// newFileBlobs opens the blobs of a folder that this process has to itself: what others
// were putting when they ended is removed.
func newFileBlobs(s *Store, root string) (*Blobs, error) {
	if err := os.MkdirAll(filepath.Join(root, incoming), 0o700); err != nil {
		return nil, err
	}
	b := &fileBlobs{store: s, root: root}
	if err := b.tidy(context.Background(), time.Now().Add(time.Hour)); err != nil {
		return nil, err
	}
	return &Blobs{b}, nil
}

func (b *fileBlobs) path(hash string) string { return filepath.Join(b.root, hash[:2], hash) }

func (b *fileBlobs) receive(ctx context.Context, fill func(io.Writer) (Blob, error)) (Blob, error) {
	file, err := os.CreateTemp(filepath.Join(b.root, incoming), "")
	if err != nil {
		return Blob{}, b.store.explainFile(err)
	}
	defer func() {
		file.Close()
		_ = os.Remove(file.Name()) // already renamed if it was kept
	}()
	blob, err := fill(file)
	if err != nil {
		return Blob{}, b.store.explainFile(err)
	}
	if err := b.publish(file, blob); err != nil {
		return Blob{}, b.store.explainFile(err)
	}
	return blob, nil
}

// publish gives the file its name, first making sure that its bytes are on the disk and
// last that its name is.
func (b *fileBlobs) publish(file *os.File, blob Blob) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	path := b.path(blob.Hash)
	if info, err := os.Stat(path); err == nil && info.Size() == blob.Size {
		now := time.Now()
		return os.Chtimes(path, now, now)
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, 0o700); err == nil {
		if err := syncFolder(b.root); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncFolder(dir)
}

func (b *fileBlobs) open(_ context.Context, hash string) (BlobReader, int64, error) {
	file, err := os.Open(b.path(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, ErrNoBlob
	} else if err != nil {
		return nil, 0, b.store.explainFile(err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

func (b *fileBlobs) has(_ context.Context, hash string) (bool, error) {
	_, err := os.Stat(b.path(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (b *fileBlobs) old(_ context.Context, before time.Time, after string, limit int) ([]string, error) {
	folders, err := os.ReadDir(b.root) // sorted by name
	if err != nil {
		return nil, err
	}
	var hashes []string
	for _, folder := range folders {
		if !folder.IsDir() || len(folder.Name()) != 2 || after != "" && folder.Name() < after[:2] {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(b.root, folder.Name()))
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if !isHash(entry.Name()) || entry.Name() <= after {
				continue
			}
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) || err == nil && !info.ModTime().Before(before) {
				continue
			} else if err != nil {
				return nil, err
			}
			if hashes = append(hashes, entry.Name()); len(hashes) == limit {
				return hashes, nil
			}
		}
	}
	return hashes, nil
}

func (b *fileBlobs) remove(_ context.Context, hash string, before time.Time) (int64, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	info, err := os.Stat(b.path(hash))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.ModTime().Before(before) {
		return 0, false, nil
	} else if err != nil {
		return 0, false, err
	}
	return info.Size(), true, os.Remove(b.path(hash))
}

func (b *fileBlobs) tidy(_ context.Context, before time.Time) error {
	entries, err := os.ReadDir(filepath.Join(b.root, incoming))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue // ended just now, or still being written
		}
		if err := os.Remove(filepath.Join(b.root, incoming, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
