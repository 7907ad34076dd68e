package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// compiledModules are the compiled modules of functions in Python.
type compiledModules struct {
	folders   *files.Cache  // by the hash of account, region, code and interpreter
	compiling chan struct{} // taken by the one that compiles

	mu     sync.Mutex
	states map[string]compiledState // by the same hash
}

// A compiledState is whether there are compiled modules. The zero value is that nobody has looked.
type compiledState int

const (
	compiledBusy  compiledState = iota + 1 // somebody looks for them, or compiles
	compiledReady                          // they were whole at the last look
)

func newCompiled(config Config) *compiledModules {
	return &compiledModules{
		folders:   &files.Cache{Dir: filepath.Join(config.Dir, "compiled"), Now: config.Now},
		compiling: make(chan struct{}, 1),
		states:    map[string]compiledState{},
	}
}

// begin reports whether the caller is the one who looks for modules. It ends with end.
func (m *compiledModules) begin(hash string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.states[hash] == compiledBusy {
		return false
	}
	m.states[hash] = compiledBusy
	return true
}

func (m *compiledModules) end(hash string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.states[hash] = compiledReady; err != nil {
		delete(m.states, hash)
	}
}

// ready is the folder with modules, "" if there are none.
func (m *compiledModules) ready(hash string) string {
	m.mu.Lock()
	state := m.states[hash]
	m.mu.Unlock()
	if state != compiledReady {
		return ""
	}
	m.folders.Touch(hash) // before looking: Sweep must see that it is in use
	dir := filepath.Join(m.folders.Dir, hash)
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

var (
	errNotCompiled   = errors.New("there are no compiled modules yet")
	errNotWorthwhile = errors.New("there is little to compile")
)

// compiled returns what finds the compiled modules of a function in Python when a process starts, nil for other code. The
// first time they are compiled in the background: until then, and if that fails, each process compiles what it imports.
// Nothing is compiled for the user's own folders, which may change at any time.
func (p *Pool) compiled(spec bundle.Spec, code *bundle.Code, compiler *lambda.Compiler) func() string {
	if compiler == nil || code.Hash == "" {
		return nil
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s", spec.Account, spec.Region, code.Hash, compiler.Key()))
	hash := hex.EncodeToString(sum[:])
	if p.modules.begin(hash) {
		_, err := p.modules.folders.Folder(p.life, hash, func(context.Context, *os.Root) error { return errNotCompiled })
		if !errors.Is(err, errNotCompiled) {
			p.modules.end(hash, err)
		} else {
			p.running.Go(func() {
				err := p.compile(hash, code.Dir, compiler)
				if p.modules.end(hash, err); err != nil && p.life.Err() == nil {
					p.config.Logger.Debug("the modules of a handler are not compiled", "type", spec.TypeName, "error", err)
				}
			})
		}
	}
	return func() string { return p.modules.ready(hash) }
}

// compile compiles the modules of one function after another.
func (p *Pool) compile(hash, dir string, compiler *lambda.Compiler) error {
	select {
	case p.modules.compiling <- struct{}{}:
		defer func() { <-p.modules.compiling }()
	case <-p.life.Done():
		return p.life.Err()
	}
	if !compiler.Worthwhile(dir) {
		return errNotWorthwhile
	}
	_, err := p.modules.folders.Folder(p.life, hash, func(ctx context.Context, root *os.Root) error {
		return compiler.Compile(ctx, p.config.Sandbox, dir, root)
	})
	return err
}
