package permissions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/running/customresource"
)

// A Kind is what is done with a resource.
type Kind string

// The kinds of changes.
const (
	Create  Kind = "create"
	Update  Kind = "update"
	Replace Kind = "replace"
	Delete  Kind = "delete"
	Keep    Kind = "keep" // it is removed from the stack and kept
	Import  Kind = "import"
)

// handlers are those that a change runs, each with the reason. A resource that could not be created completely is deleted by the
// rollback; most handlers read the resource at their end.
var handlers = map[Kind][]struct{ name, why string }{
	Create:  {{"create", "handler"}, {"read", "read-back"}, {"delete", "rollback"}},
	Update:  {{"update", "handler"}, {"read", "read-back"}},
	Replace: {{"create", "handler"}, {"delete", "handler"}, {"read", "read-back"}, {"update", "handler"}},
	Delete:  {{"delete", "handler"}, {"read", "read-back"}},
	Import:  {{"read", "handler"}},
}

// makes reports whether properties of the resource reach a service.
func (k Kind) makes() bool { return k == Create || k == Update || k == Replace }

// A Change is what an operation does with one resource.
type Change struct {
	Path       string // logical IDs of the nested stacks that it is in, "Net."; "" for the stack itself
	LogicalID  string
	Type       string
	Kind       Kind
	PhysicalID string          // "" if it does not exist
	Scope      *template.Scope // of the template that it is in, nil if that is not known
}

func (c *Change) name() string { return c.Path + c.LogicalID }

// A Place is where a stack is. Account is "*" if it is not known.
type Place struct{ Partition, Region, Account, Stack string }

// A Type is what is known of a resource type.
type Type struct {
	Schema *schema.Schema // nil if there is none

	// Role reports whether the handlers run with an execution role of the type, not with the permissions of the stack.
	Role bool
}

// The identities that need permissions. Each type with an execution role is another one, by its name.
const (
	Caller = "caller" // who requests the operation
	Stack  = "role"   // the role of the stack; without one, CloudFormation has the permissions of the caller
)

// Input is an operation.
type Input struct {
	Place   Place
	Changes []Change
	Root    *template.Scope // of the template of the stack, nil to delete it
	RoleARN string          // of the stack, "" for none
	Calls   []string        // requests to CloudFormation: "CreateStack"
	Tags    bool            // the stack has tags
	Upload  string          // URL in a bucket that the template is uploaded to, "" for none
	Seen    Seen            // what handlers were seen to call
	Types   func(typeName string) (Type, error)
}

// An Entry is one action that is needed.
type Entry struct {
	Identity   string              `json:"identity"`            // caller, role, or the type with the execution role
	Resource   string              `json:"resource"`            // logical ID; "" for the stack
	Type       string              `json:"resourceType"`        //
	Change     Kind                `json:"change"`              // "" for the stack
	Action     string              `json:"action"`              // sqs:CreateQueue
	On         []string            `json:"on"`                  // ARNs
	When       map[string][]string `json:"condition,omitempty"` // values of condition keys
	Why        string              `json:"why"`                 // handler, read-back, rollback, tagging, pass-role, key, network, function, reference, cloudformation, seen while recording
	Confidence string              `json:"confidence"`          // declared, inferred, seen
	Unknown    bool                `json:"unknown,omitempty"`   // IAM does not list the action
}

// A Remark is something that is not known.
type Remark struct {
	Resource string `json:"resource"`
	Type     string `json:"resourceType"`
	Text     string `json:"text"`
}

// Needs are the permissions that an operation needs.
type Needs struct {
	Entries []Entry  `json:"permissions"`
	Remarks []Remark `json:"remarks"`
}

// Compute returns the permissions that an operation needs. The error is that of Input.Types.
func Compute(in Input) (*Needs, error) {
	c := &computer{in: in, out: &Needs{Entries: []Entry{}, Remarks: []Remark{}}, known: map[string]bool{}, stack: Caller}
	if in.RoleARN != "" {
		c.stack = Stack
	}
	for i := range in.Changes {
		if err := c.change(&in.Changes[i]); err != nil {
			return nil, err
		}
	}
	for typeName := range in.Seen {
		if !slices.ContainsFunc(in.Changes, func(of Change) bool { return of.Type == typeName }) {
			c.out.Remarks = append(c.out.Remarks, Remark{Type: typeName, Text: "the recording of this type is not used: no resource of it changes"})
		}
	}
	c.requests()
	c.parameters()
	c.out.sort()
	return c.out, nil
}

type computer struct {
	in    Input
	out   *Needs
	known map[string]bool // the entries
	stack string          // the identity that provisions
}

func (n *Needs) sort() {
	slices.SortStableFunc(n.Entries, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Identity, b.Identity), strings.Compare(a.Resource, b.Resource), strings.Compare(a.Action, b.Action), slices.Compare(a.On, b.On))
	})
	slices.SortStableFunc(n.Remarks, func(a, b Remark) int {
		return cmp.Or(strings.Compare(a.Resource, b.Resource), strings.Compare(a.Text, b.Text))
	})
	n.Remarks = slices.Compact(n.Remarks)
}

