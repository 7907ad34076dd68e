package handler

import (
	"encoding/json"
	"maps"
	"slices"
)

// MergeTags joins tag sets; where two have the same key, the later wins. The
// result is a new map, never nil.
func MergeTags(sets ...map[string]string) map[string]string {
	merged := map[string]string{}
	for _, set := range sets {
		maps.Copy(merged, set)
	}
	return merged
}

// DiffTags says how to get from previous to desired: the tags to add or to
// overwrite, and the keys to remove, sorted. Both are empty when nothing changed.
func DiffTags(previous, desired map[string]string) (add map[string]string, remove []string) {
	add = map[string]string{}
	for key, value := range desired {
		if old, ok := previous[key]; !ok || old != value {
			add[key] = value
		}
	}
	for key := range previous {
		if _, ok := desired[key]; !ok {
			remove = append(remove, key)
		}
	}
	slices.Sort(remove)
	return add, remove
}

// tagsOf reads the tags of a model in either of their two forms: a map, or a
// list of objects with Key and Value. Anything else has no tags.
func tagsOf(value any) map[string]string {
	tags := map[string]string{}
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			if text, ok := tagText(v); ok {
				tags[key] = text
			}
		}
	case []any:
		for _, item := range value {
			object, _ := item.(map[string]any)
			key, ok := tagText(firstOf(object, "Key", "key", "TagKey", "tagKey"))
			if !ok {
				continue
			}
			text, _ := tagText(firstOf(object, "Value", "value", "TagValue", "tagValue"))
			tags[key] = text
		}
	}
	return tags
}

func firstOf(object map[string]any, names ...string) any {
	for _, name := range names {
		if value, ok := object[name]; ok {
			return value
		}
	}
	return nil
}

func tagText(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case json.Number:
		return value.String(), true
	case bool:
		if value {
			return "true", true
		}
		return "false", true
	}
	return "", false
}
