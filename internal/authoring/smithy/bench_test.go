package smithy

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// BenchmarkConvert loads, validates and converts each real model, from JSON AST and from
// the IDL.
func BenchmarkConvert(b *testing.B) {
	root := fixtures.Dir(b, "smithy/models")
	dirs, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil {
		b.Fatal(err)
	}
	builtins()
	for _, dir := range dirs {
		var c conversion
		if err := json.Unmarshal(readSource(b, dir, "case.json").Data, &c); err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"model.json", "model.smithy"} {
			source := readSource(b, dir, name)
			b.Run(filepath.Base(dir)+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(source.Data)))
				b.ReportAllocs()
				for b.Loop() {
					m, events := Load([]Source{source}, Config{})
					Validate(m, events)
					if _, problems := Convert(m, settingsOf(b, c.Service, c.Settings)); problems.HasErrors() {
						b.Fatal(problems.Err())
					}
				}
			})
		}
	}
}
