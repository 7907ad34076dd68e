package codegen

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// docs writes the reference pages of a type in the form of the AWS documentation:
// docs/README.md for the type, and a page for each nested object. For a hook they describe its
// configuration. A schema without properties has no pages, except for a hook, whose activation
// and targets are still documented.
func docs(s *schema.Schema, typeName string) []File {
	r := newReader(s)
	d := &docWriter{reader: r, schema: s, typeName: typeName, pages: map[*object]string{}}
	if s.Kind == schema.Hook {
		d.model = r.readModel(s.TypeConfiguration)
	} else {
		d.model = r.readModel(s)
		if len(d.model.root.props) == 0 {
			return nil
		}
	}
	taken := scope{"readme": true}
	byParts := slices.Clone(d.model.objects[1:])
	slices.SortStableFunc(byParts, func(a, b *object) int {
		return cmp.Or(btoi(b.ref)-btoi(a.ref), cmp.Compare(len(a.parts), len(b.parts)), slices.Compare(a.parts, b.parts))
	})
	for _, o := range byParts {
		d.pages[o] = taken.take(fileName(strings.Join(o.parts, "-"))) + ".md"
	}
	readme := d.resource
	if s.Kind == schema.Hook {
		readme = d.hook
	}
	files := []File{d.page("README.md", readme)}
	for _, o := range d.model.objects[1:] {
		files = append(files, d.page(d.pages[o], func() { d.object(o) }))
	}
	return files
}

// fileName keeps of a name what every file system and every URL takes.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return name[:min(len(name), 200)]
}

// A docWriter writes Markdown.
type docWriter struct {
	strings.Builder
	reader   *reader
	schema   *schema.Schema
	typeName string
	model    *model
	pages    map[*object]string
}

// printf cannot fail: it writes to memory.
func (d *docWriter) printf(format string, args ...any) { _, _ = fmt.Fprintf(d, format, args...) }

func (d *docWriter) page(name string, write func()) File {
	d.Reset()
	d.printf("<!-- %s -->\n", marker)
	write()
	return File{Path: "docs/" + name, Data: []byte(strings.Map(printable, strings.TrimRight(d.String(), "\n")) + "\n"), Mode: Generated}
}

// printable drops the control characters that descriptions and patterns may bring along:
// with a NUL among them, many programs take a page for no text.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}

func (d *docWriter) resource() {
	root := d.model.root
	d.heading(d.typeName, d.schema.Description)
	d.printf("## Syntax\n\nTo declare this entity in your AWS CloudFormation template, use the following syntax:\n\n### JSON\n\n<pre>\n{\n    \"Type\" : \"%s\",\n    \"Properties\" : {\n", html.EscapeString(d.typeName))
	settable := slices.DeleteFunc(slices.Clone(root.props), func(p *property) bool { return len(p.paths.readOnly) > 0 })
	d.syntaxJSON(settable, "        ")
	d.printf("    }\n}\n</pre>\n\n### YAML\n\n<pre>\nType: %s\nProperties:\n", html.EscapeString(d.typeName))
	d.syntaxYAML(settable, "    ")
	d.printf("</pre>\n\n")
	if len(settable) > 0 {
		d.printf("## Properties\n\n")
	}
	for _, p := range settable {
		d.property(root, p)
	}
	d.returnValues()
}

func (d *docWriter) heading(title, description string) {
	d.printf("# %s\n\n", title)
	if description = strings.TrimSpace(description); description != "" {
		d.printf("%s\n\n", prose(description))
	}
}

func (d *docWriter) syntaxJSON(properties []*property, indent string) {
	for i, p := range properties {
		comma := ","
		if i == len(properties)-1 {
			comma = ""
		}
		d.printf("%s\"%s\" : <i>%s</i>%s\n", indent, anchor(p), d.types(p.schemas, spellJSON), comma)
	}
}

