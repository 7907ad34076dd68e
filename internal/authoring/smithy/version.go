package smithy

// A version is that of the language a file is written in. The zero version is unknown:
// everything is allowed.
type version uint8

const (
	versionUnknown version = iota
	version1
	version2
)

func parseVersion(text string) (version, bool) {
	switch text {
	case "1", "1.0":
		return version1, true
	case "2", "2.0":
		return version2, true
	}
	return versionUnknown, false
}

func (v version) String() string { return [...]string{"", "1.0", "2.0"}[v] }

// supports reports whether shapes of a type exist in the version.
func (v version) supports(t Type) bool {
	switch v {
	case version1:
		return t != Enum && t != IntEnum
	case version2:
		return t != Set
	}
	return true
}
