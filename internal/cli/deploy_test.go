package cli

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/local"
)

// A stopWriter ends a context when a text has been written to it.
type stopWriter struct {
	strings.Builder
	at   string
	stop context.CancelFunc
}

func (w *stopWriter) Write(p []byte) (int, error) {
	n, err := w.Builder.Write(p)
	if strings.Contains(w.String(), w.at) {
		w.stop()
	}
	return n, err
}

// TestInterruptedDeploy: Ctrl-C stops waiting and reports how to follow the stack, which
// continues.
func TestInterruptedDeploy(t *testing.T) {
	dir := t.TempDir()
	cloud, err := local.Open(t.Context(), local.Config{Environ: append(os.Environ(), "HOME="+dir)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(func() {
		server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	var environ []string
	for _, v := range localVariables(nil, server.URL, "us-east-1", lambda.DefaultAccountID) {
		environ = append(environ, v.name+"="+v.value)
		t.Setenv(v.name, v.value) // the SDK reads the process's own
	}
	const template = `{"Resources": {"Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
		"Wait": {"Type": "AWS::CloudFormation::WaitCondition", "Properties": {"Handle": {"Ref": "Handle"}, "Timeout": "300"}}}}`
	if err := os.WriteFile(filepath.Join(dir, "slow.json"), []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errs := &stopWriter{at: "CREATE_IN_PROGRESS    Wait", stop: cancel}, &strings.Builder{}
	code := Main(ctx, Env{Stdout: out, Stderr: errs, Environ: environ, Dir: dir, Version: "1.2.3"}, []string{"deploy", "slow.json"})
	want := "interrupted; the operation on stack slow continues. To follow it, run: cfn stack events slow --follow --region us-east-1\n"
	if code != exitInterrupted || errs.String() != want {
		t.Errorf("code %d, stderr %q, stdout %s", code, errs, out.String())
	}
	var listed strings.Builder
	code = Main(t.Context(), Env{Stdout: &listed, Stderr: errs, Environ: environ, Dir: dir, Version: "1.2.3"}, []string{"stacks"})
	if code != 0 || !strings.Contains(listed.String(), "CREATE_IN_PROGRESS") {
		t.Errorf("code %d, stacks %s", code, listed.String())
	}
}
