package codegen

import (
	"cmp"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// javaAPI is what the templates of handlers that call an API know besides what those of other languages do.
type javaAPI struct {
	frameAPI

	CreateCall, Desired string // expressions
	SeveralUpdates      bool
	Waits               bool // for a status
	Lists, NotFound     bool // which imports are needed
}

// javaCommented escapes what ends a comment or begins something else in it.
var javaCommented = strings.NewReplacer("&", "&amp;", "<", "&lt;", "@", "&#64;", "*/", "*&#47;", `\`, "&#92;")

// javaBinding is where the binding is in a project in Java: beside the classes that read it.
func javaBinding(in Input) string {
	namespace := cmp.Or(in.Namespace, JavaNamespace(in.TypeName))
	return "src/main/resources/" + strings.ReplaceAll(namespace, ".", "/") + "/api.json"
}

var javaQuoting = quoting{quote: javaQuote, begin: "List.of(", end: ")"}

// javaAPIOf describes the API of a binding.
func javaAPIOf(in Input) (*javaAPI, error) {
	b, err := readBinding(in)
	if err != nil {
		return nil, err
	}
	if w := b.Wait; w != nil { // a switch has each value once
		taken := map[string]bool{}
		for _, values := range []*[]string{&w.Success, &w.Failure, &w.Pending} {
			*values = slices.DeleteFunc(*values, func(value string) bool {
				known := taken[value]
				taken[value] = true
				return known
			})
		}
	}
	f := &javaAPI{frameAPI: *b.frame(in.Schema, javaQuoting), CreateCall: "api.create(desired)", Desired: "request.getDesiredResourceState()"}
	for _, name := range []*string{&f.Service, &f.Create, &f.Read, &f.Delete, &f.List} {
		*name = javaCommented.Replace(*name)
	}
	for i := range f.Updates {
		f.Updates[i].Name = javaCommented.Replace(f.Updates[i].Name)
	}
	f.Unique = javaQuoting.list(b.Find.Properties)
	if f.Wait != "" {
		f.Wait = javaGetter(in.Schema, f.Wait)
	}
	if f.Additional != "" {
		f.Desired = "identified(api, " + f.Desired + ")"
	}
	if f.TagOnCreate {
		f.CreateCall = "api.create(ApiClient.withTags(desired, request.getDesiredResourceTags()))"
	}
	f.Waits = f.Success+f.Failure+f.Pending != ""
	f.SeveralUpdates = len(f.Updates) > 1
	f.Lists = f.Gone != "" || f.Finds || len(f.Updates) > 0
	f.NotFound = f.Gone != "" || f.Finds || f.Find == "identifier"
	return f, nil
}

// javaClient are the classes of the client, and what the handlers share.
func javaClient(api *javaAPI) []string {
	classes := []string{"ApiBinding", "ApiClient", "ApiCodec", "ApiConnection", "ApiException", "ApiRequest", "BaseHandlerStd"}
	if api.XML {
		classes = append(classes, "ApiXml")
	}
	return classes
}

// javaCalls adds the client of an API and the handlers that use it.
func (p *project) javaCalls(in Input, f javaFrame) {
	p.put(File{Path: javaBinding(in), Data: in.Binding, Mode: Generated})
	classes := append(javaClient(f.API), "CallbackContext")
	for _, h := range f.Handlers {
		classes = append(classes, h.Name+"Handler")
	}
	for _, class := range classes {
		mode := Refreshed
		if strings.HasPrefix(class, "Api") {
			mode = Generated
		}
		p.fillAll(f, row{"java/api/" + class + ".java", f.Folder + "/" + class + ".java", mode})
	}
}

// javaGetter is the method of the model that returns a property.
func javaGetter(s *schema.Schema, property string) string {
	j := &java{}
	return "get" + javaUpper(j.fieldNames(&javaClass{object: newReader(s).readModel(s).root})[property])
}
