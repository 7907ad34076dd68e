package smithy

import (
	"embed"
	"io/fs"
	"sync"
)

//go:embed prelude/*.smithy
var preludeFiles embed.FS

// builtins is the model of the shapes that this package defines. It is read once and
// shared, because it never changes.
var builtins = sync.OnceValue(func() *Model {
	l := newLoader(Config{Strict: true}, nil)
	names, _ := fs.Glob(preludeFiles, "prelude/*.smithy")
	for _, name := range names {
		data, _ := fs.ReadFile(preludeFiles, name)
		parseIDL(l, name, string(data))
	}
	m := l.build()
	for _, s := range m.shapes {
		s.builtin = true
	}
	m.roots, m.all = nil, nil
	return m
})
