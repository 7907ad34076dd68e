package cli

import "runtime"

// browserCommand is the command that opens an address on this system, nil if there is no
// desktop to open it on.
func browserCommand(getenv func(string) string, address string) []string {
	return browserCommandOf(runtime.GOOS, getenv, address)
}

func browserCommandOf(system string, getenv func(string) string, address string) []string {
	switch {
	case getenv("CI") != "" || getenv("SSH_CONNECTION") != "":
		return nil
	case system == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", address}
	case system == "darwin":
		return []string{"open", address}
	case getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != "":
		return []string{"xdg-open", address}
	}
	return nil
}
