package awswire

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// Bodies bounds what the bodies of all requests together take. A body that is read whole is
// read into a file first if it is large, however slowly it comes, and into memory when its
// request is known to be good and there is room. Others wait, and are refused with status
// 503 if that takes too long. Set the fields before the first use.
type Bodies struct {
	Dir       string        // of the files; "" is the system's folder of temporary files
	Threshold int64         // larger bodies wait in files. Zero means 32 KiB
	Memory    int64         // bytes of such bodies in memory. Zero means 32 MiB
	Disk      int64         // bytes of such bodies in files. Zero means 1 GiB
	WaitLimit time.Duration // how long a request waits for room. Zero means 20 s

	// Room returns [ErrMemory] if the process has no memory for a large body of a request. Nil means that it always has.
	Room func(ctx context.Context) error

	once         sync.Once
	memory, disk *semaphore.Weighted
}

func (b *Bodies) init() {
	b.once.Do(func() {
		for field, value := range map[*int64]int64{&b.Threshold: 32 << 10, &b.Memory: 32 << 20, &b.Disk: 1 << 30} {
			if *field == 0 {
				*field = value
			}
		}
		if b.WaitLimit == 0 {
			b.WaitLimit = 20 * time.Second
		}
		b.memory, b.disk = semaphore.NewWeighted(b.Memory), semaphore.NewWeighted(b.Disk)
	})
}

// Hold puts the body of a request under the bounds, without reading it. The function that
// it returns returns what the body takes; call it when the request has been answered.
func (b *Bodies) Hold(r *http.Request) (release func()) {
	b.init()
	if r.Body == nil || r.Body == http.NoBody {
		return func() {}
	}
	h := &heldBody{bodies: b, source: r.Body, length: r.ContentLength}
	r.Body = h
	return h.release
}

// Reserve reads the body of a request that is held, of at most max bytes, to its end, and
// waits until there is room in memory for it. The error is an *Error.
func (b *Bodies) Reserve(r *http.Request, max int64) error {
	b.init()
	h, held := r.Body.(*heldBody)
	if !held {
		return nil
	}
	if err := h.spool(r.Context(), max); err != nil {
		return err
	}
	return h.reserve(r.Context(), b)
}

// A heldBody is the body of a request. Until it is needed as a whole it is read from the
// client; afterwards from memory or from its file, each time from the beginning.
type heldBody struct {
	bodies *Bodies
	source io.ReadCloser
	length int64 // -1 if the request does not say

	whole   bool // it has been read to its end
	size    int64
	sum     [sha256.Size]byte
	content []byte // nil while it is only in the file
	file    *files.Temporary
	key     []byte // of the file
	reader  io.Reader

	onDisk     int64 // of the disk's budget
	reserved   int64 // of the memory of reservedIn
	reservedIn *Bodies
}

func (h *heldBody) Read(p []byte) (int, error) {
	if !h.whole {
		return h.source.Read(p)
	}
	if h.reader == nil {
		if err := h.rewind(); err != nil {
			return 0, err
		}
	}
	return h.reader.Read(p)
}

func (h *heldBody) Close() error { return h.source.Close() }

// rewind starts reading from the beginning.
func (h *heldBody) rewind() error {
	if h.file == nil || h.content != nil {
		h.reader = bytes.NewReader(h.content)
		return nil
	}
	if _, err := h.file.Seek(0, io.SeekStart); err != nil {
		return unavailable(err)
	}
	h.reader = cipher.StreamReader{S: keyStream(h.key), R: h.file}
	return nil
}

// spool reads the body to its end.
func (h *heldBody) spool(ctx context.Context, max int64) error {
	switch {
	case h.whole && h.size > max, h.length > max:
		return tooLarge(max)
	case h.whole:
		return nil
	}
	sum := sha256.New()
	source := io.TeeReader(io.LimitReader(h.source, max+1), sum)
	small, err := io.ReadAll(io.LimitReader(source, h.bodies.Threshold+1))
	if err != nil {
		return brokenOff(err)
	}
	if h.size = int64(len(small)); h.size <= h.bodies.Threshold {
		h.content = small
	} else if err := h.spoolToFile(ctx, io.MultiReader(bytes.NewReader(small), source), max); err != nil {
		return err
	}
	if h.size > max {
		return tooLarge(max)
	}
	h.whole = true
	sum.Sum(h.sum[:0])
	return nil
}

