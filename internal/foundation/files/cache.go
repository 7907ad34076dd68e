package files

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Cache is a folder of folders that are derived from something else, such as the unpacked
// code of packages, by the hash of what they are derived from. Any number of processes share
// one: a folder appears complete, by a rename. One that is damaged is derived again. What a
// process leaves behind that is killed meanwhile is swept later.
//
// Damage is what happens to files without anybody's intent: a full disk, a crash of the
// machine, a cleaner of old files, a disk that loses bits. The checksums are compared when a
// process uses a folder for the first time, and whenever a size or a time of modification has
// changed since.
type Cache struct {
	// Dir is the folder. It is created when it is first needed.
	Dir string

	// Now is the clock of the recorded uses. Nil means time.Now.
	Now func() time.Time

	mu       sync.Mutex
	verified map[string]uint32        // what the files of a folder looked like when they were whole
	busy     map[string]chan struct{} // of those that are checked or written; closed at the end
}

const (
	newPrefix = ".new-"
	oldPrefix = ".old-"
	listFile  = "contents" // the mode, size, checksum and name of everything else, one in a line
)

// mostList bounds the list of a folder, in bytes.
const mostList = 64 << 20

var (
	hashForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32,128}$`) })
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errDamaged = errors.New("the files are not what was written")
)

// Folder returns the folder for a hash. If it is missing or damaged, fill writes it. The
// error is that of fill, ctx's, or that of the file system.
func (c *Cache) Folder(ctx context.Context, hash string, fill func(context.Context, *os.Root) error) (string, error) {
	if !hashForm().MatchString(hash) {
		return "", fmt.Errorf("%q is not a hash", hash)
	}
	release, err := c.acquire(ctx, hash)
	if err != nil {
		return "", err
	}
	defer release()
	c.Touch(hash) // before looking: Sweep must see that it is in use
	dir := c.entry(hash)
	for {
		before, _ := os.Stat(dir) // nil if it is missing
		err := c.check(ctx, hash)
		if err == nil || ctx.Err() != nil {
			return dir, err
		}
		if before == nil {
			break // what another process places meanwhile stays
		}
		err = c.retire(hash, func(now fs.FileInfo) bool { return !os.SameFile(before, now) })
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			break
		}
		if !errors.Is(err, errInUse) {
			return "", err
		} // otherwise another process has written it meanwhile
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return "", err
	}
	err = Place(dir, func(root *os.Root) error {
		if err := fill(ctx, root); err != nil {
			return err
		}
		return writeList(ctx, root)
	})
	if err != nil {
		return "", err
	}
	return dir, c.check(ctx, hash) // another process may have been first
}

// acquire waits until nobody else in this process checks or writes a folder.
func (c *Cache) acquire(ctx context.Context, hash string) (release func(), err error) {
	for {
		c.mu.Lock()
		other, taken := c.busy[hash]
		if !taken {
			if c.busy == nil {
				c.busy = map[string]chan struct{}{}
			}
			done := make(chan struct{})
			c.busy[hash] = done
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.busy, hash)
				c.mu.Unlock()
				close(done)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (c *Cache) entry(hash string) string { return filepath.Join(c.Dir, hash) }

// Touch records the use of a folder, if it exists.
func (c *Cache) Touch(hash string) {
	now := c.now()
	_ = os.Chtimes(c.entry(hash), now, now) // a missing folder is not in use
}

func (c *Cache) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// Place fills a new folder next to dir and renames it to dir: complete and synced to disk, or
// not at all. An existing folder is not changed. The parent of dir must exist.
func Place(dir string, fill func(*os.Root) error) error {
	temp := filepath.Join(filepath.Dir(dir), newPrefix+rand.Text())
	if err := os.Mkdir(temp, 0o755); err != nil {
		return err
	}
	defer func() { _ = RemoveTemp(temp) }() // after the rename there is nothing to remove
	root, err := os.OpenRoot(temp)
	if err != nil {
		return err
	}
	err = fill(root)
	if err == nil {
		err = flush(temp)
	}
	if closed := root.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	err = os.Rename(temp, dir)
	if info, statErr := os.Stat(dir); err != nil && statErr == nil && info.IsDir() {
		return nil // another process was first
	}
	if err != nil {
		return err
	}
	return flushNames(filepath.Dir(dir))
}

// A line describes a file or folder of a Cache.
type line struct {
	mode string // as fs.FileMode writes it
	size int64
	sum  uint32
	name string // with slashes
}

// writeList records what a folder consists of.
func writeList(ctx context.Context, root *os.Root) error {
	var list strings.Builder
	err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." || !entry.IsDir() && !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var sum uint32
		if entry.Type().IsRegular() {
			file, err := root.Open(filepath.FromSlash(name))
			if err != nil {
				return err
			}
			sum, err = checksum(ctx, file, info.Size())
			_ = file.Close() // it was only read
			if err != nil {
				return err
			}
		}
		fmt.Fprintf(&list, "%s %d %08x %q\n", info.Mode(), sizeOf(info), sum, name)
		return nil
	})
	if err != nil {
		return err
	}
	return root.WriteFile(listFile, []byte(list.String()), 0o644)
}

// sizeOf is the size of a file. That of a folder depends on the file system.
func sizeOf(info fs.FileInfo) int64 {
	if info.IsDir() {
		return 0
	}
	return info.Size()
}

// checksum reads a file of a size.
func checksum(ctx context.Context, r io.Reader, size int64) (uint32, error) {
	hash := crc32.New(castagnoli)
	for left := size; left > 0; {
		if err := ctx.Err(); err != nil {
			return 0, context.Cause(ctx)
		}
		n, err := io.CopyN(hash, r, min(left, 16<<20))
		if errors.Is(err, io.EOF) {
			return 0, errDamaged
		}
		if err != nil {
			return 0, err
		}
		left -= n
	}
	return hash.Sum32(), nil
}

// check reports whether a folder has everything in its list. What was added is ignored. An
// error that is not ctx's means that the folder is missing or damaged.
func (c *Cache) check(ctx context.Context, hash string) error {
	dir := c.entry(hash)
	lines, err := readList(filepath.Join(dir, listFile))
	if err != nil {
		return err
	}
	looks := crc32.New(castagnoli)
	for _, l := range lines {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(l.name)))
		if err != nil {
			return err
		}
		if info.Mode().String() != l.mode || sizeOf(info) != l.size {
			return errDamaged
		}
		if !info.IsDir() {
			fmt.Fprintf(looks, "%d %d %08x %s\n", info.ModTime().UnixNano(), l.size, l.sum, l.name)
		}
	}
	c.mu.Lock()
	last, known := c.verified[hash]
	c.mu.Unlock()
	if known && last == looks.Sum32() {
		return nil
	}
	for _, l := range lines {
		if err := l.verify(ctx, dir); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.verified == nil {
		c.verified = map[string]uint32{}
	}
	c.verified[hash] = looks.Sum32()
	return nil
}

// verify compares the checksum of a file.
func (l line) verify(ctx context.Context, dir string) error {
	if strings.HasPrefix(l.mode, "d") {
		return nil
	}
	file, err := Open(filepath.Join(dir, filepath.FromSlash(l.name)))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	sum, err := checksum(ctx, file, l.size)
	if err == nil && sum != l.sum {
		err = errDamaged
	}
	return err
}

// readList reads the list of a folder.
func readList(path string) ([]line, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 || info.Size() > mostList {
		return nil, errDamaged
	}
	var lines []line
	reader := bufio.NewReader(io.LimitReader(file, mostList))
	for {
		text, err := reader.ReadString('\n')
		if errors.Is(err, io.EOF) && text == "" {
			return lines, nil
		}
		if err != nil {
			return nil, errDamaged // a line without its end, too
		}
		l, err := parseLine(strings.TrimSuffix(text, "\n"))
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
}

func parseLine(text string) (l line, err error) {
	fields := strings.SplitN(text, " ", 4)
	if len(fields) != 4 {
		return l, errDamaged
	}
	l.mode = fields[0]
	l.size, err = strconv.ParseInt(fields[1], 10, 64)
	sum, sumErr := strconv.ParseUint(fields[2], 16, 32)
	name, nameErr := strconv.Unquote(fields[3])
	l.sum, l.name = uint32(sum), name
	if err != nil || sumErr != nil || nameErr != nil || !filepath.IsLocal(filepath.FromSlash(l.name)) {
		return l, errDamaged
	}
	return l, nil
}

// Sweep removes folders that were not used for that long before now, and incomplete ones that
// are older than an hour. Folders that keep, which may be nil, reports to be needed stay. It returns how
// many folders it removed.
func (c *Cache) Sweep(ctx context.Context, now time.Time, unused time.Duration, keep func(context.Context, string) (bool, error)) (int, error) {
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, entry := range entries {
		if ctx.Err() != nil {
			return removed, context.Cause(ctx)
		}
		name := entry.Name()
		complete := hashForm().MatchString(name)
		if !complete && !strings.HasPrefix(name, newPrefix) && !strings.HasPrefix(name, oldPrefix) {
			continue // not ours
		}
		age := unused
		if !complete {
			age = time.Hour
		}
		info, err := entry.Info()
		if err != nil || now.Sub(info.ModTime()) < age {
			continue
		}
		if complete && keep != nil {
			if needed, err := keep(ctx, name); err != nil || needed {
				if err != nil {
					return removed, err
				}
				continue
			}
		}
		if !complete {
			err = RemoveAll(c.Dir, name)
		} else if err = c.retire(name, func(info fs.FileInfo) bool { return now.Sub(info.ModTime()) < unused }); err == nil {
			removed++
		}
		if err != nil && !errors.Is(err, errInUse) && !errors.Is(err, fs.ErrNotExist) {
			return removed, err
		}
	}
	return removed, nil
}

var errInUse = errors.New("in use")

// retire removes a folder, unless it is used: then the folder is restored, and the error is errInUse.
func (c *Cache) retire(hash string, used func(fs.FileInfo) bool) error {
	old := filepath.Join(c.Dir, oldPrefix+rand.Text())
	if err := os.Rename(c.entry(hash), old); err != nil {
		return err
	}
	if info, err := os.Stat(old); err == nil && used(info) {
		if os.Rename(old, c.entry(hash)) == nil {
			return errInUse
		}
	}
	c.mu.Lock()
	delete(c.verified, hash)
	c.mu.Unlock()
	return RemoveTemp(old)
}
