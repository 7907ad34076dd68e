package cli

import (
	"context"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/formwork-dev/formwork/internal/lambda"
	"github.com/formwork-dev/formwork/local"
)

// localCloudFormation is the command "local" of scripts: it starts a local CloudFormation,
// the one of cfn serve, and sets the variables of cfn env.
func localCloudFormation(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: local")
	}
	environ := append(os.Environ(), "HOME="+ts.Getenv("HOME"))
	cloud, err := local.Open(context.Background(), local.Config{Dir: ts.MkAbs(".local"), Environ: environ})
	ts.Check(err)
	server := httptest.NewServer(cloud)
	ts.Defer(func() {
		server.Close()
		ts.Check(cloud.Close())
	})
	for _, v := range localVariables(nil, server.URL, "eu-west-1", lambda.DefaultAccountID) {
		ts.Setenv(v.name, v.value)
	}
	// What a test of the whole command line needs of names it cannot know.
	ts.Setenv("LOCAL", strings.TrimPrefix(server.URL, "http://"))
}
