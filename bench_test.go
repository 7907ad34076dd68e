package formwork_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// The benchmarks here time whole processes, as a person or a script meets them: start,
// work and end. Those of the parts stand in the packages.

// buildCfn builds the command as it is released.
func buildCfn(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "cfn")
	run(b, ".", "go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "./cmd/cfn")
	return bin
}

func run(b *testing.B, dir, name string, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s %q: %v\n%.2000s", filepath.Base(name), args, err, output.Bytes())
	}
}

func BenchmarkProcessVersion(b *testing.B) {
	cfn := buildCfn(b)
	for b.Loop() {
		run(b, ".", cfn, "--version")
	}
}

func BenchmarkProcessValidateProject(b *testing.B) {
	cfn := buildCfn(b)
	for b.Loop() {
		run(b, "examples/tps-report", cfn, "validate")
	}
}

func BenchmarkProcessValidateSchema(b *testing.B) {
	cfn := buildCfn(b)
	file := filepath.Join(fixtures.Dir(b, "schemas/aws"), "aws-logs-loggroup.json")
	for b.Loop() {
		run(b, ".", cfn, "validate", file)
	}
}

func BenchmarkProcessValidateCorpus(b *testing.B) {
	cfn := buildCfn(b)
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(b, "schemas/aws"), "*.json"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		run(b, ".", cfn, append([]string{"validate"}, files...)...)
	}
	b.ReportMetric(float64(len(files)), "schemas/op")
}

func BenchmarkProcessGenerate(b *testing.B) {
	cfn, dir := buildCfn(b), b.TempDir()
	run(b, dir, cfn, "init", "--type-name", "Acme::Web::Site", "--artifact-type", "RESOURCE", "go", "--import-path", "example.com/site")
	for b.Loop() {
		run(b, dir, cfn, "generate")
	}
}

// BenchmarkProcessTest is the contract run of the example over both of its input sets.
func BenchmarkProcessTest(b *testing.B) {
	cfn := buildCfn(b)
	run(b, "examples/tps-report", "go", "build", "-trimpath", "-o", "bin/bootstrap", "./cmd")
	for b.Loop() {
		reports := b.TempDir()
		run(b, "examples/tps-report", cfn, "test", "--env", "REPORTS_DIR="+reports, "--mount", reports+":rw")
	}
}
