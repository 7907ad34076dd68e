package stack

import (
	"maps"
	"slices"
)

// The steps of the model: what is done with one resource.

// start begins a step. It may end at once.
func (m *modelStack) start(s *modelStep) {
	switch s.do {
	case "deploy":
		m.deploy(s)
	case "successor":
		x := m.resources[s.id]
		if !s.first {
			m.event(s.id, x.status, x.pid, reasonReplacing)
		}
		m.call(s, "CREATE "+s.id+" "+describeProps(s.props))
	case "delete":
		m.remove(s)
	case "revert":
		m.revert(s)
	}
}

func (m *modelStack) call(s *modelStep, call string) { s.state, s.call = "running", call }

func (m *modelStack) wanted(spec modelSpec) map[string]string {
	props := map[string]string{"Name": spec.Name, "Class": spec.Class, "Note": spec.Note.Text}
	switch spec.Note.Kind {
	case "Ref", "Id":
		props["Note"] = m.resources[spec.Note.Text].pid
	case "Note":
		props["Note"] = m.resources[spec.Note.Text].props["Note"]
	}
	return props
}

// deploy decides what becomes of a resource of the template.
func (m *modelStack) deploy(s *modelStep) {
	spec := *m.current.spec(s.id)
	s.props = m.wanted(spec)
	x := m.resources[s.id]
	if x == nil || x.pid == "" || x.status == "CREATE_FAILED" {
		if x != nil && x.pid != "" { // made by a creation that failed
			m.left = append(m.left, &modelLeft{id: s.id, pid: x.pid, needs: x.needs})
		}
		x = &modelResource{spec: spec, props: s.props, needs: spec.needs(), fresh: true, status: "CREATE_IN_PROGRESS"}
		m.resources[s.id] = x
		m.event(s.id, x.status, "", "")
		s.do = "create"
		m.call(s, "CREATE "+s.id+" "+describeProps(s.props))
		return
	}
	name, other := x.props["Name"] != s.props["Name"], x.props["Note"] != s.props["Note"] || x.props["Class"] != s.props["Class"]
	switch {
	case name || other && s.id == "C":
		m.replace(s, x)
	case other || x.status == "UPDATE_FAILED":
		m.remember(x)
		x.status = "UPDATE_IN_PROGRESS"
		m.event(s.id, x.status, x.pid, "")
		s.do, s.pid = "update", x.pid
		m.call(s, "UPDATE "+s.id+" "+x.pid+" "+describeProps(s.props)+" was "+describeProps(x.props))
	default:
		m.remember(x)
		m.become(x, spec)
		s.state = "done"
	}
}

func (m *modelStack) replace(s *modelStep, x *modelResource) {
	m.remember(x)
	if m.onFailure == "DO_NOTHING" {
		m.fail(s, x, "UPDATE_FAILED", reasonNoReplacement)
		return
	}
	x.status = "UPDATE_IN_PROGRESS"
	m.event(s.id, x.status, x.pid, reasonReplacing)
	s.do = "successor"
	if s.id == "A" || s.id == "D" { // is deleted before its successor is created
		s.do, s.pid = "remake", x.pid
		m.event(s.id, "DELETE_IN_PROGRESS", x.pid, "")
		m.call(s, "DELETE "+s.id+" "+x.pid)
		return
	}
	m.call(s, "CREATE "+s.id+" "+describeProps(s.props))
}

// become gives a resource what the template says of it beside its properties.
func (m *modelStack) become(x *modelResource, spec modelSpec) { x.spec, x.needs = spec, spec.needs() }

// remember keeps the last stable state of a resource.
func (m *modelStack) remember(x *modelResource) {
	if x.origin == nil && !x.fresh {
		copied := *x
		x.origin = &copied
	}
}

func (m *modelStack) fail(s *modelStep, x *modelResource, status, reason string) {
	x.status, s.state = status, "failed"
	m.event(s.id, status, orElse(s.pid, x.pid), reason)
}

// remove deletes a resource, or leaves it.
func (m *modelStack) remove(s *modelStep) {
	if s.left != nil {
		if s.left.retain {
			m.event(s.id, "DELETE_SKIPPED", s.left.pid, "")
			m.dropLeft(s.left)
			s.state = "done"
			return
		}
		s.left.tried = true
		m.event(s.id, "DELETE_IN_PROGRESS", s.left.pid, "")
		m.call(s, "DELETE "+s.id+" "+s.left.pid)
		return
	}
	x := m.resources[s.id]
	switch {
	case x.pid == "":
		m.event(s.id, "DELETE_COMPLETE", "", "")
		delete(m.resources, s.id)
		s.state = "done"
	case m.retains(x):
		m.event(s.id, "DELETE_SKIPPED", x.pid, "")
		m.removed(x, "DELETE_SKIPPED")
		s.state = "done"
	default:
		x.status = "DELETE_IN_PROGRESS"
		m.event(s.id, x.status, x.pid, "")
		m.call(s, "DELETE "+s.id+" "+x.pid)
	}
}

