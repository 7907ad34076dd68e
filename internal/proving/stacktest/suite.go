package stacktest

import (
	"path/filepath"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Suite is one file of tests.
type Suite struct {
	File string // as the user typed it
	Dir  string // of the file, absolute: what paths in it are relative to

	Templates []source // by name; the first one is the default
	Defaults  inputs   // of each deploy and update
	Account   string
	Region    string
	Given     []document.Member // exports, ssm, secrets
	Types     []typeRule        // the first one that matches a type counts
	Functions []function
	Hooks     []hookRule
	Matrix    *matrix
	Coverage  []demand
	Cases     []*Case
}

// Folders are the folders of the file, and of what it names on this machine.
func (s *Suite) Folders() []string {
	p := &prepared{suite: s}
	out := []string{s.Dir}
	for _, t := range s.Templates {
		if t.CDK != "" {
			out = append(out, p.path(t.CDK))
		} else {
			out = append(out, filepath.Dir(p.path(t.File)))
		}
	}
	for _, rule := range s.Types {
		if rule.Project != "" {
			out = append(out, p.path(rule.Project))
		}
	}
	for _, rule := range s.Hooks {
		if rule.Project != "" {
			out = append(out, p.path(rule.Project))
		}
	}
	for _, f := range s.Functions {
		if f.Run != "" {
			out = append(out, p.path(f.Run)) // of a binary or a URL it is not one, which nobody watches
		}
	}
	return out
}

// A source is where a template comes from: a file, or a stack of a CDK app.
type source struct {
	Name  string
	File  string // of a template; "" for a CDK app
	CDK   string // the folder of the app
	Stack string // of the app; "" if it has one
	At    diag.Range
}

// A typeRule says where the types that a pattern matches come from.
type typeRule struct {
	Pattern    string
	Project    string            // folder of an extension project
	Package    string            // file that "cfn package" wrote
	Delegate   string            // URL of an emulator
	Attributes []document.Member // of simulated resources, by property
	Simulate   bool
	At         diag.Range
}

// A function is one that custom resources and macros call by name: code that is run, or an answer to each request of a
// custom resource.
type function struct {
	Name   string
	Run    string          // a folder, a binary or a URL, as of cfn serve --function
	Answer *document.Value // nil if it runs
}

// A hookRule is a hook that sees the stacks of the tests.
type hookRule struct {
	Type             string
	Project          string
	Guard            string   // a file of rules, of a hook without a project
	Fail             string   // the message of a hook that refuses everything
	Targets, Actions []string // of a hook without a project; nil: all
	At               diag.Range
}

// A demand is a least coverage.
type demand struct {
	What  string // resources, conditions or branches
	Least int    // in percent
	At    diag.Range
}

// A Case is one test, run once for each variant of its matrix.
type Case struct {
	Name   string // "" for the steps of a file without cases
	At     diag.Range
	Skip   string // why it is not run, "" if it is
	Matrix *matrix
	Steps  []*Step
}

// A matrix is a set of variants.
type matrix struct {
	Parameters       []axis
	Conditions       []axis // of true and false
	Include, Exclude [][]document.Member
	At               diag.Range
}

// An axis is a parameter or condition with its values; no values are all that the template allows.
type axis struct {
	Name   string
	Values []string
	At     diag.Range
}

// inputs are what a stack is deployed with.
type inputs struct {
	Parameters   []document.Member
	Tags         []document.Member
	Capabilities []string
}

// A Step is one action and what is expected of it.
type Step struct {
	Name   string
	Action string
	At     diag.Range // of the action

	Stack    string // "" is the stack of the default template
	Template string // of Suite.Templates, or a file; "" is the one that the stack has, else the default
	Inputs   inputs
	Edits    []edit
	Type     string            // ChangeSetType
	IDs      []document.Member // of change and import: logical ID to what happens to it
	Skip     []string          // of continueRollback

	Function *document.Value // of call: a name, or a function of templates
	Payload  *document.Value
	Moves    []moved // of refactor; IDs are its mappings

	Fail    *fault
	Delay   map[string]time.Duration
	Kill    string // the logical ID at whose call the server is killed; from the step before
	KillAt  diag.Range
	Signals []signal // from the steps before

	Expect []document.Member
}

// A moved stack gets another template by a refactor.
type moved struct {
	Stack, Template string
	Edits           []edit
	At              diag.Range
}

// A signal is sent while a step runs.
type signal struct {
	At                       string // logical ID
	Status, ID, Data, Reason string
	Times                    int
	Position                 diag.Range
}

// An edit replaces, adds or removes one value of a template.
type edit struct {
	Path   document.Pointer
	Value  *document.Value // nil removes it
	PathAt diag.Range
}

// A fault has the calls of a resource fail.
type fault struct {
	At       string // logical ID
	Action   string // CREATE, UPDATE, DELETE, READ, or ROLLBACK; "" is CREATE, UPDATE and DELETE
	After    bool   // the resource is made, changed or deleted all the same
	Code     string
	Message  string
	Times    int // 0 is each time
	Position diag.Range
}
