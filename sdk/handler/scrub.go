package handler

// prune leaves out null members at every depth. A null inside an array has a
// position that others count on, and stays.
func prune(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if member == nil {
				delete(value, name)
				continue
			}
			prune(member)
		}
	case []any:
		for _, item := range value {
			prune(item)
		}
	}
	return value
}

// removePaths deletes what the paths lead to, in place.
func removePaths(value any, paths [][]string) {
	for _, path := range paths {
		visit(value, path, func(parent map[string]any, name string) { delete(parent, name) })
	}
}

// visit calls found for each member that the path leads to. "*" stands for
// every element of an array or every member of a map. A path that does not
// spell out the "*" of an array, or spells out the keywords "items" and
// "properties" of the schema, is understood too.
func visit(value any, path []string, found func(parent map[string]any, name string)) {
	if len(path) == 0 {
		return
	}
	name, rest := path[0], path[1:]
	switch value := value.(type) {
	case []any:
		if name == "*" || name == "items" {
			path = rest
		}
		for _, item := range value {
			visit(item, path, found)
		}
	case map[string]any:
		if name == "*" {
			for key, member := range value {
				if len(rest) == 0 {
					found(value, key)
				} else {
					visit(member, rest, found)
				}
			}
			return
		}
		member, ok := value[name]
		switch {
		case ok && !hasMore(member, rest):
			found(value, name)
		case ok:
			visit(member, rest, found)
		case name == "properties":
			visit(value, rest, found)
		}
	}
}

// hasMore reports whether the rest of a path continues into the member. A rest
// of "*" over an array means the array itself.
func hasMore(member any, rest []string) bool {
	if _, ok := member.([]any); ok && len(rest) == 1 && (rest[0] == "*" || rest[0] == "items") {
		return false
	}
	return len(rest) > 0
}

// keepPaths copies what the paths lead to through objects; used for identifiers.
func keepPaths(value any, paths [][]string) map[string]any {
	kept := map[string]any{}
	for _, path := range paths {
		if found, ok := lookUp(value, path); ok {
			target := kept
			for _, name := range path[:len(path)-1] {
				next, ok := target[name].(map[string]any)
				if !ok {
					next = map[string]any{}
					target[name] = next
				}
				target = next
			}
			target[path[len(path)-1]] = found
		}
	}
	return kept
}

// lookUp follows a path through objects.
func lookUp(value any, path []string) (any, bool) {
	for _, name := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = object[name]; !ok {
			return nil, false
		}
	}
	return value, true
}

// hasPaths reports whether every path leads to a value.
func hasPaths(value any, paths [][]string) bool {
	for _, path := range paths {
		found := false
		visit(value, path, func(map[string]any, string) { found = true })
		if !found {
			return false
		}
	}
	return true
}
