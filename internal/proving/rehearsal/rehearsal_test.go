package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/local"
)

// A place is where stacks are deployed: a local CloudFormation in the place of AWS. Each account is another try.
type place struct {
	t *testing.T
	*cloud
}

type cloud struct {
	server *httptest.Server

	mu         sync.Mutex
	tries      map[string]*try // by account
	readOnly   map[string]bool // accounts of which a rehearsal reads
	unreadable string          // identifier of a resource that cannot be read
	denied     string          // operation for which there is no permission
}

// in is the place for a subtest.
func (p *place) in(t *testing.T) *place { return &place{t, p.cloud} }

// signer is the account in the signature of a request.
var signer = regexp.MustCompile(`Credential=([0-9]+)/`)

// A try is an update in which steps fail.
type try struct {
	updating          bool
	forward, backward *fault
	live              map[string]Lost
	lost              []Lost
	before            map[string]bool
}

// reads are the operations that a rehearsal may request.
var reads = []string{"DescribeStacks", "GetTemplate", "ListStackResources", "GetStackPolicy", "ListExports", "ListImports", "DescribeType", "GetResource", "ListTypes", "BatchDescribeTypeConfigurations", "GetObject"}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t, &cloud{tries: map[string]*try{}, readOnly: map[string]bool{}}}
	cloud, err := local.Open(t.Context(), local.Config{
		Dir: fixtures.TempDir(t), Environ: append(os.Environ(), "HOME="+t.TempDir()), TimeScale: 1000, Around: p.around, Simulate: []string{"AWS::SNS::Topic", "AWS::SQS::Queue", "AWS::Logs::LogGroup", "Acme::*"},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // of this process
		name := r.Header.Get("X-Amz-Target")
		if form, err := url.ParseQuery(string(body)); err == nil && name == "" {
			name = form.Get("Action")
		}
		name = name[strings.LastIndex(name, ".")+1:]
		if r.Method == http.MethodGet {
			name = "GetObject"
		}
		p.mu.Lock()
		signed := signer.FindStringSubmatch(r.Header.Get("Authorization"))
		refused := signed != nil && p.readOnly[signed[1]] && !slices.Contains(reads, name)
		unreadable := name == "GetResource" && p.unreadable != "" && strings.Contains(string(body), p.unreadable)
		denied := p.denied != "" && name == p.denied
		p.mu.Unlock()
		if denied {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>`)
			return
		}
		if unreadable {
			w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
			http.Error(w, `{}`, http.StatusForbidden)
			return
		}
		if refused {
			t.Errorf("a rehearsal requests %s", name)
			http.Error(w, "only reads are allowed", http.StatusForbidden)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		cloud.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		p.server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	var schemas []submit.TypeSchema
	for _, name := range []string{"aws-sqs-queue", "aws-sns-topic", "aws-logs-loggroup"} {
		text, err := os.ReadFile(filepath.Join(fixtures.Dir(t, "schemas"), "aws", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, submit.TypeSchema{Name: name, Schema: string(text)})
	}
	for _, text := range ownSchemas {
		schemas = append(schemas, submit.TypeSchema{Name: "own", Schema: text})
	}
	if _, err := p.remote("1").ImportTypes(t.Context(), schemas, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// ownSchemas are types that are deleted before they are replaced, and that cannot be updated.
var ownSchemas = []string{
	`{"typeName": "Acme::Re::Make", "description": "d", "additionalProperties": false, "properties": {"Id": {"type": "string"}, "Fixed": {"type": "string"}, "Free": {"type": "string"}},
		"primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"], "createOnlyProperties": ["/properties/Fixed"], "replacementStrategy": "delete_then_create", "tagging": {"taggable": false},
		"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}}}`,
	`{"typeName": "Acme::No::Update", "description": "d", "additionalProperties": false, "properties": {"Id": {"type": "string"}, "Value": {"type": "string"}},
		"primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"], "createOnlyProperties": ["/properties/Value"], "tagging": {"taggable": false},
		"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}}}`,
}

func (p *place) remote(account string) *submit.Remote {
	p.t.Helper()
	remote, err := submit.Open(p.t.Context(), submit.Config{
		Region: "eu-west-1", Endpoint: p.server.URL, Key: aws.Credentials{AccessKeyID: account, SecretAccessKey: "x"}, Getenv: func(string) string { return "" }, Pause: 5 * time.Millisecond,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return remote
}

// around has steps fail, and notes what exists.
func (p *place) around(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	if of.LogicalID == "" || of.Action == "READ" {
		return next(ctx)
	}
	p.mu.Lock()
	t := p.tries[of.Account]
	if t == nil {
		t = &try{live: map[string]Lost{}, before: map[string]bool{}}
		p.tries[of.Account] = t
	}
	f := t.forward
	if of.Rollback {
		f = t.backward
	}
	if !t.updating || f != nil && (f.logicalID != of.LogicalID || f.action != of.Action) {
		f = nil
	}
	p.mu.Unlock()
	if f != nil && !f.after {
		return failed("InvalidRequest", "a failure"), nil
	}
	if strings.HasPrefix(of.Type, "Custom::") {
		return local.ResourceAnswer{Status: "SUCCESS", Identifier: "seed", Model: map[string]any{"Data": map[string]any{"Key": "k"}}}, nil
	}
	answer, err := next(ctx)
	if err != nil || answer.Status != "SUCCESS" {
		return answer, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := of.Type + "|" + answer.Identifier
	switch of.Action {
	case "CREATE":
		t.live[key] = Lost{of.LogicalID, of.Type, answer.Identifier}
		t.before[key] = !t.updating
	case "DELETE":
		key = of.Type + "|" + of.Identifier
		if t.before[key] {
			t.lost = append(t.lost, t.live[key])
		}
		delete(t.live, key)
	}
	if f != nil {
		return local.ResourceAnswer{Status: "FAILED", ErrorCode: "InvalidRequest", Message: "a failure", Identifier: answer.Identifier}, nil
	}
	return answer, nil
}

// deploy deploys a template and waits.
func (p *place) deploy(account, stack, body string, update bool) types.StackStatus {
	p.t.Helper()
	remote := p.remote(account)
	client, after := remote.CloudFormation(), ""
	body = p.expand(account, body)
	parameters := []types.Parameter{}
	if strings.Contains(body, `"Pw"`) {
		parameters = append(parameters, types.Parameter{ParameterKey: aws.String("Pw"), ParameterValue: aws.String("hunter2")})
	}
	var err error
	if update {
		if after, err = remote.LastStackEvent(p.t.Context(), stack); err != nil {
			p.t.Fatal(err)
		}
		_, err = client.UpdateStack(p.t.Context(), &cloudformation.UpdateStackInput{StackName: &stack, TemplateBody: &body, Parameters: parameters, Capabilities: capabilities, DisableValidation: aws.Bool(true)})
	} else {
		_, err = client.CreateStack(p.t.Context(), &cloudformation.CreateStackInput{StackName: &stack, TemplateBody: &body, Parameters: parameters, Capabilities: capabilities, DisableValidation: aws.Bool(true)})
	}
	if err != nil {
		p.t.Fatalf("%s: %v", stack, err)
	}
	var events []types.StackEvent
	found, err := remote.FollowStack(p.t.Context(), stack, after, func(_ *types.Stack, more []types.StackEvent) error {
		events = append(events, more...)
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if found.StackStatus != types.StackStatusCreateComplete {
		p.t.Logf("%s: %s: %s", stack, found.StackStatus, firstFailure(events, ""))
	}
	return found.StackStatus
}

func baseConfig(t *testing.T) local.Config {
	return local.Config{Environ: append(os.Environ(), "HOME="+t.TempDir())}
}

// reads has requests of an account that do more than read fail.
func (p *place) reads(account string, only bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readOnly[account] = only
}

func (p *place) rehearse(account, stack, body string, change func(*Config)) *Report {
	p.t.Helper()
	body = p.expand(account, body)
	p.reads(account, true)
	config := Config{
		Remote: p.remote(account), Stack: stack, Template: []byte(body), File: "next.json", Base: baseConfig(p.t),
		Getenv: func(string) string { return "" }, Parallel: 2, MaxRuns: 100,
	}
	if change != nil {
		change(&config)
	}
	report, err := Run(p.t.Context(), config)
	if err != nil {
		p.t.Fatalf("%s: %v", stack, err)
	}
	p.reads(account, false)
	return report
}

const (
	param  = `{"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "%s"}}`
	queue  = `{"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": %s}}`
	remade = `{"Type": "Acme::Re::Make", "Properties": {"Fixed": "%s"}}`
	nested = `{"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "%s"}}`
	fixed  = `{"Type": "Acme::No::Update", "Properties": {"Value": "%s"}}`
)

// stacks are updates: the resources before and after.
var stacks = []struct{ name, before, after string }{
	{"add", `"A": ` + of(param, "1"), `"A": ` + of(param, "1") + `, "B": ` + of(param, "1")},
	{"change", `"A": ` + of(param, "1") + `, "B": ` + of(param, "1"), `"A": ` + of(param, "2") + `, "B": ` + of(param, "2")},
	{"remove", `"A": ` + of(param, "1") + `, "B": ` + of(param, "1"), `"A": ` + of(param, "2")},
	{"replace", `"A": ` + of(fixed, "1"), `"A": ` + of(fixed, "2")},
	{"replace-named", `"A": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "a"}}`, `"A": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "b"}}`},
	{"name-in-use", `"A": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "a", "FifoQueue": false}}`, `"A": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "a"}}, "B": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "a"}}`},
	{"remake", `"A": ` + of(remade, "1") + `, "B": ` + of(param, "1"), `"A": ` + of(remade, "2") + `, "B": {"Type": "AWS::SSM::Parameter", "DependsOn": "A", "Properties": {"Type": "String", "Value": "2"}}`},
	{"chain", `"A": ` + of(queue, "1") + `, "B": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Ref": "A"}}}`,
		`"A": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "new"}}, "B": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Ref": "A"}}}`},
	{"attribute", `"A": ` + of(queue, "1") + `, "B": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::GetAtt": "A.QueueName"}}}`,
		`"A": ` + of(queue, "2") + `, "B": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::Sub": "${A.QueueName}-x"}}}`},
	{"retain", `"A": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain", "Properties": {"QueueName": "a"}}, "B": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Retain"}`,
		`"A": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain", "Properties": {"QueueName": "b"}}`},
	{"diamond", `"A": ` + of(param, "1") + `, "B": {"Type": "AWS::SSM::Parameter", "DependsOn": "A", "Properties": {"Type": "String", "Value": "1"}}, "C": {"Type": "AWS::SSM::Parameter", "DependsOn": "A", "Properties": {"Type": "String", "Value": "1"}}, "D": {"Type": "AWS::SSM::Parameter", "DependsOn": ["B", "C"], "Properties": {"Type": "String", "Value": "1"}}`,
		`"A": ` + of(param, "2") + `, "B": {"Type": "AWS::SSM::Parameter", "DependsOn": "A", "Properties": {"Type": "String", "Value": "2"}}, "C": {"Type": "AWS::SSM::Parameter", "DependsOn": "B", "Properties": {"Type": "String", "Value": "2"}}, "D": {"Type": "AWS::SSM::Parameter", "DependsOn": ["B", "C"], "Properties": {"Type": "String", "Value": "2"}}`},
	{"topics", `"A": {"Type": "AWS::SNS::Topic"}, "B": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "x"}}`,
		`"A": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Fn::GetAtt": "B.TopicName"}}}, "B": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "y"}}`},
	{"rename-logical-id", `"A": {"Type": "AWS::SNS::Topic"}`, `"Z": {"Type": "AWS::SNS::Topic"}`},
	{"log-group", `"A": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/a"}}`, `"A": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/b", "RetentionInDays": 7}}`},
	{"two-replacements", `"A": ` + of(fixed, "1") + `, "B": ` + of(fixed, "1"), `"A": ` + of(fixed, "2") + `, "B": {"Type": "Acme::No::Update", "DependsOn": "A", "Properties": {"Value": "2"}}`},
	{"grow", `"A": ` + of(queue, "1"), `"A": ` + of(queue, "1") + `, "B": {"Type": "AWS::SQS::Queue", "DependsOn": "A"}, "C": {"Type": "AWS::SQS::Queue", "DependsOn": "B"}, "D": {"Type": "AWS::SQS::Queue", "DependsOn": "C"}`},
	{"shrink", `"A": ` + of(queue, "1") + `, "B": {"Type": "AWS::SQS::Queue", "DependsOn": "A"}, "C": {"Type": "AWS::SQS::Queue", "DependsOn": "B"}`, `"A": ` + of(queue, "2")},
	{"swap", `"A": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "one"}}, "B": ` + of(param, "1"), `"C": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "one"}}, "B": ` + of(param, "2")},
	{"remake-removed", `"A": ` + of(remade, "1") + `, "B": ` + of(queue, "1"), `"A": {"Type": "Acme::Re::Make", "Properties": {"Fixed": "1", "Free": "x"}}`},
	{"handle", `"H": {"Type": "AWS::CloudFormation::WaitConditionHandle"}, "A": ` + of(param, "1"), `"H": {"Type": "AWS::CloudFormation::WaitConditionHandle"}, "A": ` + of(param, "2") + `, "B": ` + of(fixed, "1")},
	{"nested-change", `"Net": ` + of(nested, "@one@") + `, "A": ` + of(param, "1"), `"Net": ` + of(nested, "@two@") + `, "A": {"Type": "AWS::SSM::Parameter", "DependsOn": "Net", "Properties": {"Type": "String", "Value": "2"}}`},
	{"nested-add", `"A": ` + of(param, "1"), `"A": ` + of(param, "2") + `, "Net": {"Type": "AWS::CloudFormation::Stack", "DependsOn": "A", "Properties": {"TemplateURL": "@two@"}}`},
	{"nested-remove", `"Net": ` + of(nested, "@two@") + `, "A": ` + of(param, "1"), `"A": ` + of(param, "2")},
	{"nested-replace", `"Net": ` + of(nested, "@more@") + `, "A": ` + of(param, "1"), `"Net": ` + of(nested, "@less@") + `, "A": {"Type": "AWS::SSM::Parameter", "DependsOn": "Net", "Properties": {"Type": "String", "Value": {"Fn::GetAtt": "Net.Outputs.Name"}}}`},
	{"nested-deep", `"Net": ` + of(nested, "@deep@"), `"Net": ` + of(nested, "@deeper@") + `, "A": {"Type": "AWS::SSM::Parameter", "DependsOn": "Net", "Properties": {"Type": "String", "Value": "2"}}`},
	{"nested-shrink", `"Net": ` + of(nested, "@other@") + `, "Other": ` + of(nested, "@deep@"), `"Net": ` + of(nested, "@one@") + `, "Other": {"Type": "AWS::CloudFormation::Stack", "DependsOn": "Net", "Properties": {"TemplateURL": "@deep@"}}`},
}

// children are the templates of nested stacks, by the names that the stacks have for their addresses.
var children = map[string]string{
	"@one@":    `"C": ` + of(param, "1"),
	"@busy@":   `"C": ` + of(param, "1") + `, "L": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/busy"}}`,
	"@broken@": `"C": {"Fn::Transform": {"Name": "Mine"}}`,
	"@spam@":   `"C": ` + of(param, "spam"),
	"@two@":    `"C": ` + of(param, "2") + `, "D": ` + of(queue, "1"),
	"@more@":   `"C": ` + of(fixed, "1") + `, "E": {"Type": "Acme::Re::Make", "DependsOn": "C", "Properties": {"Fixed": "1"}}`,
	"@less@":   `"C": ` + of(fixed, "2") + `, "E": {"Type": "Acme::Re::Make", "DependsOn": "C", "Properties": {"Fixed": "2"}}`,
	"@deep@":   `"Inner": ` + of(nested, "@one@"),
	"@deeper@": `"Inner": ` + of(nested, "@two@") + `, "F": {"Type": "AWS::SSM::Parameter", "DependsOn": "Inner", "Properties": {"Type": "String", "Value": "x"}}`,
	"@other@":  `"H": {"Type": "Acme::Re::Make", "Properties": {"Fixed": "1"}}, "G": {"Type": "AWS::SSM::Parameter", "DependsOn": "H", "Properties": {"Type": "String", "Value": "1"}}`,
}

// expand uploads the templates of nested stacks for an account.
func (p *place) expand(account, body string) string {
	for name, child := range children {
		if strings.Contains(body, name) {
			at, err := p.remote(account).UploadTemplate(p.t.Context(), "", []byte(p.expand(account, `{"Resources": {`+child+`}, "Outputs": {"Name": {"Value": "out"}}}`)))
			if err != nil {
				p.t.Fatal(err)
			}
			body = strings.ReplaceAll(body, name, at)
		}
	}
	return body
}

func of(format, value string) string { return fmt.Sprintf(format, value) }

// TestFailures: for each failure of each stack, what the rehearsal says is what the engine then does.
func TestFailures(t *testing.T) {
	p := newPlace(t)
	var compared, failures atomic.Int64
	t.Run("stacks", func(t *testing.T) {
		for i, test := range stacks {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				p := p.in(t)
				before, after := `{"Resources": {`+test.before+`}}`, `{"Resources": {`+test.after+`}}`
				account := func(n int) string { return fmt.Sprintf("%012d", (i+1)*1000+n) }
				if status := p.deploy(account(0), test.name, before, false); status != types.StackStatusCreateComplete {
					t.Fatal(status)
				}
				report := p.rehearse(account(0), test.name, after, nil)
				if report.Skipped > 0 {
					t.Errorf("%d failures were not rehearsed", report.Skipped)
				}
				// The update without a failure is one of the comparisons.
				for n, f := range append([]Failure{{Status: report.Status}}, report.Failures...) {
					p.compare(account(n+1), test.name, before, after, &f)
				}
				compared.Add(int64(len(report.Failures) + 1))
				failures.Add(int64(len(report.Failures)))
			})
		}
	})
	if failures.Load() < 110 {
		t.Errorf("only %d failures", failures.Load())
	}
	t.Logf("%d stacks, %d updates compared, of them %d with a failure", len(stacks), compared.Load(), failures.Load())
}

// compare updates a stack with a failure, and compares what happens with the rehearsal. Without a LogicalID nothing fails.
func (p *place) compare(account, stack, before, after string, f *Failure) {
	p.t.Helper()
	p.deploy(account, stack, before, false)
	p.mu.Lock()
	try := p.tries[account]
	if f.LogicalID != "" {
		try.forward = &fault{last(f.LogicalID), f.Action, f.When == "after", ""}
	}
	if f.Rollback != "" {
		action, id, _ := strings.Cut(f.Rollback, " ")
		try.backward = &fault{last(id), action, false, ""}
	}
	try.updating = true
	p.mu.Unlock()
	status := p.deploy(account, stack, after, true)
	if string(status) != f.Status {
		p.t.Errorf("%s: predicted %s, got %s", f.At(), f.Status, status)
	}
	if f.LogicalID == "" {
		return
	}
	if left := p.leftovers(account, stack); shown(left) != shown(f.Left) {
		p.t.Errorf("%s: predicted as left over %s, got %s", f.At(), shown(f.Left), shown(left))
	}
	p.mu.Lock()
	lost := try.lost
	p.mu.Unlock()
	if status != types.StackStatusUpdateComplete && shown(lost) != shown(f.Lost) {
		p.t.Errorf("%s: predicted as lost %s, got %s", f.At(), shown(f.Lost), shown(lost))
	}
}

// leftovers are the resources that exist and are not part of the stack.
func (p *place) leftovers(account, stack string) (out []Lost) {
	has := map[string]bool{}
	p.has(account, stack, has)
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, l := range p.tries[account].live {
		if !has[key] {
			out = append(out, l)
		}
	}
	return out
}

// has notes the resources of a stack and of its nested stacks.
func (p *place) has(account, stack string, has map[string]bool) {
	for r, err := range p.remote(account).StackResources(p.t.Context(), stack) {
		if err != nil {
			p.t.Fatal(err)
		}
		if r.ResourceStatus == types.ResourceStatusDeleteFailed || r.ResourceStatus == types.ResourceStatusDeleteComplete {
			continue
		}
		has[aws.ToString(r.ResourceType)+"|"+aws.ToString(r.PhysicalResourceId)] = true
		if aws.ToString(r.ResourceType) == stackType {
			p.has(account, aws.ToString(r.PhysicalResourceId), has)
		}
	}
}

// last is a logical ID without the stacks that it is nested in: the tests have each only once.
func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// shown are resources without their identifiers, of which new ones have others in each run.
func shown(list []Lost) string {
	names := []string{}
	for _, l := range list {
		names = append(names, last(l.LogicalID)+" "+l.Type)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// written is a report as text. No format of it has a secret.
func written(t *testing.T, r *Report) string {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var html, plain bytes.Buffer
	if err := r.WriteHTML(&html); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteText(&plain, func(s string) string { return s }); err != nil {
		t.Fatal(err)
	}
	for _, text := range append([]string{r.StackName, r.Summary()}, r.Path...) {
		if !strings.Contains(html.String(), templ.EscapeString(text)) {
			t.Errorf("the page lacks %q", text)
		}
	}
	all := string(data) + html.String() + plain.String()
	for _, secret := range []string{"hunter2", "hunter3", "rehearsed-secret"} {
		if strings.Contains(all, secret) {
			t.Errorf("the report has %q", secret)
		}
	}
	return plain.String()
}

// TestReport: a report has what matters, and no secret.
func TestReport(t *testing.T) {
	p := newPlace(t)
	const account, stack = "000000000007", "shop"
	const parameters = `"Parameters": {"Pw": {"Type": "String", "NoEcho": true, "MinLength": 5, "AllowedPattern": "hunter[0-9]"}, "Size": {"Type": "Number", "Default": 1}}`
	p.deploy(account, "other", `{"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "busy"}}}, "Outputs": {"O": {"Value": {"Ref": "Q"}, "Export": {"Name": "base"}}}}`, false)
	before := `{` + parameters + `, "Resources": {
		"A": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Ref": "Pw"}}},
		"B": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::ImportValue": "base"}}},
		"Old": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": {"Ref": "Size"}}}},
		"Outputs": {"O": {"Value": {"Ref": "Old"}, "Export": {"Name": "mine"}}}}`
	if status := p.deploy(account, stack, before, false); status != types.StackStatusCreateComplete {
		t.Fatal(status)
	}
	p.deploy(account, "user", `{"Resources": {"U": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::ImportValue": "mine"}}}}}`, false)
	text := func(r *Report) string { return written(t, r) }

	// The same again is no change; another secret is one, and no pattern is checked on its made-up value.
	if r := p.rehearse(account, stack, before, nil); r.Pending || !strings.Contains(text(r), "there is nothing to change") {
		t.Errorf("%+v", r)
	}
	r := p.rehearse(account, stack, before, func(c *Config) {
		c.Parameters = []types.Parameter{{ParameterKey: aws.String("Pw"), ParameterValue: aws.String("hunter3")}, {ParameterKey: aws.String("Size"), UsePreviousValue: aws.Bool(true)}}
	})
	if len(r.Steps) != 1 || r.Steps[0] != (Step{LogicalID: "A", Type: "AWS::SSM::Parameter", Action: "UPDATE"}) || len(r.Changes) != 1 || !slices.Equal(r.Changes[0].Properties, []string{"Value"}) {
		t.Errorf("%+v", r)
	}
	text(r)

	// An export in use cannot be removed, whatever else changes.
	r = p.rehearse(account, stack, strings.Replace(before, `"Name": "mine"`, `"Name": "other"`, 1), nil)
	if r.Succeeds() || !slices.Equal(r.Exports, []string{"mine"}) || !strings.Contains(r.Reason, "mine") || !strings.Contains(r.Reason, "user") {
		t.Errorf("%+v", r)
	}
	text(r)

	// A name that another stack uses, a removed resource, and the order.
	next := strings.Replace(before, `"Old": {`, `"New": {"Type": "AWS::Logs::LogGroup", "DependsOn": "A", "Properties": {"LogGroupName": "/busy"}}, "Old": {`, 1)
	next = strings.Replace(next, `"Value": {"Ref": "Pw"}`, `"Value": "x"`, 1)
	p.deploy(account, "logs", `{"Resources": {"L": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/busy"}}}}`, false)
	r = p.rehearse(account, stack, next, nil)
	if r.Status != "UPDATE_ROLLBACK_COMPLETE" || len(r.Conflicts) != 1 || r.Conflicts[0] != (Conflict{"New", "AWS::Logs::LogGroup", "/busy"}) || !slices.Equal(r.Path, []string{"A", "New"}) || slices.ContainsFunc(r.Unknown, func(s string) bool { return strings.Contains(s, "exists already") }) {
		t.Errorf("%+v", r)
	}
	if all := text(r); !strings.Contains(all, "In use: /busy") || !strings.Contains(all, "Longest path: A → New") || strings.Contains(all, "depend on timing") {
		t.Error(all)
	}

	// What does not wait for each other: A and New do.
	r = p.rehearse(account, stack, strings.NewReplacer("/busy", "/new", `{"Ref": "Size"}`, "2").Replace(next), func(c *Config) { c.MaxRuns = 0 })
	if !slices.ContainsFunc(r.Unknown, func(s string) bool { return strings.HasSuffix(s, "depend on timing: A, New, Old") }) {
		t.Errorf("%q", r.Unknown)
	}

	// What is not run is said.
	r = p.rehearse(account, stack, strings.Replace(before, `"Value": {"Ref": "Pw"}`, `"Value": "{{resolve:secretsmanager:db}}"`, 1), func(c *Config) { c.MaxRuns = 0 })
	if r.Skipped != 1 || len(r.Failures) != 0 || !slices.ContainsFunc(r.Unknown, func(s string) bool { return strings.Contains(s, "dynamic references are not resolved") }) {
		t.Errorf("%+v", r)
	}
}

// TestStuck: the command that continues a rollback names the resource that keeps it.
func TestStuck(t *testing.T) {
	p := newPlace(t)
	const account = "000000000008"
	p.deploy(account, "s", `{"Resources": {"A": `+of(param, "1")+`, "B": `+of(param, "1")+`}}`, false)
	r := p.rehearse(account, "s", `{"Resources": {"A": `+of(param, "2")+`, "B": {"Type": "AWS::SSM::Parameter", "DependsOn": "A", "Properties": {"Type": "String", "Value": "2"}}}}`, nil)
	i := slices.IndexFunc(r.Failures, func(f Failure) bool { return f.Rollback == "UPDATE A" })
	if i < 0 || r.Failures[i].Status != "UPDATE_ROLLBACK_FAILED" || r.Failures[i].Command != "cfn stack continue s --region eu-west-1 --resources-to-skip A" {
		t.Fatalf("%+v", r.Failures)
	}
}

// TestInput: whether a name that cannot be read is in use is not known, and a parameter that the template does not have is refused, as
// by the service.
func TestInput(t *testing.T) {
	p := newPlace(t)
	const account = "000000000012"
	p.deploy(account, "s", `{"Resources": {"A": `+of(param, "1")+`}}`, false)
	p.mu.Lock()
	p.unreadable = "/busy"
	p.mu.Unlock()
	r := p.rehearse(account, "s", `{"Resources": {"A": `+of(param, "1")+`, "New": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/busy"}}}}`, func(c *Config) { c.MaxRuns = 0 })
	if want := "/busy (AWS::Logs::LogGroup) could not be read, so whether it exists already is not known: AccessDeniedException"; len(r.Conflicts) != 0 || !slices.Contains(r.Unknown, want) {
		t.Errorf("%+v", r)
	}
	r = p.rehearse(account, "s", `{"Resources": {"A": `+of(param, "1")+`}}`, func(c *Config) {
		c.Parameters = []types.Parameter{{ParameterKey: aws.String("Pasword"), ParameterValue: aws.String("hunter3")}}
	})
	if r.Succeeds() || r.Reason != "Parameters: [Pasword] do not exist in the template" {
		t.Errorf("%+v", r)
	}
	written(t, r)
}

// TestOutside: custom resources, wait conditions, signals and types without a schema are rehearsed as far as that goes.
func TestOutside(t *testing.T) {
	p := newPlace(t)
	const account = "000000000010"
	child, err := p.remote(account).UploadTemplate(t.Context(), "", []byte(`{"Resources": {"X": `+of(param, "1")+`}, "Outputs": {"Name": {"Value": {"Ref": "X"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"Resources": {
		"Net": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "` + child + `", "Parameters": {}}},
		"A": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::GetAtt": "Net.Outputs.Name"}}},
		"Seed": {"Type": "Custom::Seed", "Properties": {"ServiceToken": "arn:aws:lambda:eu-west-1:000000000010:function:f", "N": "1"}},
		"B": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::GetAtt": "Seed.Key"}}}}}`
	if status := p.deploy(account, "s", body, false); status != types.StackStatusCreateComplete {
		t.Fatal(status)
	}
	next := strings.Replace(body, `"N": "1"`, `"N": "2"`, 1)
	next = strings.Replace(next, `"B": {`, `"W": {"Type": "AWS::CloudFormation::WaitCondition", "CreationPolicy": {"ResourceSignal": {"Count": 2}}}, "B": {`, 1)
	r := p.rehearse(account, "s", next, func(c *Config) { c.MaxRuns = 0 })
	var steps []string
	for _, s := range r.Steps {
		steps = append(steps, s.Action+" "+s.LogicalID+" "+s.Type)
	}
	slices.Sort(steps)
	if r.Status != "UPDATE_COMPLETE" || !slices.Equal(steps, []string{"CREATE W AWS::CloudFormation::WaitConditionHandle", "UPDATE Net AWS::CloudFormation::Stack", "UPDATE Seed Custom::Seed"}) {
		t.Errorf("%s %s %v", r.Status, r.Reason, steps)
	}
	for _, text := range []string{"wait conditions are taken to be fulfilled", "signals are taken to arrive"} {
		if !slices.ContainsFunc(r.Unknown, func(s string) bool { return strings.HasPrefix(s, text) }) {
			t.Errorf("nothing of %q in %q", text, r.Unknown)
		}
	}
	// A stack does not refer to a resource by what a rehearsal made up.
	if r := p.rehearse(account, "s", body, nil); len(r.Steps) != 1 || r.Steps[0].LogicalID != "Net" {
		t.Errorf("%+v", r)
	}
}

// TestLimit: when the time is over, the report has the failures that were rehearsed.
func TestLimit(t *testing.T) {
	p := newPlace(t)
	const account = "000000000011"
	p.deploy(account, "s", `{"Resources": {"A": `+of(param, "1")+`}}`, false)
	for n := range 3 {
		ctx, cancel := context.WithCancelCause(t.Context())
		config := Config{
			Remote: p.remote(account), Stack: "s", Template: []byte(`{"Resources": {"A": ` + of(param, "2") + `, "B": ` + of(param, "2") + `}}`), File: "t.json",
			Base: baseConfig(t), Getenv: func(string) string { return "" }, Parallel: 1, MaxRuns: 9,
			Progress: func(done, _ int) {
				if done > n {
					cancel(&limitError{time.Second})
				}
			},
		}
		r, err := Run(ctx, config)
		if err != nil || len(r.Failures) != n+1 || r.Skipped == 0 {
			t.Errorf("%+v, %v", r, err)
		}
		cancel(nil)
	}
}

// TestRefusals: what a rehearsal does not start with is an error.
func TestRefusals(t *testing.T) {
	p := newPlace(t)
	const account = "000000000009"
	p.deploy(account, "s", `{"Resources": {"A": `+of(param, "1")+`}}`, false)
	for name, test := range map[string]struct{ stack, body, want string }{
		"no stack":    {"none", `{"Resources": {"A": ` + of(param, "1") + `}}`, "the stack none does not exist"},
		"a transform": {"s", `{"Transform": "Mine", "Resources": {"A": ` + of(param, "1") + `}}`, "uses the transform Mine, which a rehearsal does not run"},
		"no template": {"s", `[]`, ""},
		"too large":   {"s", strings.Repeat(" ", 1_000_001), "larger than 1000000 bytes"},
	} {
		_, err := Run(t.Context(), Config{Remote: p.remote(account), Stack: test.stack, Template: []byte(test.body), File: "t.json", Getenv: func(string) string { return "" }})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Config{Remote: p.remote(account), Stack: "s", Getenv: func(string) string { return "" }}); err == nil {
		t.Error("a canceled rehearsal succeeds")
	}
}

// TestRemoveStale: what a crash left is removed a day later.
func TestRemoveStale(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{folderPrefix + "1", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "data"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	left := func(now time.Time) (n int) {
		removeStale(dir, now)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if n := left(time.Now()); n != 2 {
		t.Errorf("a folder in use is removed: %d left", n)
	}
	if n := left(time.Now().Add(2 * staleAfter)); n != 1 {
		t.Errorf("%d folders left", n)
	}
}