// Identities are those that need something, sorted.
func (n *Needs) Identities() []string {
	found := map[string]bool{}
	for _, e := range n.Entries {
		found[e.Identity] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// Of are the entries of one identity.
func (n *Needs) Of(identity string) (out []Entry) {
	for _, e := range n.Entries {
		if e.Identity == identity {
			out = append(out, e)
		}
	}
	return out
}

// A subject is a change with what its entries are made of.
type subject struct {
	*computer
	*Change
	typ      Type
	identity string
	own      string // the service of the type
	resource *template.Resource
	leaves   []leaf
	roles    []string // ARNs that are passed
	trusted  []string // the services that may be passed all of them, nil if that is not known
}

func (c *computer) change(of *Change) error {
	if of.Kind == Keep {
		return nil
	}
	s := &subject{computer: c, Change: of, identity: c.stack}
	if of.Scope != nil {
		s.resource = of.Scope.Template().Resource(of.LogicalID)
	}
	if s.resource != nil {
		s.leaves = leaves(of.Scope, s.resource)
	}
	if own := ownTypes[of.Type]; own != nil {
		own(s)
		return nil
	}
	if customresource.IsType(of.Type) {
		s.customResource()
		s.references()
		return nil
	}
	var err error
	if s.typ, err = c.in.Types(of.Type); err != nil {
		return err
	}
	if s.typ.Schema == nil {
		s.remark("no schema of the type is known, so its permissions are not known")
		return nil
	}
	if s.typ.Role {
		s.identity = of.Type
	}
	s.own = mainService(s.typ.Schema)
	s.findRoles()
	s.handlers()
	s.seen()
	if of.Kind.makes() {
		if len(s.roles) > 0 {
			s.passRole("pass-role") // also where the handlers do not declare it
		}
		s.tagging()
		s.keys()
		s.network()
	}
	s.references()
	return nil
}

// mainService is the service that a type is of: most actions of its handlers are.
func mainService(s *schema.Schema) string {
	count := map[string]int{}
	for _, h := range s.Handlers {
		for _, p := range h.Permissions {
			prefix, _, _ := strings.Cut(p.Value, ":")
			count[strings.ToLower(prefix)]++
		}
	}
	best := ""
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if best == "" || count[name] > count[best] {
			best = name
		}
	}
	return best
}

func (s *subject) remark(format string, args ...any) {
	s.out.Remarks = append(s.out.Remarks, Remark{s.name(), s.Type, fmt.Sprintf(format, args...)})
}

// add adds an action. An action that is needed for several reasons has the first of them.
func (s *subject) add(e Entry) {
	e.Identity, e.Resource, e.Type, e.Change = cmp.Or(e.Identity, s.identity), s.name(), s.Type, s.Kind
	s.computer.add(e)
}

func (c *computer) add(e Entry) {
	slices.Sort(e.On)
	e.On = slices.Compact(e.On)
	key := fmt.Sprintf("%q", slices.Concat([]string{e.Identity, e.Resource, e.Action}, e.On, slices.Sorted(maps.Keys(e.When))))
	if !c.known[key] {
		c.known[key] = true
		c.out.Entries = append(c.out.Entries, e)
	}
}

// handlers adds what the handlers of the type declare.
func (s *subject) handlers() {
	if len(s.typ.Schema.Handlers) == 0 {
		s.remark("the schema declares no handlers, so the permissions of the type are not known")
		return
	}
	silent := false
	for _, h := range handlers[s.Kind] {
		handler := s.typ.Schema.Handler(h.name)
		if handler == nil {
			continue
		}
		if len(handler.Permissions) == 0 {
			silent = true
		}
		for _, p := range handler.Permissions {
			s.declared(p.Value, h.why)
		}
	}
	if silent && !s.typ.Role {
		s.remark("the schema declares no permissions for some handlers, so they are not known")
	}
}

// declared adds an action of a schema.
func (s *subject) declared(name, why string) {
	if !wellFormed.MatchString(name) {
		if name != "" {
			s.remark("%q, which the schema declares, is not an action and is left out", name)
		}
		return
	}
	known := actionOf(name)
	wildcard := strings.ContainsAny(name, "*?")
	if known != nil {
		name = known.name
	}
	if strings.EqualFold(name, "iam:PassRole") {
		s.passRole(why)
		return
	}
	e := Entry{Action: name, On: []string{"*"}, Why: why, Confidence: "declared", Unknown: known == nil && !wildcard}
	if known != nil {
		e.On = s.arns(known)
	}
	s.add(e)
}

// passRole adds the permission to pass the roles that the resource names.
func (s *subject) passRole(why string) {
	if len(s.roles) == 0 {
		switch {
		case s.resource == nil && s.Kind != Delete:
			s.remark("iam:PassRole is left out, because the properties are not known")
		case s.Kind.makes():
			s.remark("iam:PassRole, which the schema declares, is left out: no property is a role")
		}
		return
	}
	e := Entry{Action: "iam:PassRole", On: slices.Clone(s.roles), Why: "pass-role", Confidence: "declared"}
	if why == "pass-role" {
		e.Confidence = "inferred"
	}
	if s.trusted != nil {
		e.When = map[string][]string{"iam:PassedToService": s.trusted}
	}
	s.add(e)
}

// tagging adds the actions on tags: CloudFormation sets tags of its own on every resource that can have some.
func (s *subject) tagging() {
	tagging := s.typ.Schema.Tagging
	if !tagging.Taggable {
		return
	}
	for _, name := range tagging.Permissions {
		if known := actionOf(name); known != nil {
			s.add(Entry{Action: known.name, On: s.ownARNs(known), Why: "tagging", Confidence: "declared"})
		} else if wellFormed.MatchString(name) {
			s.add(Entry{Action: name, On: []string{"*"}, Why: "tagging", Confidence: "declared", Unknown: !strings.Contains(name, "*")})
		}
	}
	if len(tagging.Permissions) > 0 || s.typ.Role {
		return
	}
	if of := serviceOf(s.own); of != nil {
		for _, name := range of.tags {
			s.add(Entry{Action: name, On: s.ownARNs(actionOf(name)), Why: "tagging", Confidence: "inferred"})
		}
	}
}
