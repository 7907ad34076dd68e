package cli

import (
	"path/filepath"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// runtimeNote is the file of a project with what was last said of the runtime of its handlers.
const runtimeNote = ".formwork/runtime"

// noteRuntime prints how the runtime differs from that of Lambda, once until that changes.
func (c *app) noteRuntime(p *project.Project, note string) {
	path := filepath.Join(p.Dir, filepath.FromSlash(runtimeNote))
	before, err := document.ReadFile(path, 4096)
	if err == nil && string(before) == note || note == "" && err != nil {
		return
	}
	if note != "" {
		c.notef("%s\n", note)
	}
	// Without the file the note is printed again.
	_ = files.Write(p.Dir, runtimeNote, []byte(note), 0o644)
}