func (m *modelStack) retains(x *modelResource) bool {
	if slices.Contains(m.retain, x.spec.ID) {
		return true
	}
	undoes := m.phase == "rollback" || m.phase == "rollback-cleanup" || m.phase == "delete" && m.kind == "create"
	if undoes && x.fresh && (m.retainExcept || x.spec.Deletion == "RetainExceptOnCreate") {
		return false
	}
	return x.spec.Deletion == "Retain" || x.spec.Deletion == "RetainExceptOnCreate"
}

// removed takes a resource out of the stack. A stack that ends with it still shows it.
func (m *modelStack) removed(x *modelResource, status string) {
	x.status = status
	if m.phase == "cleanup" || m.phase == "rollback-cleanup" {
		delete(m.resources, x.spec.ID)
	}
}

func (m *modelStack) dropLeft(l *modelLeft) {
	m.left = slices.DeleteFunc(m.left, func(other *modelLeft) bool { return other == l })
}

// revert takes a resource back to its last stable state.
func (m *modelStack) revert(s *modelStep) {
	x := m.resources[s.id]
	old := x.origin
	s.props = m.rebound(x)
	same := maps.Equal(x.props, s.props)
	switch {
	case slices.Contains(m.skip, s.id) && x.gone:
		m.keepSuccessor(s, x)
	case slices.Contains(m.skip, s.id):
		m.reverted(s, x, true)
	case x.gone:
		m.makeAgain(s, x)
	case x.pid != old.pid && maps.Equal(s.props, old.props):
		m.reverted(s, x, true)
	case x.pid != old.pid: // its predecessor refers to something that was made again
		x.status = "UPDATE_IN_PROGRESS"
		m.event(s.id, x.status, x.pid, "")
		if x.pid != "" {
			m.left = append(m.left, &modelLeft{id: s.id, pid: x.pid, needs: x.needs})
		}
		x.spec, x.pid, x.props, x.needs, s.pid = old.spec, old.pid, old.props, old.needs, old.pid
		was := x.props
		if x.attempted != nil {
			was = x.attempted
		}
		m.call(s, "UPDATE "+s.id+" "+x.pid+" "+describeProps(s.props)+" was "+describeProps(was)+" rollback")
	case x.attempted == nil && same:
		m.reverted(s, x, x.status == "UPDATE_FAILED")
	default:
		x.status = "UPDATE_IN_PROGRESS"
		m.event(s.id, x.status, x.pid, "")
		s.pid = x.pid
		was := x.props
		if x.attempted != nil {
			was = x.attempted
		}
		m.call(s, "UPDATE "+s.id+" "+x.pid+" "+describeProps(s.props)+" was "+describeProps(was)+" rollback")
	}
}

// rebind marks what depends on a resource that is gone: it goes back to the identifier of what is made again.
func (m *modelStack) rebind() {
	last := func(x *modelResource) *modelResource {
		if x.origin != nil {
			return x.origin
		}
		return x
	}
	marked := map[string]bool{}
	for id, x := range m.resources {
		marked[id] = x.gone
	}
	for range m.resources {
		for id, x := range m.resources {
			if x.fresh || x.rebound || !slices.ContainsFunc(last(x).needs, func(on string) bool { return marked[on] }) {
				continue
			}
			m.remember(x)
			x.rebound, marked[id] = true, true
		}
	}
}

// rebound are the properties that a resource goes back to. What only a new resource could have stays.
func (m *modelStack) rebound(x *modelResource) map[string]string {
	old := x.origin
	if on := m.resources[old.spec.Note.Text]; !x.rebound || old.spec.Note.Kind != "text" && on.pid == "" {
		return old.props
	}
	props := m.wanted(old.spec)
	if old.spec.ID == "C" && !maps.Equal(props, old.props) {
		return old.props
	}
	return props
}

