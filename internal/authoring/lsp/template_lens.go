package lsp

import (
	"context"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// codeLens shows at the resources of a template what an update of its stack would replace.
func (s *server) codeLens(ctx context.Context, d *snapshot, _ documentParams) (any, error) {
	out := []codeLens{}
	if d.role() != templateRole || d.tree() == nil {
		return out, nil
	}
	for _, p := range s.workspace.compare(ctx, d) {
		if !p.At.Start.Known() || d.isOther(p.At.File) || len(out) == maxDiagnostics {
			continue
		}
		start, end := d.extent(p)
		out = append(out, codeLens{d.lines.span(start, end, s.encoding), command{Title: p.Message}})
	}
	return out, ctx.Err()
}

// compare reports what an update of the stack of a template would replace.
func (w *workspace) compare(ctx context.Context, d *snapshot) diag.List {
	w.mu.Lock()
	defer w.mu.Unlock()
	compare := w.get().Compare
	if compare == nil || d.file == "" {
		return nil
	}
	stack, set := w.server.stackFor(d.file)
	if set && stack == "" {
		return nil
	}
	found, err := compare(ctx, d.file, stack, []byte(d.text()))
	if err != nil {
		w.server.cfg.Logger.Debug("Template not compared", "uri", d.uri, "error", err)
	}
	return found
}
