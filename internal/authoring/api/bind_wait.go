package api

import (
	"fmt"
	"slices"
	"strings"
)

// statusWords are parts of the values of a status, and what they mean. The first that a value
// contains decides.
var statusWords = []struct {
	word    string
	meaning string
}{
	{"fail", "failure"}, {"error", "failure"}, {"unhealthy", "failure"}, {"deleting", "deleting"}, {"terminating", "deleting"}, {"pendingdelet", "deleting"},
	{"deleteinprogress", "deleting"}, {"deletepending", "deleting"}, {"deletionpending", "deleting"}, {"deletioninprogress", "deleting"},
	{"deleted", "gone"}, {"terminated", "gone"}, {"ing", "pending"}, {"pending", "pending"}, {"inprogress", "pending"}, {"queued", "pending"}, {"scheduled", "pending"},
}

// settled are values that end in "ing" and do not change by themselves.
var settled = []string{"running", "serving", "missing", "existing", "listening", "working", "warning", "billing", "using", "streaming"}

func meaning(value string) string {
	name := norm(value)
	if slices.Contains(settled, name) {
		return ""
	}
	for _, w := range statusWords {
		if strings.Contains(name, w.word) && (w.word != "ing" || strings.HasSuffix(name, "ing")) {
			return w.meaning
		}
	}
	return ""
}

// wait says how handlers see that the resource is ready: as the settings say, as the waiters of
// read say, or by the values of its status.
func (b *binder) wait() *Wait {
	if s := b.settings.Wait; s != nil {
		if b.settings.NoWait {
			return nil
		}
		if p := b.named(s.Property); p == nil {
			b.fail("api/setting", b.settings.at["settings.wait"], fmt.Sprintf("the resource has no property %q", s.Property), "")
		}
		return s
	}
	status := b.status()
	if status == nil {
		return nil
	}
	out := &Wait{Property: status.Name, Delay: 5}
	add := func(list *[]string, value string) {
		if !slices.Contains(*list, value) {
			*list = append(*list, value)
		}
	}
	lists := map[string]*[]string{"failure": &out.Failure, "deleting": &out.Deleting, "gone": &out.Gone, "pending": &out.Pending}
	for _, value := range status.in("read").Shape.Enum {
		if list := lists[meaning(value)]; list != nil {
			add(list, value)
		}
	}
	for _, w := range b.Resource.Read.Waiters {
		b.waiter(out, w, add)
	}
	if out.Pending == nil && out.Success == nil && out.Deleting == nil && out.Gone == nil {
		return nil
	}
	b.note(status.Name, "wait", "handlers wait while it is one of %s", strings.Join(slices.Concat(out.Pending, out.Deleting), ", "))
	return out
}

// waiter adds what a waiter says about values of the status.
func (b *binder) waiter(out *Wait, w Waiter, add func(*[]string, string)) {
	path := b.out.Read.statusPath(out.Property)
	if b.Resource.Among != "" {
		path = b.Resource.Among + "[]." + path
	}
	for _, a := range w.Acceptors {
		if a.Path == "" || a.Expected == "" || !strings.EqualFold(a.Path, path) {
			continue
		}
		kind := meaning(a.Expected)
		switch {
		case a.State == "success" && kind == "gone":
			add(&out.Gone, a.Expected)
		case a.State == "success" && kind == "":
			add(&out.Success, a.Expected)
			out.Delay = w.MinDelay
		case a.State == "failure" && kind == "failure":
			add(&out.Failure, a.Expected)
		}
	}
}

// statusPath is the path of a property in the response.
func (c *Call) statusPath(property string) string {
	for _, r := range c.Receive {
		if r.Property == property {
			return strings.Join(r.At, ".")
		}
	}
	return ""
}

// status is the property that reports whether the resource is ready, or nil.
func (b *binder) status() *Property {
	noun := norm(b.Resource.Name)
	for _, name := range []string{"status", noun + "status", "state", noun + "state", "lifecyclestate", "provisioningstate", "provisioningstatus"} {
		for _, p := range b.Properties {
			m := p.in("read")
			if m != nil && norm(m.Name) == name && m.Shape.Kind == String && p.settable() == nil {
				return p
			}
		}
	}
	return nil
}

// uniqueNames are the names of members by which people tell resources apart.
var uniqueNames = []string{"name", "title", "label", "slug", "displayname", "friendlyname", "email", "username", "hostname", "domain", "fingerprint", "publickey"}

// lookUp decides how create knows a resource that it made itself.
func (b *binder) lookUp() Find {
	if s := b.settings.Find; s != nil {
		return *s
	}
	create := b.out.Create
	chosen := true
	for _, p := range b.ownIdentifiers() {
		m := p.in("create")
		chosen = chosen && m != nil && (m.Required || p.Required) && !p.ReadOnly
	}
	if create.Token != nil && !(chosen && b.API.Replaces(b.Resource.Create)) { // which says nothing of a resource that exists
		return Find{By: "token", Reason: fmt.Sprintf("%s takes the idempotency token %s", create.Name, b.Resource.Create.Token)}
	}
	if chosen {
		return Find{By: "identifier", Reason: "the identifier is in the request of " + create.Name}
	}
	if b.out.List == nil {
		return Find{By: "none", Reason: "no operation lists the resources"}
	}
	for _, name := range append([]string{norm(b.Resource.Name) + "name"}, uniqueNames...) {
		for _, r := range b.out.List.Receive {
			p := b.named(r.Property)
			if p.in("create") != nil && norm(p.in("create").Name) == name && !p.WriteOnly && p.in("create").Shape.Enum == nil {
				return Find{By: "list", Properties: []string{p.Name}, Reason: fmt.Sprintf("%s is taken for unique: a resource with the same one is the same", p.Name)}
			}
		}
	}
	return Find{By: "none", Reason: "the items of " + b.out.List.Name + " have nothing by which a resource could be recognized"}
}
