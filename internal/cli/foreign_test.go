package cli

import (
	"errors"
	"strings"
	"testing"
)

func TestForeignOptions(t *testing.T) {
	tests := []struct{ args, want string }{
		{"deploy t.yaml --parameter-overrides A=B", "use --parameter KEY=VALUE"},
		{"deploy --template-file t.yaml", "pass the template without the option"},
		{"deploy t.yaml --no-execute-changeset", "use --plan"},
		{"deploy t.yaml --require-approval never", "use --yes"},
		{"deploy t.yaml --tags A=B", "use --tag KEY=VALUE"},
		{"import t.yaml --resources-to-import x", "use --resource LOGICALID=IDENTIFIER"},
		{"destroy --stack-name shop", "pass the stack without the option"},
		{"stack events --stack-name shop", "pass the stack without the option"},
		{"stackset show --stack-set-name shop", "pass the stack set without the option"},
		{"stackset deploy t.yaml --stack-set-name shop", "use --name NAME"},
		{"stackset deploy t.yaml --operation-preferences x", "use --max-concurrent"},
		{"serve --port 4599", "use --address 127.0.0.1:PORT"},
		{"destroy shop --template-file t.yaml", "cfn destroy --help lists the options"},
		{"test --maxfail 1", "put options of pytest after --: cfn test -- --maxfail 1"},
		{"serve --maxfail 1", "cfn serve --help lists the options"},
	}
	for _, test := range tests {
		_, err := normalize(newRoot(&app{Env: &Env{}}), strings.Fields(test.args))
		var usage *usageError
		if !errors.As(err, &usage) || !strings.HasPrefix(usage.hint, test.want) {
			t.Errorf("%s: %v, want the hint %q", test.args, err, test.want)
		}
	}
}
