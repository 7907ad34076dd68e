package api

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
)

// findResources finds items: paths that end in a parameter and have GET, DELETE and a way to
// create them.
func (r *openapiReader) findResources() {
	byShape := map[string]*pathItem{}
	r.below = map[string][]*pathItem{}
	for i := range r.paths {
		p := &r.paths[i]
		byShape[pathKey(p.path)] = p
		above, _ := path.Split(p.path)
		r.below[above] = append(r.below[above], p)
	}
	collections := map[*pathItem]*pathItem{} // of items
	used := map[string]bool{}                // collections of items, and what creates them
	r.collections = used
	for i := range r.paths {
		item := &r.paths[i]
		segments := segmentsOf(item.path)
		if len(segments) < 2 || !isParam(segments[len(segments)-1]) {
			continue
		}
		collections[item] = byShape[pathKey("/"+strings.Join(segments[:len(segments)-1], "/"))]
		if collections[item] != nil {
			used[pathKey(collections[item].path)] = true
		}
	}
	for i := range r.paths {
		item := &r.paths[i]
		collection, isItem := collections[item]
		if !isItem {
			continue
		}
		found := r.item(item, collection)
		if found.Create == nil && found.Read != nil && found.Delete != nil {
			r.createElsewhere(found, used)
		}
		r.api.findAmong(found)
		if reason := incomplete(found); reason != "" {
			if len(found.Steps()) > 0 {
				r.api.Others = append(r.api.Others, Candidate{Name: found.Name, ID: found.ID, Steps: found.Steps(), Reason: reason})
			}
			continue
		}
		r.api.Resources = append(r.api.Resources, found)
	}
	for _, p := range r.paths {
		segments := segmentsOf(p.path)
		post := p.operations["POST"]
		if post == nil || used[pathKey(p.path)] || len(segments) == 0 || isParam(segments[len(segments)-1]) || p.operations["GET"] == nil {
			continue
		}
		r.api.Others = append(r.api.Others, Candidate{Name: noun(segments), ID: p.path, Steps: []Step{{"create", post}, {"list", p.operations["GET"]}},
			Reason: "there is no path of one item below " + p.path})
	}
	r.nameResources()
}

func (r *openapiReader) item(item, collection *pathItem) *Resource {
	segments := segmentsOf(item.path)
	out := &Resource{Name: noun(segments[:len(segments)-1]), ID: item.path, By: "paths", At: item.at, Read: item.operations["GET"], Delete: item.operations["DELETE"]}
	if collection != nil {
		out.Create, out.List = collection.operations["POST"], collection.operations["GET"]
	}
	put, post := item.operations["PUT"], item.operations["POST"]
	switch {
	case out.Create != nil:
	case put != nil && !put.Existing:
		out.Create = put
	case post != nil && post.Creates && !r.collections[pathKey(item.path)]:
		out.Create = post
	case collection != nil && collection.operations["PUT"] != nil && collection.operations["PUT"].Creates:
		out.Create = collection.operations["PUT"]
	}
	for _, method := range []string{"PATCH", "PUT", "POST"} {
		if op := item.operations[method]; op != nil && op.Body != nil && spoken(op) && (op != out.Create || method == "PUT") {
			out.Update = append(out.Update, op)
		}
	}
	if collection != nil && out.Update == nil { // some name the item in the body of PUT
		if op := collection.operations["PUT"]; op != nil && op.Body != nil && op.Body.Kind == Structure && spoken(op) {
			out.Update = append(out.Update, op)
		}
	}
	out.Update = append(out.Update, r.partial(item.path)...)
	for _, s := range segments {
		if isParam(s) {
			out.Identifiers = append(out.Identifiers, paramName(s))
		}
	}
	return out
}

// createElsewhere finds the operations that create a resource in something that is not in the path of an item:
// POST /projects/{id}/devices for /devices/{id}. The first one is its create.
func (r *openapiReader) createElsewhere(res *Resource, used map[string]bool) {
	for _, p := range r.paths {
		segments := segmentsOf(p.path)
		post := p.operations["POST"]
		if post == nil || used[pathKey(p.path)] || len(segments) < 3 || noun(segments) != res.Name || isParam(segments[len(segments)-1]) {
			continue
		}
		if spoken(post) && sameThing(post.Output, res.Read.Output) {
			res.Creates = append(res.Creates, post)
			res.Create = res.Creates[0]
		}
	}
	for _, op := range res.Creates {
		used[pathKey(op.Path)] = true
	}
}

// findAmong finds the resource where a response has several: in the list, which is its read if nothing else is and the items have
// the identifier and at least half of what create takes, or in what create returns.
func (a *API) findAmong(res *Resource) {
	res.Among = ""
	if res.Create == nil || res.Delete == nil {
		return
	}
	id := res.Identifiers[len(res.Identifiers)-1]
	names := append(a.candidates(res.Name, id, true), id)
	read := cmp.Or(res.Read, res.List)
	switch {
	case read == nil || read.Output == nil:
	case !ofItem(read.Path):
		for _, m := range slices.Concat([]*Member{{Name: wholeList, Shape: read.Output}}, read.Output.Members) {
			if m.Shape.listsWith(names) && m.Shape.Item.hasHalf(res.Create.Body) {
				res.Read, res.Among = read, m.Name
				return
			}
		}
	case res.Create.Output != nil && !slices.ContainsFunc(res.Create.Output.orInside(), func(s *Shape) bool { return s.hasOne(names) }):
		for _, m := range res.Create.Output.Members {
			if same := read.Output.Member(m.Name); m.Shape.listsWith(names) && (same == nil || same.Shape.Kind != List) {
				res.Among = m.Name
				return
			}
		}
	}
}

