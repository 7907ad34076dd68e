package bundle_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/running/bundle"
)

// TestReadExtensions reads packages that other tools have made.
func TestReadExtensions(t *testing.T) {
	dir := fixtures.Dir(t, "extensions")
	for name, want := range map[string]struct {
		kind     schema.Kind
		typeName string
		handler  int
		targets  int
	}{
		"localstack-testing-deployableresource": {schema.Resource, "LocalStack::Testing::DeployableResource", 1, 0},
		"localstack-testing-testresource":       {schema.Resource, "LocalStack::Testing::TestResource", 1, 0},
		"localstack-testing-deployablehook":     {schema.Hook, "LocalStack::Testing::DeployableHook", 1, 2},
		"localstack-testing-testhook":           {schema.Hook, "LocalStack::Testing::TestHook", 1, 1},
		"localstack-testing-testmodule-module":  {schema.Module, "LocalStack::Testing::TestModule::MODULE", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, name+".zip"))
			if err != nil {
				t.Fatal(err)
			}
			b, problems, err := bundle.Read(t.Context(), bytes.NewReader(data), int64(len(data)), bundle.Config{Kind: want.kind, TypeName: want.typeName})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				t.Log(p.At, p.ID, p.Message)
			}
			if problems.Count(diag.Error) > 0 {
				t.FailNow()
			}
			if b.Kind != want.kind || b.TypeName != want.typeName || len(b.TargetSchemas) != want.targets {
				t.Errorf("read %s %s with %d targets", b.Kind, b.TypeName, len(b.TargetSchemas))
			}
			files := 0
			if b.Handler != nil {
				files = b.Handler.Files
			}
			if files != want.handler {
				t.Errorf("the handler has %d files, want %d", files, want.handler)
			}
			if (b.Fragment != nil) != (want.kind == schema.Module) {
				t.Errorf("fragment: %v", b.Fragment)
			}
		})
	}
}
