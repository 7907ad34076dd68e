// Command release makes what a release has besides the binaries: manual pages, completion scripts,
// the licenses of dependencies, the container image, the packages for pip and npm, and the extension for Visual Studio
// Code; and the archive and the packages for one machine. .goreleaser.yaml, "make release-snapshot" and "make release-host" call it.
package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
)

const usage = `usage: release manual DIR VERSION     write manual pages and completion scripts
       release licenses DIR           write the licenses of all modules in the binary
       release image FILE VERSION BINARY_AMD64 BINARY_ARM64
                                      write a container image for two platforms, as an OCI archive
       release clear DIR              remove a folder of an earlier release in this repository
       release host DIR VERSION       write the archive, the Debian package, and the packages for pip and npm for this machine
       release packages DIR           write the packages for pip and npm beside the archives that GoReleaser made in DIR,
                                      and the extension for Visual Studio Code
       release vsix DIR VERSION       write the extension for Visual Studio Code`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "release: %s\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch strings.Join(args[:min(1, len(args))], "") {
	case "manual":
		if len(args) == 3 {
			return manual(args[1], args[2])
		}
	case "licenses":
		if len(args) == 2 {
			return licenses(args[1], "..")
		}
	case "clear":
		if len(args) == 2 {
			return removeMade("..", args[1])
		}
	case "host":
		if len(args) == 3 {
			return host(args[1], "..", cmp.Or(args[2], "0.0.1-snapshot"))
		}
	case "packages":
		if len(args) == 2 {
			version, err := builtVersion(args[1])
			if err != nil {
				return err
			}
			if err := packages(args[1], version); err != nil {
				return err
			}
			_, err = writeExtension(args[1], "..", version)
			return err
		}
	case "vsix":
		if len(args) == 3 {
			name, err := writeExtension(args[1], "..", cmp.Or(args[2], "0.0.1-snapshot"))
			if err == nil {
				fmt.Println(name)
			}
			return err
		}
	case "image":
		if len(args) == 5 {
			return image(args[1], args[2], map[string]string{"amd64": args[3], "arm64": args[4]})
		}
	}
	return fmt.Errorf("%s", usage)
}