// ofItem reports whether a path is that of one item.
func ofItem(path string) bool {
	segments := segmentsOf(path)
	return len(segments) > 0 && isParam(segments[len(segments)-1])
}

// listsWith reports whether a shape is a list of structures that have a member with one of the names.
func (s *Shape) listsWith(names []string) bool {
	return s.Kind == List && s.Item != nil && s.Item.Kind == Structure && s.Item.hasOne(names)
}

// hasOne reports whether a structure has a member with one of the names.
func (s *Shape) hasOne(names []string) bool {
	return slices.ContainsFunc(s.Members, func(m *Member) bool {
		return slices.ContainsFunc(names, func(name string) bool { return norm(name) == norm(m.Name) })
	})
}

// hasHalf reports whether a structure has at least half of the members of another one, or of what is in that as an envelope.
func (s *Shape) hasHalf(of *Shape) bool {
	return of == nil || slices.ContainsFunc(of.orInside(), func(of *Shape) bool {
		common := 0
		for _, m := range of.Members {
			if s.hasOne([]string{m.Name}) {
				common++
			}
		}
		return common > 0 && 2*common >= len(of.Members)
	})
}

// sameThing reports whether two responses have the same structure, in an envelope or not.
func sameThing(a, b *Shape) bool {
	for _, x := range a.orInside() {
		for _, y := range b.orInside() {
			if x == y && x.Kind == Structure {
				return true
			}
		}
	}
	return false
}

// orInside is a structure and, if it may be an envelope, those that it has.
func (s *Shape) orInside() (out []*Shape) {
	if s == nil {
		return nil
	}
	out = append(out, s)
	if len(s.Members) <= 3 {
		for _, m := range s.Members {
			out = append(out, m.Shape)
		}
	}
	return out
}

// Around are the labels in the path of an operation that creates a resource that do not identify the resource, because they belong to something else than
// those in the path of an item: the ID of a project in POST /projects/{id}/devices, as projectId.
func (r *Resource) Around(create *Operation) (out []*Member) {
	if r.By != "paths" {
		return nil
	}
	owners := labelOwners(r.ID)
	for i, owner := range labelOwners(create.Path) {
		m := create.Param(InPath, owner.label)
		if i < len(owners) && owners[i].noun == owner.noun || m == nil {
			continue
		}
		named := *m
		if slices.Contains(generic, norm(m.Name)) {
			named.Name = owner.noun + pascal(m.Name)
		}
		out = append(out, &named)
	}
	return out
}

func (r *Resource) isAround(label *Member) bool {
	return slices.ContainsFunc(r.Around(r.Create), func(m *Member) bool { return m.Wire == label.Wire })
}

// A labelOwner is what a label in a path belongs to.
type labelOwner struct{ label, noun string }

func labelOwners(path string) (out []labelOwner) {
	segments := segmentsOf(path)
	for i, s := range segments {
		if isParam(s) {
			out = append(out, labelOwner{paramName(s), noun(segments[:i])})
		}
	}
	return out
}

// partial lists calls that change a part of an item: PUT and PATCH one level below it.
func (r *openapiReader) partial(item string) (out []*Operation) {
	for _, p := range r.below[strings.TrimSuffix(item, "/")+"/"] {
		if strings.Contains(path.Base(p.path), "{") || r.collections[pathKey(p.path)] {
			continue
		}
		for _, method := range []string{"PATCH", "PUT"} {
			if op := p.operations[method]; op != nil && op.Body != nil && op.Body.Kind == Structure && spoken(op) {
				out = append(out, op)
			}
		}
	}
	return out
}

// nameResources makes the names of resources different: with the nouns of their parents, then
// with numbers.
func (r *openapiReader) nameResources() {
	count := map[string]int{}
	for _, res := range r.api.Resources {
		count[res.Name]++
	}
	taken := map[string]bool{}
	for _, res := range r.api.Resources {
		if count[res.Name] > 1 {
			var nouns []string
			segments := segmentsOf(res.ID)
			for i, s := range segments[:len(segments)-1] {
				if !isParam(s) && (i+1 < len(segments) && isParam(segments[i+1])) {
					nouns = append(nouns, pascal(singular(s)))
				}
			}
			if name := strings.Join(nouns, ""); len(nouns) > 1 && len(name) <= 64 {
				res.Name = name
			}
		}
		name := res.Name
		for i := 2; taken[res.Name]; i++ {
			res.Name = name + strconv.Itoa(i)
		}
		taken[res.Name] = true
	}
}

func segmentsOf(of string) []string {
	of = strings.TrimSuffix(strings.TrimSuffix(of, "/"), ".json")
	return strings.FieldsFunc(of, func(r rune) bool { return r == '/' })
}

func isParam(segment string) bool {
	return strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}")
}

func paramName(segment string) string { return strings.Trim(segment, "{}") }

// pathKey is a path without the names of its parameters.
func pathKey(of string) string {
	segments := segmentsOf(of)
	for i, s := range segments {
		if isParam(s) {
			segments[i] = "{}"
		}
	}
	return strings.Join(segments, "/")
}

// noun is the name of what a collection contains.
func noun(segments []string) string {
	for _, s := range slices.Backward(segments) {
		if name := pascal(singular(s)); !isParam(s) && name != "" {
			return name
		}
	}
	return "Resource"
}
