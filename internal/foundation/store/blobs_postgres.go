package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// chunkSize is how much of a blob one row contains. A blob is read into memory chunk by chunk.
const chunkSize = 1 << 20

// tableBlobs keeps blobs in PostgreSQL, where every node finds them. A blob's row and
// its chunks appear with one commit.
type tableBlobs struct{ store *Store }

type blobRow struct {
	Row `db:"blobs"`

	Hash    string `db:"hash,pk"`
	Size    int64  `db:"size"`
	Touched Time   `db:"touched"` // by the database's clock
}

type chunkRow struct {
	Row `db:"blob_chunks"`

	Hash string `db:"hash,pk"`
	Part int64  `db:"part,pk"`
	Data []byte `db:"data"`
}

func newTableBlobs(s *Store) *Blobs { return &Blobs{&tableBlobs{s}} }

// receive spools to a file first: no transaction waits for a slow sender, and the hash is
// known before the first row is written.
func (b *tableBlobs) receive(ctx context.Context, fill func(io.Writer) (Blob, error)) (Blob, error) {
	spool, err := files.OpenTemporary("", "formwork-blob-")
	if err != nil {
		return Blob{}, err
	}
	defer func() { _ = spool.Close() }()
	blob, err := fill(spool)
	if err != nil {
		return Blob{}, err
	}
	return blob, b.publish(ctx, blob, spool)
}

func (b *tableBlobs) publish(ctx context.Context, blob Blob, content io.ReaderAt) error {
	return b.store.inTx(ctx, b.store.writer, nil, func(tx DB) error {
		var fresh bool
		// xmax is zero in a row that this statement has inserted. The row is locked
		// either way, so no Sweep removes it meanwhile.
		err := Query(ctx, tx, &fresh, `INSERT INTO blobs (hash, size, touched) VALUES (?, ?, ?)
			ON CONFLICT (hash) DO UPDATE SET touched = excluded.touched RETURNING xmax = 0`,
			blob.Hash, blob.Size, At(time.Now()))
		if err != nil || !fresh {
			return err
		}
		buffer := make([]byte, min(chunkSize, blob.Size))
		for part := int64(0); part*chunkSize < blob.Size; part++ {
			n, err := content.ReadAt(buffer[:min(chunkSize, blob.Size-part*chunkSize)], part*chunkSize)
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			row := chunkRow{Hash: blob.Hash, Part: part, Data: buffer[:n]}
			if err := Insert(ctx, tx, &row); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *tableBlobs) open(ctx context.Context, hash string) (BlobReader, int64, error) {
	var row blobRow
	err := Get(ctx, b.store.Read(), &row, "WHERE hash = ?", hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, ErrNoBlob
	} else if err != nil {
		return nil, 0, err
	}
	chunks := &chunkReader{ctx: ctx, db: b.store.Read(), hash: hash, size: row.Size, held: -1}
	return &chunkedBlob{io.NewSectionReader(chunks, 0, row.Size)}, row.Size, nil
}

func (b *tableBlobs) has(ctx context.Context, hash string) (bool, error) {
	return Exists(ctx, b.store.Read(), "FROM blobs WHERE hash = ?", hash)
}

func (b *tableBlobs) old(ctx context.Context, before time.Time, after string, limit int) ([]string, error) {
	var hashes []string
	err := Query(ctx, b.store.Read(), &hashes, "SELECT hash FROM blobs WHERE hash > ? AND touched < ? ORDER BY hash LIMIT ?", after, At(before), limit)
	return hashes, err
}

func (b *tableBlobs) remove(ctx context.Context, hash string, before time.Time) (int64, bool, error) {
	var size int64
	err := Query(ctx, b.store.on(b.store.writer), &size, "DELETE FROM blobs WHERE hash = ? AND touched < ? RETURNING size", hash, At(before))
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return size, err == nil, err
}

func (b *tableBlobs) tidy(context.Context, time.Time) error { return nil }

// A chunkedBlob reads a blob out of rows.
type chunkedBlob struct{ *io.SectionReader }

func (*chunkedBlob) Close() error { return nil }

// A chunkReader holds the chunk that was read last.
type chunkReader struct {
	ctx  context.Context
	db   DB
	hash string
	size int64

	mu   sync.Mutex
	held int64 // the part in data, -1 for none
	data []byte
}

func (r *chunkReader) ReadAt(p []byte, offset int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for n < len(p) {
		at := offset + int64(n)
		if at >= r.size {
			return n, io.EOF
		}
		if err := r.load(at / chunkSize); err != nil {
			return n, err
		}
		n += copy(p[n:], r.data[at%chunkSize:])
	}
	return n, nil
}

func (r *chunkReader) load(part int64) error {
	if r.held == part {
		return nil
	}
	var row chunkRow
	err := Get(r.ctx, r.db, &row, "WHERE hash = ? AND part = ?", r.hash, part)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("blob %s has no part %d: %w", r.hash, part, ErrNoBlob)
	} else if err != nil {
		return fmt.Errorf("blob %s: %w", r.hash, err)
	}
	if want := min(chunkSize, r.size-part*chunkSize); int64(len(row.Data)) != want {
		return fmt.Errorf("blob %s is damaged: its part %d has %d of %d bytes", r.hash, part, len(row.Data), want)
	}
	r.held, r.data = part, row.Data
	return nil
}