// makeAgain deletes the successor of a resource, and creates the resource again.
func (m *modelStack) makeAgain(s *modelStep, x *modelResource) {
	if !s.first {
		x.status = "UPDATE_IN_PROGRESS"
		m.event(s.id, x.status, x.pid, "")
	}
	if x.pid == x.origin.pid {
		x.pid = ""
	}
	for _, l := range m.left {
		if x.pid == "" && l.id == s.id && l.pid != x.origin.pid && !l.tried {
			x.pid, x.props = l.pid, m.things[l.pid]
			m.dropLeft(l)
			break
		}
	}
	if s.pid = x.pid; x.pid == "" {
		m.call(s, "CREATE "+s.id+" "+describeProps(s.props)+" rollback")
		return
	}
	s.do = "unmake"
	m.event(s.id, "DELETE_IN_PROGRESS", x.pid, "")
	m.call(s, "DELETE "+s.id+" "+x.pid)
}

// keepSuccessor takes a resource that is gone for its successor.
func (m *modelStack) keepSuccessor(s *modelStep, x *modelResource) {
	pid := x.pid
	if pid == x.origin.pid {
		pid = ""
	}
	told := x.status == "UPDATE_FAILED"
	m.restore(x)
	x.pid, s.state = pid, "done"
	if told {
		x.status = "UPDATE_COMPLETE"
		m.event(s.id, x.status, x.pid, "")
	}
}

// unmade follows the deletion of the successor of a resource that is gone.
func (m *modelStack) unmade(s *modelStep, good bool) {
	x := m.resources[s.id]
	switch {
	case good:
		m.event(s.id, "DELETE_COMPLETE", x.pid, "")
		x.pid = ""
		s.do, s.first, s.pid, s.state = "revert", true, "", "waiting"
	case m.force:
		m.keepSuccessor(s, x)
		x.props = s.props
		if x.status != "UPDATE_COMPLETE" {
			x.status = "UPDATE_COMPLETE"
			m.event(s.id, x.status, x.pid, "")
		}
	default:
		m.fail(s, x, "UPDATE_FAILED", saidNo)
	}
}

// reverted takes a resource back without a call.
func (m *modelStack) reverted(s *modelStep, x *modelResource, told bool) {
	if x.pid != x.origin.pid && x.pid != "" {
		m.left = append(m.left, &modelLeft{id: s.id, pid: x.pid, needs: x.needs})
	}
	m.restore(x)
	if told {
		x.status = "UPDATE_COMPLETE"
		m.event(s.id, x.status, x.pid, "")
	}
	s.state = "done"
}

func (m *modelStack) restore(x *modelResource) {
	status := x.status
	*x = *x.origin
	x.origin, x.status = nil, status
}

// pending are the calls that handlers have not answered, with their steps.
func (m *modelStack) pending() map[string]*modelStep {
	out := map[string]*modelStep{}
	for _, s := range m.steps {
		if s.call != "" {
			out[s.call] = s
		}
	}
	return out
}

const (
	saidNo    = `Resource handler returned message: "no" (RequestToken: U, HandlerErrorCode: InvalidRequest)`
	saidTaken = `Resource handler returned message: "taken" (RequestToken: U, HandlerErrorCode: AlreadyExists)`
	saidGone  = `Resource handler returned message: "gone" (RequestToken: U, HandlerErrorCode: NotFound)`
)

// answer takes the answer of a handler: pid is the identifier that the handler told, or will
// tell, of what it made.
func (m *modelStack) answer(s *modelStep, how, pid string) {
	if how == "throttled" && s.state != "cancelled" {
		return
	}
	call := s.call
	creates, deletes := call[:6] == "CREATE", call[:6] == "DELETE"
	switch {
	case creates && slices.Contains([]string{"ok", "made", "unread", "again", "configured"}, how):
		m.things[pid] = s.props
	case deletes && (how == "ok" || how == "gone"):
		delete(m.things, m.target(s))
	case !creates && !deletes && slices.Contains([]string{"ok", "unread", "applied"}, how):
		m.things[s.pid] = s.props
	}
	if s.state == "cancelled" {
		s.call, s.state = "", "stopped"
		if creates && !slices.Contains([]string{"fail", "taken", "throttled"}, how) {
			s.pid = pid
		}
		m.stopped(s, creates, deletes && (how == "ok" || how == "gone"))
		m.advance()
		return
	}
	if creates && how != "fail" && how != "taken" {
		m.identified(s, pid)
	}
	switch how {
	case "again":
		return
	case "configured":
		if s.do == "create" && s.state == "running" {
			s.state = "configured"
			m.event(s.id, "CREATE_IN_PROGRESS", s.pid, reasonConsistency)
		}
		m.advance()
		return
	}
	s.call = ""
	good := how == "ok" || deletes && how == "gone"
	switch {
	case deletes && s.do == "remake":
		m.remade(s, good)
	case deletes && s.do == "unmake":
		m.unmade(s, good)
	case deletes:
		m.deleted(s, good)
	case good:
		m.complete(s)
	case how == "stuck" && s.do == "update" && m.onFailure != "DO_NOTHING":
		s.do, s.state, s.pid = "successor", "waiting", ""
	default:
		m.failed(s, creates, how)
	}
	m.advance()
}

