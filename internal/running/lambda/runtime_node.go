package lambda

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

//go:embed runtime_node.mjs
var nodeBootstrap []byte

// nodeQuestion is the program that learns path and version of Node.js, and where it is installed.
const nodeQuestion = "console.log(process.execPath); console.log(process.versions.node); console.log(require('path').dirname(require('path').dirname(process.execPath)))"

// node runs functions in JavaScript.
func (r *Runtimes) node(ctx context.Context, runtime, entrypoint string) (Program, error) {
	found, err := r.first(ctx, []string{"node", "nodejs"}, "-e", nodeQuestion, func(string) bool { return true })
	if err != nil || found.path == "" {
		return Program{}, orMissing(err, runtime, "Node.js")
	}
	script, err := r.script("node", ".mjs", nodeBootstrap)
	if err != nil {
		return Program{}, err
	}
	p := Program{
		Command: []string{found.path, script},
		Runtime: sandbox.Runtime{Roots: found.roots, Files: []string{script}},
		Env:     []string{"AWS_EXECUTION_ENV=AWS_Lambda_" + runtime},
		Handler: entrypoint,
	}
	want := strings.TrimSuffix(strings.TrimPrefix(runtime, "nodejs"), ".x")
	major, _, _ := strings.Cut(found.version, ".")
	if want == "" {
		p.Env = []string{"AWS_EXECUTION_ENV=AWS_Lambda_nodejs" + major + ".x"}
	} else if major != want {
		p.OtherVersion = true
		p.Note = fmt.Sprintf("the runtime is %s, and is run by Node.js %s, the one in the PATH", runtime, found.version)
	}
	return p, nil
}