func (d *docWriter) syntaxYAML(properties []*property, indent string) {
	for _, p := range properties {
		d.printf("%s%s: <i>%s</i>\n", indent, anchor(p), d.types(p.schemas, spellYAML))
	}
}

// anchor links the name of a property to its section on the same page.
func anchor(p *property) string {
	name := html.EscapeString(p.name)
	return fmt.Sprintf(`<a href="#%s" title="%s">%[2]s</a>`, strings.ToLower(name), name)
}

func (d *docWriter) object(o *object) {
	d.heading(d.typeName+" "+plain(o.name), o.title)
	settable := slices.DeleteFunc(slices.Clone(o.props), func(p *property) bool { return len(p.paths.readOnly) > 0 })
	d.printf("## Syntax\n\nTo declare this entity in your AWS CloudFormation template, use the following syntax:\n\n### JSON\n\n<pre>\n{\n")
	d.syntaxJSON(settable, "    ")
	d.printf("}\n</pre>\n\n### YAML\n\n<pre>\n")
	d.syntaxYAML(settable, "")
	d.printf("</pre>\n\n## Properties\n\n")
	for _, p := range o.props {
		d.property(o, p)
	}
}

// property writes the section of one property.
func (d *docWriter) property(o *object, p *property) {
	d.printf("#### %s\n\n", plain(p.name))
	if text := strings.TrimSpace(describeNodes(d.reader, p.schemas)); text != "" {
		d.printf("%s\n\n", prose(text))
	}
	if len(p.paths.readOnly) > 0 {
		d.printf("_Read-only_: the resource returns it, a template cannot set it%s\n\n", onlyAs(o, p.paths.readOnly))
	}
	required := "No"
	if o.required[p.name] {
		required = "Yes"
	}
	d.printf("_Required_: %s\n\n_Type_: %s\n\n", required, d.types(p.schemas, spellLong))
	c := d.reader.constraintsOf(p.schemas)
	if len(c.allowed) > 0 {
		d.printf("_Allowed Values_: <code>%s</code>\n\n", strings.Join(c.allowed, "</code> | <code>"))
	}
	minimum, maximum := "Minimum", "Maximum"
	if o.root && d.schema.Kind != schema.Hook {
		minimum, maximum = "Minimum Length", "Maximum Length"
	}
	if c.minLength != "" {
		d.printf("_%s_: <code>%s</code>\n\n", minimum, c.minLength)
	}
	if c.maxLength != "" {
		d.printf("_%s_: <code>%s</code>\n\n", maximum, c.maxLength)
	}
	if d.schema.Kind == schema.Hook {
		return // a configuration is set as a whole, and its patterns are for the service
	}
	if c.pattern != "" {
		d.printf("_Pattern_: <code>%s</code>\n\n", plain(c.pattern))
	}
	if len(p.paths.readOnly) == 0 {
		d.printf("_Update requires_: %s\n\n", d.update(o, p))
	}
}

const updateLink = "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-update-behaviors.html#update-"

// update returns the effect of a change of the property. An object in several places may be
// create-only in some of them.
func (d *docWriter) update(o *object, p *property) string {
	replacement, some, none := "[Replacement]("+updateLink+"replacement)", "[Some interruptions]("+updateLink+"some-interrupt)", "[No interruption]("+updateLink+"no-interrupt)"
	within := d.model.within[o]
	switch {
	case len(p.paths.createOnly) > 0:
		return replacement + onlyAs(o, p.paths.createOnly)
	case len(within) > 0 && !d.model.apart[o]:
		return replacement
	case len(within) > 0:
		return replacement + onlyAs(o, within) + ", else " + none
	case len(p.paths.conditional) > 0:
		return some + onlyAs(o, p.paths.conditional)
	}
	return none
}

// onlyAs names the places where something holds, unless there is only one place.
func onlyAs(o *object, paths []string) string {
	if o.root {
		return ""
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = "<code>" + plain(strings.ReplaceAll(strings.TrimPrefix(p, "/properties/"), "/", ".")) + "</code>"
	}
	return " (as " + strings.Join(names, ", ") + ")"
}

