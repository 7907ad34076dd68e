package build

import (
	"fmt"
	"runtime"
	"slices"
)

// An Arch is an architecture of Lambda.
type Arch struct {
	Name                string // as Lambda calls it
	Title               string // in messages
	wheel, node, goarch string // as the toolchains call it
}

// The architectures of Lambda.
var (
	X86 = Arch{Name: "x86_64", wheel: "x86_64", node: "x64", goarch: "amd64", Title: "x86-64"}
	ARM = Arch{Name: "arm64", wheel: "aarch64", node: "arm64", goarch: "arm64", Title: "arm64"}
)

// Set takes one of the names of an architecture. With String and Type, an Arch is the value of an option.
func (a *Arch) Set(name string) error {
	for _, known := range []Arch{X86, ARM} {
		if slices.Contains([]string{known.Name, known.wheel, known.goarch, known.Title}, name) {
			*a = known
			return nil
		}
	}
	return fmt.Errorf("%q is not an architecture of Lambda: use x86_64 or arm64", name)
}

func (a *Arch) String() string { return a.Name }
func (a *Arch) Type() string   { return "string" }

// Here reports whether this machine runs what was compiled for the architecture.
func (a Arch) Here() bool { return runtime.GOOS == "linux" && runtime.GOARCH == a.goarch }
