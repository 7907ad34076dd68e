package local_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/formwork-dev/formwork/local"
)

// more is a number of CI, or that of a campaign.
func more(ci, campaign int) int {
	if os.Getenv("FORMWORK_TORTURE") != "" {
		return campaign
	}
	return ci
}

// parametersNamed is a template with parameters of Systems Manager in the path /crowd; one without a value fails.
func parametersNamed(values map[string]string) string {
	resources := map[string]any{"H": handle}
	for name, value := range values {
		resources[name] = map[string]any{"Type": "AWS::SSM::Parameter", "Properties": map[string]any{"Type": "String", "Name": "/crowd/" + name, "Value": value}}
	}
	return encoded(map[string]any{"Resources": resources})
}

// TestManyClientsOfOneStack has 50 clients change one stack at the same time. Each call is accepted or refused in words,
// and in the end exactly the resources of the stack exist.
func TestManyClientsOfOneStack(t *testing.T) {
	t.Parallel()
	seed, _ := number(t, "FORMWORK_SEED", int(rand.Uint32()))
	t.Logf("FORMWORK_SEED=%d", seed)
	c := newClients(t, serving(t, local.ServerConfig{Config: local.Config{Dir: t.TempDir(), TimeScale: timeScale}}).URL())
	name := aws.String("crowd")
	c.create(t, *name, parametersNamed(map[string]string{"A": "1"}))
	var clients sync.WaitGroup
	var mu sync.Mutex
	answers := map[string]int{}
	for i := range 50 {
		clients.Go(func() {
			chances := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
			for n := range more(30, 150) {
				what, err := crowdCall(t, c, name, chances, fmt.Sprintf("c%d-%d", i, n))
				var response *awshttp.ResponseError
				if err != nil && (!errors.As(err, &response) || response.HTTPStatusCode() >= 500 || codeOf(err) == "") {
					t.Errorf("%s: %v", what, err)
				}
				mu.Lock()
				answers[strings.TrimSpace(what+" "+codeOf(err))]++
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	stack := c.ended(t, *name)
	t.Logf("%s: %v", stack.StackStatus, answers)
	if answers["UpdateStack"] == 0 {
		t.Error("no update was accepted")
	}
	if stack.StackStatus == cfntypes.StackStatusUpdateRollbackFailed {
		t.Errorf("the stack is in %s: %s", stack.StackStatus, aws.ToString(stack.StackStatusReason))
	}
	resources, err := c.ListStackResources(t.Context(), &cloudformation.ListStackResourcesInput{StackName: name})
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, r := range resources.StackResourceSummaries {
		if id := aws.ToString(r.PhysicalResourceId); strings.HasPrefix(id, "/crowd/") && r.ResourceStatus != cfntypes.ResourceStatusDeleteComplete {
			listed = append(listed, id)
		}
	}
	slices.Sort(listed)
	if exist := c.crowd(t); !slices.Equal(exist, listed) {
		t.Errorf("%q exist, and the stack has %q", exist, listed)
	}
	c.remove(t, stack)
	if left := c.crowd(t); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// crowdCall makes one call on a stack, and returns its name.
func crowdCall(t *testing.T, c clients, name *string, chances *rand.Rand, token string) (what string, err error) {
	values := map[string]string{}
	for range chances.IntN(4) {
		values[string(rune('A'+chances.IntN(6)))] = token
	}
	body := parametersNamed(values)
	switch chances.IntN(8) {
	case 0, 1, 2:
		_, err = c.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: name, TemplateBody: &body})
		return "UpdateStack", err
	case 3:
		values["Z"] = "" // which is refused when it is made
		body = parametersNamed(values)
		_, err = c.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: name, TemplateBody: &body})
		return "UpdateStack to fail", err
	case 4:
		_, err = c.CancelUpdateStack(t.Context(), &cloudformation.CancelUpdateStackInput{StackName: name})
		return "CancelUpdateStack", err
	case 5:
		_, err = c.ContinueUpdateRollback(t.Context(), &cloudformation.ContinueUpdateRollbackInput{StackName: name})
		return "ContinueUpdateRollback", err
	case 6:
		if _, err = c.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{StackName: name, ChangeSetName: &token, TemplateBody: &body}); err != nil {
			return "CreateChangeSet", err
		}
		_, err = c.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{StackName: name, ChangeSetName: &token})
		return "ExecuteChangeSet", err
	}
	_, err = c.DetectStackDrift(t.Context(), &cloudformation.DetectStackDriftInput{StackName: name})
	return "DetectStackDrift", err
}

// crowd is the names of the parameters that exist.
func (c clients) crowd(t *testing.T) (names []string) {
	t.Helper()
	pages := ssm.NewGetParametersByPathPaginator(c.ssm, &ssm.GetParametersByPathInput{Path: aws.String("/crowd"), Recursive: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page.Parameters {
			names = append(names, *p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestManyStacks creates 50 stacks with an export each, in a campaign 2,000, and lists them again.
func TestManyStacks(t *testing.T) {
	t.Parallel()
	c := newClients(t, serving(t, local.ServerConfig{Config: local.Config{Dir: t.TempDir(), TimeScale: timeScale}}).URL())
	many, next := more(50, 2000), make(chan int)
	want := map[string]bool{}
	var creating sync.WaitGroup
	for range 8 {
		creating.Go(func() {
			for i := range next {
				body := encoded(map[string]any{
					"Resources": map[string]any{"H": handle}, "Outputs": map[string]any{"O": map[string]any{"Value": "x", "Export": map[string]any{"Name": fmt.Sprintf("export-%d", i)}}},
				})
				if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String(fmt.Sprintf("many-%d", i)), TemplateBody: &body}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range many {
		want[fmt.Sprintf("many-%d", i)] = true
		next <- i
	}
	close(next)
	creating.Wait()
	var complete map[string]bool
	eventually(t, 5*time.Minute, "all stacks", func() bool {
		complete = map[string]bool{}
		pages := cloudformation.NewListStacksPaginator(c, &cloudformation.ListStacksInput{StackStatusFilter: []cfntypes.StackStatus{cfntypes.StackStatusCreateComplete}})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range page.StackSummaries {
				complete[*s.StackName] = true
			}
		}
		return len(complete) >= many
	})
	exports := map[string]bool{}
	for pages := cloudformation.NewListExportsPaginator(c, &cloudformation.ListExportsInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Exports {
			exports[strings.Replace(*e.Name, "export-", "many-", 1)] = true
		}
	}
	if !maps.Equal(complete, want) || !maps.Equal(exports, want) {
		t.Errorf("%d stacks and %d exports, want %d of each", len(complete), len(exports), many)
	}
}