func (m *modelStack) target(s *modelStep) string {
	if s.left != nil {
		return s.left.pid
	}
	return m.resources[s.id].pid
}

// stopped notes what became of a resource whose step was cancelled.
func (m *modelStack) stopped(s *modelStep, creates, deleted bool) {
	x := m.resources[s.id]
	switch {
	case s.do == "create":
		x.pid = s.pid
	case s.do == "update":
		x.attempted = s.props
	case s.do == "remake" && deleted:
		m.event(s.id, "DELETE_COMPLETE", x.pid, "")
		x.gone = true
	case creates && s.pid != "":
		m.left = append(m.left, &modelLeft{id: s.id, pid: s.pid, needs: m.wantedNeeds(s)})
	}
}

// wantedNeeds are the needs of a successor that did not become the resource.
func (m *modelStack) wantedNeeds(s *modelStep) []string {
	if s.do == "revert" {
		return m.resources[s.id].origin.needs
	}
	if spec := m.current.spec(s.id); spec != nil {
		return spec.needs()
	}
	return nil
}

// identified notes the identifier of what is being made.
func (m *modelStack) identified(s *modelStep, pid string) {
	if s.pid != "" {
		return
	}
	s.pid = pid
	x := m.resources[s.id]
	if s.do == "create" {
		x.pid = pid
	}
	m.event(s.id, x.status, pid, reasonInitiated)
}

func (m *modelStack) complete(s *modelStep) {
	x := m.resources[s.id]
	status := "UPDATE_COMPLETE"
	switch s.do {
	case "create":
		status = "CREATE_COMPLETE"
	case "revert":
		pid := s.pid
		m.restore(x)
		x.pid = pid
	default:
		x.pid = s.pid
		m.become(x, *m.current.spec(s.id))
	}
	x.props, x.status, s.state = s.props, status, "done"
	m.event(s.id, status, x.pid, "")
}

func (m *modelStack) failed(s *modelStep, creates bool, how string) {
	x := m.resources[s.id]
	reason := map[string]string{"unread": saidGone, "taken": saidTaken, "stuck": `Resource handler returned message: "no" (RequestToken: U, HandlerErrorCode: NotUpdatable)`}[how]
	status := "UPDATE_FAILED"
	switch s.do {
	case "create":
		status = "CREATE_FAILED"
	case "update":
		x.attempted = s.props
	case "revert":
		if m.force {
			if creates && s.pid != "" {
				m.left = append(m.left, &modelLeft{id: s.id, pid: s.pid, needs: m.wantedNeeds(s)})
			}
			pid := x.origin.pid
			if x.gone {
				pid = x.pid
			}
			m.restore(x)
			x.pid, x.props, x.status, s.state = pid, s.props, "UPDATE_COMPLETE", "done"
			m.event(s.id, x.status, x.pid, "")
			return
		}
	}
	if how == "stuck" && s.do == "update" {
		reason = reasonNoReplacement
	}
	m.fail(s, x, status, orElse(reason, saidNo))
	if creates && s.do != "create" && s.pid != "" {
		m.left = append(m.left, &modelLeft{id: s.id, pid: s.pid, needs: m.wantedNeeds(s)})
	}
}

// remade follows the deletion of a resource that is to be made anew.
func (m *modelStack) remade(s *modelStep, good bool) {
	x := m.resources[s.id]
	if !good {
		m.fail(s, x, "UPDATE_FAILED", saidNo)
		return
	}
	m.event(s.id, "DELETE_COMPLETE", x.pid, "")
	x.gone = true
	s.do, s.first, s.pid, s.state = "successor", true, "", "waiting"
}

func (m *modelStack) deleted(s *modelStep, good bool) {
	status, reason, pid := "DELETE_COMPLETE", "", m.target(s)
	s.state = "done"
	if !good {
		status, reason, s.state = "DELETE_FAILED", saidNo, "failed"
	}
	m.event(s.id, status, pid, reason)
	switch {
	case s.left == nil && good:
		m.removed(m.resources[s.id], status)
	case s.left == nil:
		m.resources[s.id].status = status
	case good:
		m.dropLeft(s.left)
	}
}
