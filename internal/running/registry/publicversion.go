package registry

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// A publicVersion is the number of a public version: MAJOR.MINOR.PATCH of Semantic
// Versioning 2.0.0, without its tails for pre-releases and builds. The zero value is no
// version: the first one of a type is 1.0.0.
type publicVersion struct {
	Major, Minor, Patch int64
}

// maxMajor is the greatest major version that ActivateType accepts.
const maxMajor = 100_000

var publicVersionForm = lazyregexp.New(`^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$`)

// parsePublicVersion reads a public version number. It returns false if the text is invalid.
func parsePublicVersion(text string) (publicVersion, bool) {
	parts := publicVersionForm.FindStringSubmatch(text)
	if parts == nil {
		return publicVersion{}, false
	}
	var numbers [3]int64
	for i, part := range parts[1:] {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return publicVersion{}, false
		}
		numbers[i] = n
	}
	v := publicVersion{numbers[0], numbers[1], numbers[2]}
	return v, v.Major <= maxMajor
}

func (v publicVersion) String() string {
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// compare orders versions by their precedence.
func (v publicVersion) compare(w publicVersion) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// next is the default number of the next version: 1.0.0, then the next minor one.
func (v publicVersion) next() publicVersion {
	if v == (publicVersion{}) {
		return publicVersion{Major: 1}
	}
	return publicVersion{Major: v.Major, Minor: v.Minor + 1}
}
