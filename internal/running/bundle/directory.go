package bundle

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// The records of a zip file (APPNOTE 4.3), by signature and fixed length.
const (
	localSignature      = 0x04034b50
	localLength         = 30
	centralSignature    = 0x02014b50
	centralLength       = 46
	endSignature        = 0x06054b50
	endLength           = 22
	end64Signature      = 0x06064b50
	end64Length         = 56
	locator64Signature  = 0x07064b50
	locator64Length     = 20
	descriptorSignature = 0x08074b50

	longestComment = 1<<16 - 1
	extra64        = 0x0001

	flagEncrypted  = 1<<0 | 1<<6 | 1<<13
	flagDescriptor = 1 << 3
	flagPatch      = 1 << 5
	flagUTF8       = 1 << 11
)

// A record is one entry as both directories of a zip file describe it: the central one at
// its end, and the local header before its data.
type record struct {
	name    string
	flags   uint16
	method  uint16
	creator byte   // the system whose attributes these are
	attrs   uint32 // of the file
	crc     uint32

	packed, unpacked int64
	header           int64 // where the local header is
	end              int64 // behind the data and the data descriptor
}

// A brokenError is the reason why a file is not a valid zip file. With entry it is about that
// one.
type brokenError struct {
	id, entry, message, hint string
}

func (e *brokenError) Error() string { return e.message }

func broken(id, format string, args ...any) *brokenError {
	return &brokenError{id: id, message: fmt.Sprintf(format, args...)}
}

const uploadAgain = "pack it again, and upload all of it"

func damaged(format string, args ...any) *brokenError {
	e := broken("package/damaged", format, args...)
	e.hint = uploadAgain
	return e
}

// A directory reads the structure of a zip file, which is untrusted: its records are counted
// before they are used, are inside of the file and do not overlap. archive/zip, which reads
// the data afterwards, checks less, and counts after it has read.
type directory struct {
	r    io.ReaderAt
	size int64
	most int // entries
}

// read returns the records in the order of the central directory. The error is a
// *brokenError or that of r.
func (d *directory) read() ([]record, error) {
	start, length, count, err := d.find()
	if err != nil {
		return nil, err
	}
	if count > uint64(d.most) {
		return nil, broken("package/too-many-entries", "the archive has %d entries, more than the limit of %d", count, d.most)
	}
	records, err := d.central(start, length, int(count))
	if err != nil {
		return nil, err
	}
	for i := range records {
		if err := d.local(&records[i]); err != nil {
			var b *brokenError
			if errors.As(err, &b) {
				b.entry = records[i].name
			}
			return nil, err
		}
	}
	return records, overlap(records, start)
}

// at reads n bytes at an offset that was checked to be inside of the file.
func (d *directory) at(offset int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if got, err := d.r.ReadAt(b, offset); got < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return b, nil
}

// find locates the central directory by the record at the end of the file.
func (d *directory) find() (start, length int64, count uint64, err error) {
	tail, err := d.at(max(0, d.size-endLength-longestComment), int(min(d.size, endLength+longestComment)))
	if err != nil {
		return 0, 0, 0, err
	}
	at := -1
	for i := len(tail) - endLength; i >= 0 && at < 0; i-- {
		if u32(tail[i:]) == endSignature && i+endLength+int(u16(tail[i+20:])) == len(tail) {
			at = i
		}
	}
	if at < 0 {
		return 0, 0, 0, d.notZip()
	}
	end, place := tail[at:], d.size-int64(len(tail)-at)
	count, length, start = uint64(u16(end[10:])), int64(u32(end[12:])), int64(u32(end[16:]))
	several := u16(end[4:]) != 0 && u16(end[4:]) != 0xffff || u16(end[6:]) != 0 && u16(end[6:]) != 0xffff || u16(end[8:]) != u16(end[10:])
	if count == 0xffff || length == 0xffffffff || start == 0xffffffff {
		record, before, err := d.end64(place)
		if err != nil {
			return 0, 0, 0, err
		}
		if record != nil {
			place = before
			several = u32(record[16:]) != 0 || u32(record[20:]) != 0 || u64(record[24:]) != u64(record[32:])
			count, length, start = u64(record[32:]), int64(u64(record[40:])), int64(u64(record[48:]))
		}
	}
	switch {
	case several:
		return 0, 0, 0, broken("package/damaged", "the archive is one of several volumes")
	case length < 0 || start < 0 || start > place || length > place-start:
		return 0, 0, 0, damaged("the directory of the archive lies outside of it")
	case start+length != place:
		return 0, 0, 0, damaged("%d bytes stand before the archive or between its directory and its end", place-start-length)
	}
	return start, length, count, nil
}

