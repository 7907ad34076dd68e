package bundle

import (
	"archive/zip"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// An archive is a zip file whose entries all have been looked at.
type archive struct {
	zip   *zip.Reader
	files []*zip.File // plain files, by the directory's order
	named map[string]*zip.File
}

// modeTypes of a Unix mode, as the upper half of an entry's attributes has them.
const (
	modeType    = 0o170000
	modeRegular = 0o100000
	modeFolder  = 0o040000
	modeLink    = 0o120000
)

// mostFaults bounds the problems of the entries of one archive.
const mostFaults = 50

// open checks the structure of a zip file and the kinds and names of its entries. label is
// what messages call it. The archive is nil if there are problems.
func (r *reader) open(ra io.ReaderAt, size int64, label string) (*archive, error) {
	before := r.problems.Count(diag.Error)
	records, err := (&directory{r: ra, size: size, most: r.limits.Entries}).read()
	var b *brokenError
	if errors.As(err, &b) {
		at := diag.Range{File: label}
		if b.entry != "" {
			at = inside(label, b.entry)
		}
		r.add(b.id, at, b.message, b.hint)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(ra, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		r.add("package/damaged", diag.Range{File: label}, "cannot read the archive: "+err.Error(), uploadAgain)
		return nil, nil
	}
	if len(z.File) != len(records) {
		r.add("package/damaged", diag.Range{File: label}, "the archive has two directories", uploadAgain)
		return nil, nil
	}
	a := &archive{zip: z, named: map[string]*zip.File{}}
	r.entries(a, records, label)
	r.sizes(records, size, label)
	if r.problems.Count(diag.Error) > before {
		return nil, nil
	}
	return a, nil
}

// inside is the place of an entry. A name that could garble a message is quoted.
func inside(label, name string) diag.Range {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || len(name) > 256 {
		name = fmt.Sprintf("%q", diag.Cut(name))
	}
	return diag.Range{File: label + "!/" + name}
}

// entries judges each entry by itself and all of them together.
func (r *reader) entries(a *archive, records []record, label string) {
	taken := map[string]string{}   // names as every file system compares them, to names as written
	parents := map[string]string{} // likewise, of the folders that names imply
	faults := 0
	for i, rec := range records {
		file := a.zip.File[i]
		id, message, hint := "package/damaged", "the two directories of the archive disagree", uploadAgain
		if file.Name == rec.name {
			id, message, hint = judge(&rec, r.limits.Depth)
		}
		folder := strings.HasSuffix(rec.name, "/")
		name := strings.TrimSuffix(rec.name, "/")
		key := fold(name)
		if id == "" {
			if first, again := taken[key]; again {
				id, message, hint = "package/duplicate", fmt.Sprintf("the archive has this file twice: the other one is %q", first), "names that differ in case only are one file on many systems"
			} else if first, again := parents[key]; again && !folder {
				id, message, hint = "package/duplicate", fmt.Sprintf("this file is also a folder, in which %q is", first), "rename one of them"
			} else if first, again := below(taken, a.named, key); again {
				id, message, hint = "package/duplicate", fmt.Sprintf("%q is both a file and a folder", first), "rename one of them"
			}
		}
		if id != "" {
			if faults++; faults <= mostFaults {
				r.add(id, inside(label, rec.name), message, hint)
			}
			continue
		}
		taken[key] = name
		for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
			if _, known := parents[dir]; known {
				break
			}
			parents[dir] = name
		}
		if !folder {
			a.files = append(a.files, file)
			a.named[name] = file
		}
	}
	if faults > mostFaults {
		r.add("package/damaged", diag.Range{File: label}, fmt.Sprintf("%d more entries of the archive are invalid", faults-mostFaults), "")
	}
}

// below finds the file among the folders that a name implies.
func below(taken map[string]string, files map[string]*zip.File, key string) (string, bool) {
	for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
		if name, ok := taken[dir]; ok && files[name] != nil {
			return name, true
		}
	}
	return "", false
}

// fold is a name for comparison, as in case-insensitive file systems.
func fold(name string) string { return strings.ToLower(norm.NFC.String(name)) }

// judge returns what is wrong with one entry, "" if it is valid.
func judge(rec *record, depth int) (id, message, hint string) {
	if id, message, hint = judgeName(rec, depth); id != "" {
		return id, message, hint
	}
	switch {
	case rec.flags&flagEncrypted != 0:
		return "package/encrypted", "the entry is encrypted", "packages are not encrypted"
	case rec.flags&flagPatch != 0 || rec.method != zip.Store && rec.method != zip.Deflate:
		return "package/method", fmt.Sprintf("the entry is compressed with method %d", rec.method), `only the methods "stored" and "deflated" are read, as by the service`
	case rec.method == zip.Store && rec.packed != rec.unpacked:
		return "package/damaged", fmt.Sprintf("the entry is stored as it is, and yet has %d bytes for %d", rec.packed, rec.unpacked), uploadAgain
	}
	if rec.creator == 3 || rec.creator == 19 { // Unix, macOS
		switch mode := rec.attrs >> 16; mode & modeType {
		case 0, modeRegular:
		case modeFolder:
			if !strings.HasSuffix(rec.name, "/") {
				return "package/special-file", "the entry is a folder and has the name of a file", uploadAgain
			}
		case modeLink:
			return "package/special-file", "the entry is a symbolic link", "put the file itself there"
		default:
			return "package/special-file", "the entry is neither a file nor a folder", "remove it"
		}
	}
	if strings.HasSuffix(rec.name, "/") && rec.unpacked > 0 {
		return "package/special-file", "the entry is a folder and has contents", uploadAgain
	}
	return "", "", ""
}