// returnValues lists what Ref and Fn::GetAtt give.
func (d *docWriter) returnValues() {
	ref := ""
	if ids := d.schema.PrimaryIdentifier; len(ids) == 1 && len(ids[0].Tokens) == 1 {
		ref = ids[0].Tokens[0]
	}
	type attribute struct{ name, description string }
	var attributes []attribute
	for _, path := range d.schema.ReadOnly {
		if slices.Contains(path.Tokens, "*") || len(path.Tokens) == 0 {
			continue // no attribute reaches into a list
		}
		a := attribute{name: strings.Join(path.Tokens, ".")}
		last := path.Tokens[len(path.Tokens)-1]
		described := false
		d.reader.follow(d.model.root, path.Tokens, func(p *property) {
			a.description = describeNodes(d.reader, p.schemas)
			described = described || slices.ContainsFunc(p.schemas, func(n *document.Value) bool { return n.Get("description") != nil })
		})
		if a.description == "" && !described {
			a.description = "Returns the <code>" + plain(last) + "</code> value."
		} else {
			a.description = prose(a.description)
		}
		attributes = append(attributes, a)
	}
	if ref == "" && len(attributes) == 0 {
		return
	}
	d.printf("## Return Values\n\n")
	if ref != "" {
		d.printf("### Ref\n\nWhen you pass the logical ID of this resource to the intrinsic `Ref` function, Ref returns the %s.\n\n", plain(ref))
	}
	if len(attributes) == 0 {
		return
	}
	d.printf("### Fn::GetAtt\n\nThe `Fn::GetAtt` intrinsic function returns a value for a specified attribute of this type. The following are the available attributes and sample return values.\n\n" +
		"For more information about using the `Fn::GetAtt` intrinsic function, see [Fn::GetAtt](https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference-getatt.html).\n\n")
	for _, a := range attributes {
		d.printf("#### %s\n\n", plain(a.name))
		if a.description != "" {
			d.printf("%s\n\n", a.description)
		}
	}
}

// hook writes how to activate a hook, its configuration, and its targets.
func (d *docWriter) hook() {
	const guide = "https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/hooks-structure.html#hooks-"
	link := func(name, id string) string {
		return fmt.Sprintf(`"<a href="%s%s" title="%s">%[3]s</a>"`, guide, id, name)
	}
	d.heading(d.typeName, d.schema.Description)
	d.printf("## Activation\n\nTo activate a hook in your account, use the following JSON as the `Configuration` request parameter for the [`SetTypeConfiguration`](https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_SetTypeConfiguration.html) API request.\n\n### Configuration\n\n<pre>\n{\n    \"CloudFormationConfiguration\": {\n")
	d.printf("        %s: {\n", link("HookConfiguration", "hook-configuration"))
	d.printf("            %s: \"ALL\" | \"NONE\",\n", link("TargetStacks", "targetstacks"))
	d.printf("            %s: \"FAIL\" | \"WARN\",\n", link("FailureMode", "failuremode"))
	d.printf("            %s : {\n", link("Properties", "properties"))
	root := d.model.root
	d.syntaxJSON(root.props, "                ")
	d.printf("            }\n        }\n    }\n}\n</pre>\n\n")
	if len(root.props) > 0 {
		d.printf("## Properties\n\n")
	}
	for _, p := range root.props {
		d.property(root, p)
	}
	var targets []string
	for _, h := range d.schema.Handlers {
		targets = append(targets, h.TargetNames...)
	}
	slices.Sort(targets)
	if targets = slices.Compact(targets); len(targets) > 0 {
		d.printf("## Targets\n\n")
	}
	for _, target := range targets {
		d.printf("* `%s`\n", strings.ReplaceAll(target, "`", ""))
	}
}
