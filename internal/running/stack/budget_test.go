package stack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
)

// costly is a property with a short value that takes some 36 bytes for each item to make.
func costly(items int) string {
	return fmt.Sprintf("!Select [1, !Split [',', !Sub 'a,b%s']]", strings.Repeat(",c", items))
}

// TestBudgetOfOperations gives each step of an operation, and each request, a budget of its own: a
// chain of resources evaluates more than one has room for.
func TestBudgetOfOperations(t *testing.T) {
	t.Parallel()
	const each = template.MaxMade / 3 / 10 / 36 // items: a request has room for all ten resources three times
	lines := []string{"R0: {Properties: {Note: " + costly(each) + "}}"}
	for i := range 9 {
		lines = append(lines, fmt.Sprintf("R%d: {DependsOn: R%d, Properties: {Note: %s}}", i+1, i, costly(each)))
	}
	g := onSQLite(t)
	body := things(lines...)
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: &body})
	g.expectStatus(s, types.StackStatusCreateComplete, "")

	_, err := g.CreateStack(t.Context(), owner, &cloudformation.CreateStackInput{
		StackName: aws.String("large"), TemplateBody: aws.String(things("R: {Properties: {Note: x}}", "Q: {Properties: {Note: "+strings.Repeat("{Fn::Base64: ", 80)+"x"+strings.Repeat("}", 80)+"}}")),
	})
	if err == nil || !strings.HasPrefix(err.Error(), "ValidationError: Template error: the values of the template exceed 33554432 bytes (/Resources/Q/Properties/Note)") {
		t.Errorf("got %v", err)
	}
}