// end64 reads the record of large archives, nil if it is missing.
func (d *directory) end64(end int64) (record []byte, place int64, err error) {
	if end < locator64Length {
		return nil, 0, nil
	}
	locator, err := d.at(end-locator64Length, locator64Length)
	if err != nil || u32(locator) != locator64Signature {
		return nil, 0, err
	}
	place = int64(u64(locator[8:]))
	if place < 0 || place > end-locator64Length-end64Length {
		return nil, 0, damaged("the end of the archive lies outside of it")
	}
	record, err = d.at(place, end64Length)
	if err == nil && (u32(record) != end64Signature || place+12+int64(u64(record[4:])) != end-locator64Length) {
		return nil, 0, damaged("the end of the archive is damaged")
	}
	return record, place, err
}

// notZip describes a file without the record at its end.
func (d *directory) notZip() error {
	head, err := d.at(0, int(min(d.size, 4)))
	switch {
	case err != nil:
		return err
	case len(head) == 4 && u32(head) == localSignature:
		e := broken("package/truncated", "the zip file is cut off: its end is missing")
		e.hint = uploadAgain
		return e
	case d.size == 0:
		return broken("package/not-zip", "the file is empty")
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return broken("package/not-zip", "the file is compressed with gzip, and no zip file")
	}
	return broken("package/not-zip", "the file is not a zip file")
}

// central reads the central directory.
func (d *directory) central(start, length int64, count int) ([]record, error) {
	if length > int64(count)*(centralLength+3*longestComment) || length < int64(count)*centralLength {
		return nil, damaged("the directory of the archive has %d bytes, which cannot be for %d entries", length, count)
	}
	const step = 1 << 20
	var window []byte // what is read and not used of the directory
	next := start
	fill := func(n int) error {
		for len(window) < n {
			left := start + length - next
			if left == 0 {
				return damaged("the directory of the archive ends in the middle of an entry")
			}
			more, err := d.at(next, int(min(left, step)))
			if err != nil {
				return err
			}
			window = append(window[:len(window):len(window)], more...)
			next += int64(len(more))
		}
		return nil
	}
	records := make([]record, 0, count)
	for range count {
		if err := fill(centralLength); err != nil {
			return nil, err
		}
		if u32(window) != centralSignature {
			return nil, damaged("the directory of the archive ends before its %d entries do", count)
		}
		n := centralLength + int(u16(window[28:])) + int(u16(window[30:])) + int(u16(window[32:]))
		if err := fill(n); err != nil {
			return nil, err
		}
		r, err := parseCentral(window[:n])
		if err != nil {
			return nil, err
		}
		records = append(records, r)
		window = window[n:]
	}
	if len(window) > 0 || next != start+length {
		return nil, damaged("the directory of the archive has more than its %d entries", count)
	}
	return records, nil
}

func parseCentral(b []byte) (record, error) {
	nameEnd := centralLength + int(u16(b[28:]))
	r := record{
		name:    string(b[centralLength:nameEnd]),
		creator: b[5],
		flags:   u16(b[8:]), method: u16(b[10:]),
		crc: u32(b[16:]), packed: int64(u32(b[20:])), unpacked: int64(u32(b[24:])),
		attrs: u32(b[38:]), header: int64(u32(b[42:])),
	}
	extra := b[nameEnd : nameEnd+int(u16(b[30:]))]
	if !wide(extra, &r.unpacked, &r.packed, &r.header) {
		e := damaged("the sizes of the entry are damaged")
		e.entry = r.name
		return r, e
	}
	if disk := u16(b[34:]); disk != 0 && disk != 0xffff {
		return r, broken("package/damaged", "the archive is one of several volumes")
	}
	return r, nil
}

