package codegen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/api"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// javaAPI is what the templates of handlers that call an API know. Lists are texts of Java.
type javaAPI struct {
	Service                    string
	Create, Read, Delete, List string // the names of the operations
	CreateCall, Desired        string // expressions
	Find                       string // identifier, list, token or none
	Unique                     string // the properties of a look-up in the list
	Delay, Patience            int

	Wait                            string // the getter of the status
	Pending, Success, Failure, Gone string // its values
	CreateOnly, Additional          string
	Updates                         []javaUpdate
	SeveralUpdates                  bool
	Tags, TagList, TagOnCreate      bool
	Finds                           bool // whether the list is searched
	Lists, NotFound                 bool // what the imports are for
}

type javaUpdate struct{ Name, Properties string }

// javaPatience is how often a handler repeats what failed for a while.
const javaPatience = 20

// javaAPIOf describes the API of a binding for the templates.
func javaAPIOf(in Input) *javaAPI {
	b := in.Binding
	f := &javaAPI{
		Service: words(b.API), Create: words(b.Create.Name), Read: words(b.Read.Name), Delete: words(b.Delete.Name), Find: b.Find.By,
		Unique: javaTexts(b.Find.Properties), Delay: 1, Patience: javaPatience, Desired: "request.getDesiredResourceState()", CreateCall: "api.create(desired)",
	}
	if b.List != nil {
		f.List = words(b.List.Name)
		f.Additional = javaAdditional(in.Schema)
	}
	if f.Additional != "" {
		f.Desired = "identified(api, " + f.Desired + ")"
	}
	f.Finds = f.Find == "list" || f.Additional != ""
	if w := b.Wait; w != nil {
		f.Wait, f.Delay = javaGetter(in.Schema, w.Property), cmp.Or(w.Delay, 1)
		taken := map[string]bool{}
		f.Success, f.Failure, f.Pending = javaCases(w.Success, taken), javaCases(w.Failure, taken), javaCases(w.Pending, taken)
		f.Gone = javaTexts(w.Gone)
	}
	for _, call := range b.Update {
		f.Updates = append(f.Updates, javaUpdate{words(call.Name), strings.Join(call.Changes, ", ")})
	}
	f.SeveralUpdates = len(b.Update) > 1
	f.CreateOnly = javaTexts(topLevel(in.Schema.CreateOnly))
	if t := b.Tags; t != nil {
		f.Tags, f.TagList = true, t.List != nil
		f.TagOnCreate = slices.ContainsFunc(b.Create.Send, func(s api.Bound) bool { return s.Property == t.Property })
	}
	if f.TagOnCreate {
		f.CreateCall = "api.create(ApiClient.withTags(desired, request.getDesiredResourceTags()))"
	}
	f.Lists = f.Gone != "" || f.Finds
	f.NotFound = f.Lists || f.Find == "identifier"
	return f
}

// javaAPIFiles are the client of an API and the handlers that use it.
func javaAPIFiles(in Input, f javaFrame) ([]File, error) {
	binding, err := json.MarshalIndent(in.Binding, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("generate api.json: %w", err)
	}
	files := []File{{Path: "src/main/resources/" + strings.ReplaceAll(in.Namespace, ".", "/") + "/api.json", Data: append(binding, '\n'), Mode: Generated}}
	add := func(name string, mode Mode) error {
		data, err := renderJava("api/"+name, f)
		files = append(files, File{Path: f.Folder + "/" + name + ".java", Data: data, Mode: mode})
		return err
	}
	for _, name := range []string{"ApiBinding", "ApiClient", "ApiCodec", "ApiConnection", "ApiException", "ApiRequest"} {
		if err := add(name, Generated); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"BaseHandlerStd", "CallbackContext"} {
		if err := add(name, Once); err != nil {
			return nil, err
		}
	}
	for _, h := range f.Handlers {
		if err := add(h.Name+"Handler", Once); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// javaTexts are texts as arguments.
func javaTexts(list []string) string {
	quoted := make([]string, len(list))
	for i, text := range list {
		quoted[i] = javaQuote(text)
	}
	return strings.Join(quoted, ", ")
}

// javaCases are texts as labels of a switch, without those that it has already.
func javaCases(list []string, taken map[string]bool) string {
	return javaTexts(slices.DeleteFunc(slices.Clone(list), func(text string) bool {
		known := taken[text]
		taken[text] = true
		return known
	}))
}

// javaAdditional are the additional identifiers as lists.
func javaAdditional(s *schema.Schema) string {
	var lists []string
	for _, paths := range s.AdditionalIdentifiers {
		if names := topLevel(paths); len(names) == len(paths) {
			lists = append(lists, "List.of("+javaTexts(names)+")")
		}
	}
	return strings.Join(lists, ", ")
}

// javaGetter is the method of the model that returns a property.
func javaGetter(s *schema.Schema, property string) string {
	j := &java{}
	m := newReader(s).readModel(s)
	fields := j.fieldNames(&javaClass{object: m.root})
	return "get" + javaUpper(fields[property])
}

// topLevel are the names of the properties that are not within others.
func topLevel(paths []schema.Path) (names []string) {
	for _, p := range paths {
		if len(p.Tokens) == 1 {
			names = append(names, p.Tokens[0])
		}
	}
	return names
}

// words is a text from a description for a comment: in one line, without what ends it.
func words(text string) string {
	return strings.NewReplacer("*/", "*&#47;", `\`, "&#92;", "<", "&lt;", "&", "&amp;", "@", "&#64;").Replace(strings.Join(strings.Fields(text), " "))
}
