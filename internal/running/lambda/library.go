package lambda

import (
	"debug/buildinfo"
	"runtime/debug"

	"golang.org/x/mod/semver"
)

// Programs in Go that are built with an older version of AWS's library serve the protocol of
// the retired runtime go1.x, and never ask the Runtime API for an invocation.
const (
	lambdaLibrary   = "github.com/aws/aws-lambda-go"
	firstRuntimeAPI = "v1.18.0"
)

// oldLibrary is the version of AWS's library in the program of the command if that version
// does not know the Runtime API, and "" otherwise.
func (c *Config) oldLibrary() string {
	info, err := buildinfo.ReadFile(c.commandPath())
	if err != nil {
		return "" // not a program in Go
	}
	return oldLibraryIn(info)
}

func oldLibraryIn(info *debug.BuildInfo) string {
	for _, m := range info.Deps {
		if m.Path != lambdaLibrary {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if semver.IsValid(m.Version) && semver.Compare(m.Version, firstRuntimeAPI) < 0 {
			return m.Version
		}
	}
	return ""
}