// spoolToFile writes the body to a file without a name that only this process can read.
func (h *heldBody) spoolToFile(ctx context.Context, source io.Reader, max int64) error {
	room := h.length
	if room < 0 {
		room = max
	}
	if err := h.bodies.acquire(ctx, h.bodies.disk, room, h.bodies.Disk); err != nil {
		return err
	}
	h.onDisk = room
	file, err := files.OpenTemporary(h.bodies.Dir, "body-*")
	if err != nil {
		return unavailable(err)
	}
	h.file = file
	// A body may have secrets in it, and disks forget nothing.
	h.key = make([]byte, 32)
	rand.Read(h.key)
	from := &sourceErrors{Reader: source}
	h.size, err = io.Copy(cipher.StreamWriter{S: keyStream(h.key), W: file}, from)
	switch {
	case from.err != nil:
		return brokenOff(from.err)
	case err != nil:
		return unavailable(fmt.Errorf("keep a body in a file: %w", err))
	}
	return nil
}

// keyStream returns the key stream of a file, whose key is used for nothing else.
func keyStream(key []byte) cipher.Stream {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the key is of the right length
	}
	return cipher.NewCTR(block, make([]byte, aes.BlockSize))
}

// sourceErrors distinguishes errors of reading from errors of writing.
type sourceErrors struct {
	io.Reader
	err error
}

func (s *sourceErrors) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// reserve waits for room in memory.
func (h *heldBody) reserve(ctx context.Context, in *Bodies) error {
	if h.reservedIn != nil || h.file == nil {
		return nil
	}
	if in.Room != nil && in.Room(ctx) != nil {
		return noMemory()
	}
	if err := in.acquire(ctx, in.memory, h.size, in.Memory); err != nil {
		return err
	}
	h.reserved, h.reservedIn = h.size, in
	return nil
}

// bytes returns the whole body.
func (h *heldBody) bytes(ctx context.Context, max int64) ([]byte, error) {
	if err := h.spool(ctx, max); err != nil {
		return nil, err
	}
	if h.content == nil && h.file != nil {
		if err := h.reserve(ctx, h.bodies); err != nil {
			return nil, err
		}
		if err := h.rewind(); err != nil {
			return nil, err
		}
		content := make([]byte, h.size)
		if _, err := io.ReadFull(h.reader, content); err != nil {
			return nil, unavailable(err)
		}
		h.content = content
	}
	h.reader = nil // the next reader starts at the beginning
	return h.content, nil
}

func (h *heldBody) release() {
	if h.file != nil {
		_ = h.file.Close()
	}
	if h.onDisk > 0 {
		h.bodies.disk.Release(min(h.onDisk, h.bodies.Disk))
	}
	if h.reservedIn != nil {
		h.reservedIn.memory.Release(min(h.reserved, h.reservedIn.Memory))
	}
	h.onDisk, h.reservedIn, h.content, h.file = 0, nil, nil, nil
}

// acquire waits for room. What is larger than all of it gets all of it.
func (b *Bodies) acquire(ctx context.Context, of *semaphore.Weighted, n, most int64) error {
	waiting, cancel := context.WithTimeout(ctx, b.WaitLimit)
	defer cancel()
	if of.Acquire(waiting, min(n, most)) != nil {
		return Errorf("ServiceUnavailable", http.StatusServiceUnavailable, "Too many requests with large bodies are in progress. Try again.")
	}
	return nil
}

func unavailable(cause error) *Error {
	e := Errorf("ServiceUnavailable", http.StatusServiceUnavailable, "The body of the request cannot be stored at the moment. Try again.")
	e.Cause = cause
	return e
}

func brokenOff(err error) *Error {
	var refused *Error
	if errors.As(err, &refused) {
		return refused
	}
	return Errorf("RequestTimeout", http.StatusBadRequest, "The body of the request could not be read completely")
}
