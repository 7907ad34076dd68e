package stack

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What follows is a model of what the service does with one stack, written from its
// documentation and not from the engine: no transactions, no plans, no wake-ups. It does not
// run by itself: each answer of a handler takes it to the next state, in which it knows the
// calls that must be pending.

// A modelTemplate is a template as far as the model has one. A resource refers only to those
// before it.
type modelTemplate struct {
	Resources []modelSpec
	Output    string // the resource whose id is an output, "" for none
	Serial    int    // another output, so that no two templates are equal
}

type modelSpec struct {
	ID, Name, Class   string
	Note              modelValue
	DependsOn         string
	Deletion, Replace string
}

// A modelValue is a text, or what a reference to a resource stands for.
type modelValue struct {
	Kind string // "text", "Ref", "Id", "Note"
	Text string // of the text, or a logical id
}

func (s modelSpec) typeName() string {
	return "Acme::Test::" + map[string]string{"A": "Remade", "B": "Thing", "C": "Fixed", "D": "Remade", "E": "Thing"}[s.ID]
}

func (s modelSpec) needs() []string {
	var out []string
	if s.Note.Kind != "text" {
		out = append(out, s.Note.Text)
	}
	if s.DependsOn != "" {
		out = append(out, s.DependsOn)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (t *modelTemplate) spec(id string) *modelSpec {
	for i := range t.Resources {
		if t.Resources[i].ID == id {
			return &t.Resources[i]
		}
	}
	return nil
}

// A modelResource is a resource of the stack.
type modelResource struct {
	spec   modelSpec
	pid    string
	props  map[string]string
	needs  []string
	status string

	fresh     bool           // the last stable state does not have it
	origin    *modelResource // as it was in the last stable state, nil if untouched since
	attempted map[string]string
	gone      bool // the origin was deleted to be made anew
	rebound   bool // what the origin refers to is made anew
}

// A modelLeft is a physical resource that the stack has no more and has to delete.
type modelLeft struct {
	id, pid string
	needs   []string
	retain  bool
	tried   bool // to be deleted
}

type modelStep struct {
	id, do, state string // waiting, running, configured, done, failed, cancelled, stopped
	left          *modelLeft
	after         []string
	props         map[string]string // wanted
	pid           string
	call          string
	first         bool // the old resource was deleted for its successor
}

type modelStack struct {
	name, status, reason string
	resources            map[string]*modelResource
	left                 []*modelLeft
	stable, current      *modelTemplate
	outputs              map[string]string
	things               map[string]map[string]string // of the world: properties by physical id
	events               map[string][]string          // by logical id

	// Of the operation that runs.
	kind, phase, onFailure string
	retainExcept, force    bool
	cancelled              bool
	retain, skip           []string
	steps                  map[string]*modelStep
}

func newModelStack(name string) *modelStack {
	return &modelStack{name: name, resources: map[string]*modelResource{}, things: map[string]map[string]string{}, events: map[string][]string{}, outputs: map[string]string{}}
}

func (m *modelStack) running() bool { return strings.HasSuffix(m.status, "IN_PROGRESS") }

func (m *modelStack) event(id, status, pid, reason string) {
	id = eventList(id, status, pid)
	m.events[id] = append(m.events[id], strings.TrimRight(status+" "+pid+" "+reason, " "))
}

// eventList names the list whose events come in a fixed order: those of a resource, and those
// of each deletion, as several of one logical id may be deleted at a time.
func eventList(id, status, pid string) string {
	if strings.HasPrefix(status, "DELETE_") && pid != "" {
		return id + "/" + pid
	}
	return id
}

func (m *modelStack) setStatus(status, reason string) {
	m.status, m.reason = status, reason
	m.event(m.name, status, "", reason)
}

// modelRequest is an operation as a client asks for it.
type modelRequest struct {
	kind         string // create, update, delete, rollback, continue
	template     *modelTemplate
	onFailure    string
	retainExcept bool
	retain, skip []string
	force        bool
}

func (m *modelStack) begin(r modelRequest) {
	m.kind, m.onFailure, m.retainExcept, m.force, m.retain, m.skip, m.cancelled = r.kind, r.onFailure, r.retainExcept, r.force, r.retain, r.skip, false
	m.steps = map[string]*modelStep{}
	switch r.kind {
	case "create":
		m.current = r.template
		m.setStatus("CREATE_IN_PROGRESS", reasonUserInitiated)
		m.enter("main")
	case "update":
		m.current = r.template
		m.setStatus("UPDATE_IN_PROGRESS", reasonUserInitiated)
		m.enter("main")
	case "delete":
		m.setStatus("DELETE_IN_PROGRESS", reasonUserInitiated)
		m.enter("delete")
	case "rollback", "continue":
		status := "UPDATE_ROLLBACK_IN_PROGRESS"
		if m.stable == nil {
			status = "ROLLBACK_IN_PROGRESS"
		}
		m.setStatus(status, reasonUserInitiated)
		m.enter("rollback")
	}
	m.advance()
}

// cancel is CancelUpdateStack, or DeleteStack while the stack is created.
func (m *modelStack) cancel() {
	m.cancelled = true
	if m.kind == "create" {
		m.onFailure = "DELETE"
	}
	m.advance()
}

// enter begins a stage. What was cancelled and still runs goes along.
func (m *modelStack) enter(phase string) {
	m.phase = phase
	before := m.steps
	m.steps = map[string]*modelStep{}
	for _, s := range before {
		if s.state == "cancelled" {
			m.steps["!"+s.id] = s
		}
	}
	switch phase {
	case "main":
		for _, spec := range m.current.Resources {
			if x := m.resources[spec.ID]; x != nil && x.status == "DELETE_FAILED" {
				m.left = append(m.left, &modelLeft{id: spec.ID, pid: x.pid, needs: x.needs})
				delete(m.resources, spec.ID)
			}
			m.addStep(spec.ID, "deploy", nil, spec.needs())
		}
	case "rollback":
		if m.status == "ROLLBACK_IN_PROGRESS" {
			m.deletions(slices.Collect(maps.Keys(m.resources)))
			return
		}
		m.rebind()
		for id, x := range m.resources {
			if x.origin != nil {
				m.addStep(id, "revert", nil, x.origin.needs)
			}
		}
	case "cleanup":
		var removed []string
		for id := range m.resources {
			if m.current.spec(id) == nil {
				removed = append(removed, id)
			}
		}
		m.deletions(removed)
	case "rollback-cleanup":
		var created []string
		for id, x := range m.resources {
			if x.fresh {
				created = append(created, id)
			}
		}
		m.deletions(created)
	case "delete":
		m.deletions(slices.Collect(maps.Keys(m.resources)))
	}
}

func (m *modelStack) addStep(id, do string, left *modelLeft, after []string) {
	key := id
	if left != nil {
		key = id + "/" + left.pid
	}
	if m.steps["!"+id] != nil {
		after = append(slices.Clone(after), "!"+id)
	}
	m.steps[key] = &modelStep{id: id, do: do, state: "waiting", left: left, after: after}
}

// deletions has a step for each resource to delete: it waits for those that depend on it.
func (m *modelStack) deletions(ids []string) {
	needs := map[string][]string{} // by key
	of := map[string]string{}
	for _, id := range ids {
		if x := m.resources[id]; x.status != "DELETE_COMPLETE" && x.status != "DELETE_SKIPPED" {
			needs[id], of[id] = x.needs, id
		}
	}
	lefts := map[string]*modelLeft{}
	for _, l := range m.left {
		key := l.id + "/" + l.pid
		needs[key], of[key], lefts[key] = l.needs, l.id, l
	}
	for key, id := range of {
		var after []string
		for other := range of {
			if other != key && slices.Contains(needs[other], id) {
				after = append(after, other)
			}
		}
		m.addStep(id, "delete", lefts[key], after)
	}
}

// advance goes on until only handlers can.
func (m *modelStack) advance() {
	for m.running() {
		started, active, anyFailed := false, false, false
		for _, s := range m.steps {
			anyFailed = anyFailed || s.state == "failed"
		}
		rollsBack := m.onFailure != "DO_NOTHING"
		halt := m.phase == "main" && (rollsBack && anyFailed && !m.cancelled || m.cancelled && m.kind == "create")
		if halt {
			m.halt()
			m.endStage()
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(m.steps)) {
			s := m.steps[key]
			if s.state == "waiting" && !(m.phase == "main" && m.cancelled) && m.ready(s) {
				m.start(s)
				started = true
			}
			active = active || s.state == "running" || s.state == "configured" || s.state == "cancelled"
		}
		if started {
			continue
		}
		if active {
			return
		}
		m.endStage()
	}
}

func (m *modelStack) ready(s *modelStep) bool {
	for _, key := range s.after {
		before := m.steps[key]
		if before != nil && before.state == "failed" && m.phase == "delete" && m.force {
			continue // the stack goes whatever is left
		}
		if before != nil && !slices.Contains([]string{"done", "configured", "stopped"}, before.state) {
			return false
		}
	}
	return true
}

// halt cancels what runs.
func (m *modelStack) halt() {
	for _, s := range m.steps {
		if s.state != "running" && s.state != "configured" {
			continue
		}
		s.state = "cancelled"
		x := m.resources[s.id]
		status, reason := "UPDATE_FAILED", reasonUpdateCancelled
		if s.do == "create" {
			status, reason = "CREATE_FAILED", reasonCreateCancelled
		}
		x.status = status
		m.event(s.id, status, orElse(s.pid, x.pid), reason)
	}
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// endStage goes to the next stage.
func (m *modelStack) endStage() {
	problem := m.problem()
	bad := problem != ""
	switch {
	case m.phase == "main" && bad && m.onFailure == "DO_NOTHING" && !m.cancelled:
		m.setStatus(map[string]string{"create": "CREATE_FAILED", "update": "UPDATE_FAILED"}[m.kind], problem)
	case m.phase == "main" && bad && m.kind == "create" && m.onFailure == "DELETE":
		m.setStatus("DELETE_IN_PROGRESS", problem)
		m.enter("delete")
	case m.phase == "main" && bad && m.kind == "create":
		m.setStatus("ROLLBACK_IN_PROGRESS", problem)
		m.enter("rollback")
	case m.phase == "main" && bad && m.stable == nil:
		m.setStatus("ROLLBACK_IN_PROGRESS", problem)
		m.enter("rollback")
	case m.phase == "main" && bad:
		m.setStatus("UPDATE_ROLLBACK_IN_PROGRESS", problem)
		m.enter("rollback")
	case m.phase == "main":
		m.settle()
		if m.kind == "create" {
			m.setStatus("CREATE_COMPLETE", "")
			return
		}
		m.setStatus("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "")
		m.enter("cleanup")
	case m.phase == "cleanup":
		m.setStatus("UPDATE_COMPLETE", "")
	case m.phase == "rollback" && m.status == "ROLLBACK_IN_PROGRESS":
		m.setStatus(map[bool]string{true: "ROLLBACK_FAILED", false: "ROLLBACK_COMPLETE"}[bad], problem)
	case m.phase == "rollback" && bad:
		m.setStatus("UPDATE_ROLLBACK_FAILED", problem)
	case m.phase == "rollback":
		m.current = m.stable
		m.setStatus("UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "")
		m.enter("rollback-cleanup")
	case m.phase == "rollback-cleanup":
		m.setStatus("UPDATE_ROLLBACK_COMPLETE", "")
	case m.phase == "delete" && bad && !m.force:
		m.setStatus("DELETE_FAILED", problem)
	case m.phase == "delete":
		m.setStatus("DELETE_COMPLETE", "")
	}
}

// problem is the reason for which a stage did not succeed.
func (m *modelStack) problem() string {
	failed := map[string][]string{}
	ended := false
	for _, s := range m.steps {
		ended = ended || s.state == "failed"
		if s.state != "failed" && s.state != "cancelled" {
			continue
		}
		verb := "update"
		if s.do == "delete" {
			verb = "delete"
		} else if x := m.resources[s.id]; x != nil && x.status == "CREATE_FAILED" {
			verb = "create"
		}
		failed[verb] = append(failed[verb], s.id)
	}
	if !ended {
		switch {
		case m.phase == "main" && m.cancelled && m.kind == "create":
			return reasonUserInitiated
		case m.phase == "main" && m.cancelled:
			return reasonUpdateStopped
		}
		return ""
	}
	var parts []string
	for _, verb := range []string{"create", "update", "delete"} {
		if failed[verb] != nil {
			slices.Sort(failed[verb])
			parts = append(parts, fmt.Sprintf("The following resource(s) failed to %s: [%s]", verb, strings.Join(slices.Compact(failed[verb]), ", ")))
		}
	}
	text := strings.Join(parts, ". ")
	if m.phase == "main" && m.kind == "create" {
		return text + map[string]string{"DO_NOTHING": "", "DELETE": ". Delete requested by user.", "ROLLBACK": ". Rollback requested by user."}[m.onFailure]
	}
	return text + ". "
}

// settle makes what was deployed the stable state.
func (m *modelStack) settle() {
	m.stable = m.current
	for _, x := range m.resources {
		if x.origin != nil && !x.gone && x.origin.pid != x.pid {
			m.left = append(m.left, &modelLeft{id: x.spec.ID, pid: x.origin.pid, needs: x.origin.needs, retain: x.spec.Replace == "Retain"})
		}
		x.origin, x.fresh, x.attempted, x.gone, x.rebound = nil, false, nil, false, false
	}
	m.outputs = map[string]string{"Serial": fmt.Sprint(m.current.Serial)}
	if m.current.Output != "" {
		m.outputs["Id"] = m.resources[m.current.Output].pid
	}
}

func describeProps(props map[string]string) string {
	var parts []string
	for _, name := range []string{"Class", "Name", "Note"} {
		if props[name] != "" {
			parts = append(parts, name+"="+props[name])
		}
	}
	return "{" + strings.Join(parts, " ") + "}"
}