// wide replaces the fields that mean "too large for 32 bits" by those of the extra field,
// which are in this order. It returns false if they are missing or negative.
func wide(extra []byte, fields ...*int64) bool {
	var values []byte
	for len(extra) >= 4 {
		id, n := u16(extra), int(u16(extra[2:]))
		if n > len(extra)-4 {
			break // other programs leave a torso at the end, which says nothing
		}
		if id == extra64 {
			values = extra[4 : 4+n]
			break
		}
		extra = extra[4+n:]
	}
	for _, field := range fields {
		if *field != 0xffffffff {
			continue
		}
		if len(values) < 8 {
			return values == nil // exactly 4 GiB - 1, from a program without the extension
		}
		*field, values = int64(u64(values)), values[8:]
		if *field < 0 {
			return false
		}
	}
	return true
}

// local compares the header before the data with the central directory, and finds the end of
// the data.
func (d *directory) local(r *record) error {
	if r.header > d.size-localLength {
		return damaged("the entry lies outside of the archive")
	}
	b, err := d.at(r.header, localLength)
	if err != nil {
		return err
	}
	nameLength, extraLength := int(u16(b[26:])), int(u16(b[28:]))
	data := r.header + localLength + int64(nameLength) + int64(extraLength)
	if u32(b) != localSignature || data > d.size || r.packed > d.size-data {
		return damaged("the entry lies outside of the archive")
	}
	rest, err := d.at(r.header+localLength, nameLength+extraLength)
	if err != nil {
		return err
	}
	r.end = data + r.packed
	if string(rest[:nameLength]) != r.name || u16(b[8:]) != r.method || (u16(b[6:])^r.flags)&(flagEncrypted|flagDescriptor) != 0 {
		return damaged("the entry and the directory of the archive disagree about its name or its kind")
	}
	if r.flags&flagDescriptor != 0 {
		return d.descriptor(r)
	}
	packed, unpacked := int64(u32(b[18:])), int64(u32(b[22:]))
	if !wide(rest[nameLength:], &unpacked, &packed) || packed != r.packed || unpacked != r.unpacked || u32(b[14:]) != r.crc {
		return damaged("the entry and the directory of the archive disagree about its size")
	}
	return nil
}

// descriptor reads the sizes after the data of an entry, which come with and
// without a signature, in 32 and in 64 bits.
func (d *directory) descriptor(r *record) error {
	b, err := d.at(r.end, int(min(24, d.size-r.end)))
	if err != nil {
		return err
	}
	for _, signed := range []int{4, 0} {
		for _, width := range []int{4, 8} {
			n := signed + 4 + 2*width
			if len(b) < n || signed > 0 && u32(b) != descriptorSignature {
				continue
			}
			packed, unpacked := int64(u32(b[signed+4:])), int64(u32(b[signed+4+4:]))
			if width == 8 {
				packed, unpacked = int64(u64(b[signed+4:])), int64(u64(b[signed+4+8:]))
			}
			if u32(b[signed:]) == r.crc && packed == r.packed && unpacked == r.unpacked {
				r.end += int64(n)
				return nil
			}
		}
	}
	if r.packed == 0 && r.unpacked == 0 {
		return nil // of a folder, where some programs promise a descriptor and write none
	}
	return damaged("the entry and the directory of the archive disagree about its size")
}

// overlap refuses entries that share bytes with each other or with the directory.
func overlap(records []record, directory int64) error {
	sorted := make([]*record, len(records))
	for i := range records {
		sorted[i] = &records[i]
	}
	slices.SortFunc(sorted, func(a, b *record) int { return cmp.Compare(a.header, b.header) })
	for i, r := range sorted {
		next := directory
		if i+1 < len(sorted) {
			next = sorted[i+1].header
		}
		if r.end > next {
			e := broken("package/overlap", "entries of the archive overlap: their sizes are not those of what they hold")
			e.entry, e.hint = r.name, "pack it again with an ordinary program"
			return e
		}
	}
	return nil
}

func u16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
