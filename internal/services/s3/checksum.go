package s3

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// An algorithm is one of S3's checksums. Values travel in base64, CRCs big-endian.
type algorithm struct {
	name    string // as clients write it: "CRC64NVME"
	size    int    // bytes
	make    func() hash.Hash
	combine *crcForm // of the CRCs, whose parts give the checksum of the whole
}

func (a *algorithm) header() string { return checksumHeader + strings.ToLower(a.name) }

const checksumHeader = "X-Amz-Checksum-"

// nvme is the polynomial of CRC-64/NVME, reflected.
const nvme = 0x9a6c9329ac4bc9b5

var nvmeTable = crc64.MakeTable(nvme)

// algorithms are the checksums that are computed here. The XXHASH family, which S3 also
// has, is refused by name.
var algorithms = []*algorithm{
	{"CRC32", 4, func() hash.Hash { return crc32.NewIEEE() }, &crcForm{32, crc32.IEEE}},
	{"CRC32C", 4, func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }, &crcForm{32, crc32.Castagnoli}},
	{"CRC64NVME", 8, func() hash.Hash { return crc64.New(nvmeTable) }, &crcForm{64, nvme}},
	{"SHA1", sha1.Size, sha1.New, nil},
	{"SHA256", sha256.Size, sha256.New, nil},
	{"SHA512", sha512.Size, sha512.New, nil},
	{"MD5", md5.Size, md5.New, nil},
}

// A sumElement is a checksum in the XML of S3: <ChecksumSHA256>…</ChecksumSHA256>.
type sumElement struct {
	XMLName xml.Name
	Value   string `xml:",chardata"`
}

// elements are the checksum for an answer, nil without one.
func (c checksum) elements() []sumElement {
	if c.Sum == "" {
		return nil
	}
	return []sumElement{{xml.Name{Local: "Checksum" + c.Algorithm}, c.Sum}}
}

// defaultAlgorithm is what S3 computes for an object that comes without a checksum.
const defaultAlgorithm = "CRC64NVME"

func algorithmNamed(name string) (*algorithm, error) {
	for _, a := range algorithms {
		if strings.EqualFold(a.name, name) {
			return a, nil
		}
	}
	if upper := strings.ToUpper(name); strings.HasPrefix(upper, "XXHASH") {
		return nil, s3NotImplemented("the checksum algorithm " + upper)
	}
	return nil, s3Error("InvalidRequest", "Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]")
}

// A checksum is a value with its algorithm. Composite is that of a multipart object whose
// checksum is made from those of its parts; its value then ends in -N.
type checksum struct {
	Algorithm string `json:"a,omitempty"`
	Sum       string `json:"v,omitempty"`
	Composite bool   `json:"c,omitempty"`
}

func (c checksum) kind() string {
	if c.Composite {
		return "COMPOSITE"
	}
	return "FULL_OBJECT"
}

// A digester computes the ETag and a checksum of what passes through it. What the client
// says about its bytes is checked by awswire.Body below it.
type digester struct {
	from      io.Reader
	algorithm *algorithm // nil for none
	md5       hash.Hash
	sum       hash.Hash
	size      int64
	err       error // what reading failed with
}

// digest wraps from. a is nil where no checksum is to be computed.
func digest(from io.Reader, a *algorithm) *digester {
	d := &digester{from: from, algorithm: a, md5: md5.New()}
	if a != nil {
		d.sum = a.make()
	}
	return d
}

func (d *digester) Read(p []byte) (int, error) {
	n, err := d.from.Read(p)
	if err != nil && err != io.EOF {
		d.err = err
	}
	d.size += int64(n)
	d.md5.Write(p[:n])
	if d.sum != nil {
		d.sum.Write(p[:n])
	}
	return n, err
}

func (d *digester) etag() string { return hex.EncodeToString(d.md5.Sum(nil)) }

// checksum is that of what was read, with no Sum where none is computed.
func (d *digester) checksum() checksum {
	if d.sum == nil {
		return checksum{}
	}
	return checksum{Algorithm: d.algorithm.name, Sum: base64.StdEncoding.EncodeToString(d.sum.Sum(nil))}
}

// composite is the checksum of a multipart object made of the checksums of its parts.
func composite(a *algorithm, parts []string) (checksum, error) {
	h := a.make()
	for _, part := range parts {
		sum, err := base64.StdEncoding.DecodeString(part)
		if err != nil {
			return checksum{}, fmt.Errorf("checksum of a part: %w", err)
		}
		h.Write(sum)
	}
	return checksum{Algorithm: a.name, Sum: fmt.Sprintf("%s-%d", base64.StdEncoding.EncodeToString(h.Sum(nil)), len(parts)), Composite: true}, nil
}

// A crcForm is a reflected CRC with all bits set before and inverted after.
type crcForm struct {
	bits int
	poly uint64 // reflected
}

// wholeCRC is the checksum of an object from those of its parts, without their bytes.
func wholeCRC(a *algorithm, parts []string, sizes []int64) (checksum, error) {
	var crc uint64
	for i, part := range parts {
		sum, err := base64.StdEncoding.DecodeString(part)
		if err != nil || len(sum) != a.size {
			return checksum{}, fmt.Errorf("checksum of a part: %q is not one of %s", words.Cut(part, 40), a.name)
		}
		var next uint64
		for _, b := range sum {
			next = next<<8 | uint64(b)
		}
		crc = a.combine.join(crc, next, sizes[i])
	}
	sum := make([]byte, a.size)
	for i := range sum {
		sum[i] = byte(crc >> (8 * (a.size - 1 - i)))
	}
	return checksum{Algorithm: a.name, Sum: base64.StdEncoding.EncodeToString(sum)}, nil
}

// join is the CRC of two texts one after the other, from the CRC of each and the length of
// the second in bytes. Appending a zero bit is linear over the field of two elements: so it
// is a matrix, and its powers of two, squared up, append any number of them.
func (f *crcForm) join(first, second uint64, length int64) uint64 {
	if length == 0 {
		return first
	}
	odd := make([]uint64, f.bits)
	odd[0] = f.poly
	for i := 1; i < f.bits; i++ {
		odd[i] = 1 << (i - 1)
	}
	matrix := square(square(square(odd))) // of one zero byte
	for n := length; n > 0; n >>= 1 {
		if n&1 == 1 {
			first = times(matrix, first)
		}
		matrix = square(matrix)
	}
	return first ^ second
}

func times(matrix []uint64, vector uint64) uint64 {
	var sum uint64
	for i := 0; vector != 0; i, vector = i+1, vector>>1 {
		if vector&1 == 1 {
			sum ^= matrix[i]
		}
	}
	return sum
}

func square(matrix []uint64) []uint64 {
	out := make([]uint64, len(matrix))
	for i := range matrix {
		out[i] = times(matrix, matrix[i])
	}
	return out
}
