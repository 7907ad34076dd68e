package stub

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// A lifecycle are the values of the member that says in which state a resource is.
type lifecycle struct {
	member string // its plain name
	final  string
	during map[action]string // create, update, delete; "" if the description has none
}

// lifecycleOf finds the states of a resource; nil if it has none, or if requests set them.
func (s *Stub) lifecycleOf(r *resource) *lifecycle {
	var found *api.Member
	names := []string{"status", "state", "lifecyclestate", "provisioningstate", "phase"}
	s.eachMember(r, s.responses(r)[0], 0, func(m *api.Member) {
		if m.Shape.Kind != api.String || r.settable[plain(m.Name)] {
			return
		}
		for _, variant := range r.variants(m.Name) {
			if slices.Contains(names, variant) && (found == nil || len(m.Shape.Enum) > len(found.Shape.Enum)) {
				found = m
			}
		}
	})
	if found == nil {
		return nil
	}
	out := &lifecycle{member: plain(found.Name), during: map[action]string{}}
	values := slices.Clone(found.Shape.Enum)
	var ends []string
	waited := false
	for _, w := range r.Read.Waiters {
		for _, a := range w.Acceptors {
			if a.Path == "" || plain(a.Path[strings.LastIndex(a.Path, ".")+1:]) != out.member {
				continue
			}
			waited = true
			if !slices.Contains(values, a.Expected) {
				values = append(values, a.Expected)
			}
			if a.State == "success" && !transitional(a.Expected) && !contains(a.Expected, "delet", "fail") {
				ends = append(ends, a.Expected)
			}
		}
	}
	if ends != nil {
		out.final = settled(ends)
	}
	if out.final == "" && len(values) > 0 {
		out.final = settled(append(slices.DeleteFunc(slices.Clone(values), func(v string) bool { return transitional(v) || contains(v, "fail", "delet", "error") }), values...))
	}
	pick := func(parts ...string) string {
		for _, part := range parts {
			for _, v := range values {
				if strings.Contains(plain(v), part) && transitional(v) {
					return v
				}
			}
		}
		return ""
	}
	out.during[create] = pick("creat", "provision", "start", "init", "new", "progress", "pending")
	out.during[update] = pick("updat", "modif", "progress", "pending")
	out.during[remove] = pick("delet", "terminat", "remov")
	if waited && len(found.Shape.Enum) == 0 { // texts: what a waiter does not know means to go on
		out.during[create], out.during[update], out.during[remove] = "CREATING", "UPDATING", "DELETING"
	}
	return out
}

// transitional reports whether a state ends by itself.
func transitional(state string) bool {
	state = plain(state)
	return strings.HasSuffix(state, "ing") && !slices.Contains([]string{"running", "missing", "warning", "existing", "listening"}, state) ||
		strings.Contains(state, "progress") || slices.Contains([]string{"pending", "new", "creating", "queued", "scheduled"}, state) || strings.HasPrefix(state, "pending")
}

// begin puts a resource into a transitional state.
func (s *Stub) begin(r *resource, i *item, phase action) {
	if r.status == nil {
		return
	}
	if s.config.Slow > 0 && r.status.during[phase] != "" {
		i.Pending, i.Phase = s.config.Slow, phase
		i.Props[r.status.member] = r.status.during[phase]
		return
	}
	if phase != remove && r.status.final != "" {
		i.Props[r.status.member] = r.status.final
	}
}

// advance counts a read of a resource. The last one that sees a transitional state ends it.
func (s *Stub) advance(i *item) {
	if i.Pending == 0 {
		return
	}
	i.Pending--
	if i.Pending > 0 {
		return
	}
	if i.Phase == remove {
		s.drop(i)
		return
	}
	for _, r := range s.resources {
		if r.Name == i.Resource && r.status != nil {
			i.Props[r.status.member] = r.status.final
		}
	}
}

// sees reports whether a read sees a new resource yet, and counts the read.
func (s *Stub) sees(i *item) bool {
	if i.Hidden == 0 {
		return true
	}
	i.Hidden--
	return false
}
