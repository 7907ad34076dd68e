package cli

import (
	"os"
	"os/exec"
	"strings"
	"sync"
)

// goEnv returns a setting of the go command, so that scripts that build something share
// its caches though their home is empty.
func goEnv(name string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	values := goEnvAll()
	return values[name]
}

var goEnvAll = sync.OnceValue(func() map[string]string {
	values := map[string]string{}
	names := []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "CGO_ENABLED"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return values
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		if i < len(names) {
			values[names[i]] = line
		}
	}
	return values
})