func judgeName(rec *record, depth int) (id, message, hint string) {
	name := strings.TrimSuffix(rec.name, "/")
	const forward = "names are paths from the top of the archive, with forward slashes"
	switch {
	case name == "":
		return "package/name", "the name of the entry is empty", ""
	case !utf8.ValidString(name):
		return "package/name", "the name of the entry is not in UTF-8", "pack it with a program that writes names in UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "package/name", "the name of the entry has control characters", ""
	case strings.Contains(name, `\`):
		return "package/name", "the name of the entry has a backslash", forward
	case name[0] == '/' || len(name) > 1 && name[1] == ':' && isLetter(name[0]):
		return "package/name", "the name of the entry is an absolute path", forward
	case !fs.ValidPath(name) || name == ".":
		return "package/name", `the name of the entry has empty parts or such as "." and ".."`, forward
	case strings.Count(name, "/")+1 > depth:
		return "package/name", fmt.Sprintf("the entry lies more than %d folders deep", depth), ""
	}
	if fault := files.NameFault(name); fault != "" {
		return "package/name", "the name of the entry " + fault, "no usual file system takes it"
	}
	return "", "", ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// sizes checks the uncompressed sizes in the entries against the remaining limits, and deducts
// them.
func (r *reader) sizes(records []record, size int64, label string) {
	var sum int64
	for _, rec := range records {
		if rec.unpacked > r.limits.Unpacked-sum {
			r.add("package/too-large", diag.Range{File: label}, fmt.Sprintf("the package unpacks to more than the limit of %s", megabytes(r.config.Limits.Unpacked)), "remove files that the handlers do not need")
			return
		}
		sum += rec.unpacked
	}
	const little = 1 << 20
	if sum > little && size > 0 && sum/size > r.limits.Ratio {
		r.add("package/ratio", diag.Range{File: label}, fmt.Sprintf("the archive unpacks to %d times its size; the limit is %d times", sum/size, r.limits.Ratio), "the archive looks like a zip bomb: remove highly compressible files")
		return
	}
	r.limits.Unpacked -= sum
	r.limits.Entries -= len(records)
}

func megabytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// An entryError is a fault of the data of one entry.
type entryError struct{ message string }

func (e *entryError) Error() string { return e.message }

// copyEntry unpacks an entry into w. At most one byte more is written than the directory
// announced.
// The error is an *entryError, ctx's, or one of w or of the reader below.
func copyEntry(ctx context.Context, w io.Writer, file *zip.File) error {
	data, err := file.Open()
	if err != nil {
		return entryFault(err)
	}
	defer func() { _ = data.Close() }() // only read
	announced := int64(file.UncompressedSize64)
	n, err := io.Copy(w, &interruptible{ctx, io.LimitReader(data, announced+1)})
	switch {
	case n > announced || errors.Is(err, zip.ErrFormat): // which it is for archive/zip
		return &entryError{fmt.Sprintf("the entry has more than the %d bytes that the directory of the archive says", announced)}
	case err != nil:
		return entryFault(err)
	}
	return nil
}

// entryFault distinguishes errors of the data from those of the machine.
func entryFault(err error) error {
	var corrupt flate.CorruptInputError
	var internal flate.InternalError
	switch {
	case errors.Is(err, zip.ErrChecksum):
		return &entryError{"the contents of the entry are not those that were packed: the checksum differs"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &entryError{"the entry has fewer bytes than the directory of the archive says"}
	case errors.Is(err, zip.ErrFormat), errors.Is(err, zip.ErrAlgorithm):
		return &entryError{"the entry cannot be read: " + err.Error()}
	case errors.As(err, &corrupt), errors.As(err, &internal):
		return &entryError{"the compressed data of the entry are damaged"}
	}
	return err
}

// interruptible ends reading when ctx does.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, context.Cause(i.ctx)
	}
	return i.r.Read(p)
}

// document returns the contents of a file of the package, nil if it does not exist. A file
// that is too large is a problem.
func (r *reader) document(a *archive, name string, most int64) ([]byte, error) {
	file := a.named[name]
	if file == nil {
		return nil, nil
	}
	if file.UncompressedSize64 > uint64(most) {
		r.add("package/too-large", diag.Range{File: r.place(name)}, fmt.Sprintf("the file is larger than %s", megabytes(most)), "")
		return nil, nil
	}
	data, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = data.Close() }() // only read
	return document.ReadAll(data, most)
}
