package smithy

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

var operationRules = []rule{
	{"Operation", further, checkOperations},
	{"DefaultValueInUpdate", further, checkUpdateDefaults},
	{"IdempotencyTokenIgnored", further, checkTokens},
	{"IdempotentTrait", further, checkIdempotent},
	{"PaginatedTrait", further, checkPaginated},
	{"ExamplesTrait", further, checkExamples},
	{"RequestCompressionTrait", further, checkCompression},
	{"StreamingTrait", further, checkStreaming},
	{"EventPayloadTrait", further, checkEventPayloads},
}

func checkOperations(c *check) {
	c.checkDedicated(traitInput, "input", "output")
	c.checkDedicated(traitOutput, "output", "input")
	for _, s := range c.m.OfType(Operation) {
		for _, io := range []struct {
			name     string
			actual   ID
			suffixes []string
		}{{"input", s.Input, []string{"Input", "Request"}}, {"output", s.Output, []string{"Output", "Response"}}} {
			for _, suffix := range io.suffixes {
				other := c.m.Shape(s.ID + ID(suffix))
				if other == nil || other.ID == io.actual {
					continue
				}
				c.event("OperationNameAmbiguity", WarningSeverity, other, "The name of this shape implies that it is the "+io.name+" of "+
					string(s.ID)+", but that operation uses "+string(io.actual)+" for "+io.name+". This kind of ambiguity can confuse developers "+
					"calling this operation and can cause issues in code generators that use similar naming conventions to generate "+io.name+" types.")
			}
		}
	}
}

// event reports with a specific id.
func (c *check) event(id string, severity Severity, s *Shape, message string) {
	c.events = append(c.events, Event{ID: id, Severity: severity, Shape: s.ID, At: s.At, Message: message})
}

// checkDedicated checks that a structure marked as input or output serves one operation only.
func (c *check) checkDedicated(trait ID, own, other string) {
	for _, s := range c.with[trait] {
		var operations []ID
		for _, in := range c.reverse[s.ID] {
			switch label := relationKinds[in.kind].label; {
			case label == own:
				operations = append(operations, in.from.ID)
				if !strings.HasPrefix(s.ID.Name(), in.from.ID.Name()) {
					c.event("OperationInputOutputName."+own, WarningSeverity, in.from, "The "+own+" of this operation should target a shape that "+
						"starts with the operation's name, '"+in.from.ID.Name()+"', but the targeted shape is `"+string(s.ID)+"`")
				}
			case label == other:
				c.event("OperationInputOutputMisuse", ErrorSeverity, in.from, "Operation `"+other+"` cannot target structures marked with the `@"+
					own+"` trait: `"+string(s.ID)+"`")
			case in.kind == relTarget:
				c.event("OperationInputOutputMisuse", ErrorSeverity, in.from, "Members cannot target structures marked with the @"+own+" trait: "+string(s.ID))
			}
		}
		slices.Sort(operations)
		if operations = slices.Compact(operations); len(operations) > 1 {
			c.event("OperationInputOutputMisuse", ErrorSeverity, s, "Shapes marked with the @"+own+" trait cannot be used as "+own+
				" by multiple operations: "+ticked(operations))
		}
	}
}

func checkUpdateDefaults(c *check) {
	updates := map[ID]bool{}
	for _, s := range c.m.OfType(Resource) {
		updates[s.Update] = true
	}
	for _, s := range c.m.OfType(Operation) {
		name := strings.ToLower(s.ID.Name())
		if !updates[s.ID] && !strings.HasPrefix(name, "update") && !strings.HasPrefix(name, "patch") {
			continue
		}
		var affected []string
		if input := c.m.input(s); input != nil {
			for _, m := range input.Members {
				if m.Has(traitDefault) {
					affected = append(affected, m.Name())
				}
			}
		}
		if affected != nil {
			slices.Sort(affected)
			c.warning(s, "This update style operation has top-level input members marked with the @default trait. It will be impossible to tell "+
				"if the member was omitted or explicitly provided. Affected members: %s", bracketed(affected))
		}
	}
}

func checkTokens(c *check) {
	for _, m := range c.shapesWith(traitIdempotencyToken, Member) {
		if m.Container.Type != Structure || m.Container.Has(traitMixin) {
			continue
		}
		ignored := map[relationKind][]ID{}
		for _, in := range c.reverse[m.Container.ID] {
			if in.kind != relContainer && in.kind != relInput {
				ignored[in.kind] = append(ignored[in.kind], in.from.ID)
			}
		}
		if len(ignored) > 0 {
			c.traitWarning(m, m.Trait(traitIdempotencyToken), "The `idempotencyToken` trait only has an effect when applied to a top-level operation "+
				"input member, but it was applied and ignored in the following contexts: %s", contexts(ignored))
		}
	}
}

func checkIdempotent(c *check) {
	for _, s := range c.shapesWith(traitIdempotent, Operation) {
		t := s.Trait(traitIdempotent)
		if t.Value.Get("exists") != nil && t.Value.Get("notFound") != nil {
			c.traitError(s, t, "The `exists` and `notFound` properties of the `@idempotent` trait are mutually exclusive. Only one may be specified.")
		}
		for _, property := range []string{"exists", "notFound"} {
			for _, id := range t.Value.Get(property).Strings() {
				if !slices.Contains(s.Errors, ID(id)) {
					c.traitError(s, t, "The `%s` property references error `%s`, but it is not in the operation's errors list. Expected one of %s",
						property, id, tickedSorted(s.Errors))
				}
			}
		}
	}
}

// A paginationPart is one member of the trait paginated.
type paginationPart struct {
	name     string
	input    bool // in the input, as a plain member; else in the output, as a path
	types    []Type
	avoid    []Type // allowed, but with a danger
	required bool   // must be set once the operation is in a service

	// What it means that the member is required: an error, a danger or warning, or nothing.
	ifRequired Severity
}

var paginationParts = []paginationPart{
	{"inputToken", true, []Type{String, Map}, []Type{Map}, true, ErrorSeverity},
	{"pageSize", true, []Type{Byte, Integer, Long, Short}, []Type{Byte, Long, Short}, false, WarningSeverity},
	{"outputToken", false, []Type{String, Map}, []Type{Map}, true, DangerSeverity},
	{"items", false, []Type{List, Map}, nil, false, SuppressedSeverity},
}

func checkPaginated(c *check) {
	for _, s := range c.shapesWith(traitPaginated, Operation) {
		t := s.Trait(traitPaginated)
		before := len(c.events)
		for _, part := range paginationParts {
			c.checkPagination(s, t, part, t.Value.Get(part.name).Str(), "", false)
		}
		if len(c.events) > before {
			continue
		}
		c.services(func(service *Shape, operations []*Shape) {
			if !slices.Contains(operations, s) {
				return
			}
			prefix := "When bound within the `" + string(service.ID) + "` service, "
			for _, part := range paginationParts {
				path := t.Value.Get(part.name).Str()
				if defaults := service.Trait(traitPaginated); path == "" && defaults != nil {
					path = defaults.Value.Get(part.name).Str()
				}
				c.checkPagination(s, t, part, path, prefix, true)
			}
		})
	}
}

func (c *check) checkPagination(s *Shape, t *Trait, part paginationPart, path, prefix string, inService bool) {
	if path == "" {
		if inService && part.required {
			c.traitError(s, t, "%spaginated trait `%s` is not configured", prefix, part.name)
		}
		return
	}
	if part.input && strings.Contains(path, ".") {
		c.traitError(s, t, "%spaginated trait `%s` does not allow path values", prefix, part.name)
		return
	}
	from := c.m.input(s)
	if !part.input {
		from = c.m.output(s)
	}
	member := c.memberAt(from, path)
	if member == nil {
		c.traitError(s, t, "%spaginated trait `%s` targets a member `%s` that does not exist", prefix, part.name, path)
		return
	}
	if member.Has(traitRequired) {
		switch part.ifRequired {
		case ErrorSeverity:
			c.traitError(s, t, "%spaginated trait `%s` member `%s` must not be required", prefix, part.name, member.Name())
		case WarningSeverity, DangerSeverity:
			c.add(part.ifRequired, s, t.At, "ShouldNotBeRequired."+part.name, "%spaginated trait `%s` member `%s` should not be required",
				prefix, part.name, member.Name())
		}
	}
	if target := c.m.target(member); target != nil {
		kind := target.Type
		if !slices.Contains(part.types, kind) {
			c.traitError(s, t, "%spaginated trait `%s` member `%s` targets a %s shape, but must target one of the following: [%s]", prefix,
				part.name, member.Name(), kind, tickedSorted(part.types))
		}
		if slices.Contains(part.avoid, kind) {
			better := slices.DeleteFunc(slices.Clone(part.types), func(t Type) bool { return slices.Contains(part.avoid, t) })
			c.add(DangerSeverity, s, t.At, "WrongShapeType."+part.name, "%spaginated trait `%s` member `%s` targets a %s shape, but this is not "+
				"recommended. One of [%s] SHOULD be targeted.", prefix, part.name, member.Name(), kind, tickedSorted(better))
		}
	}
	if !part.input && strings.Count(path, ".") > 1 {
		c.add(WarningSeverity, s, t.At, "DeeplyNested."+part.name, "%spaginated trait `%s` contains a path with more than two parts, which can "+
			"make your API cumbersome to use", prefix, part.name)
	}
}

// memberAt follows a path of member names through structures.
func (c *check) memberAt(s *Shape, path string) *Shape {
	var member *Shape
	for name := range strings.SplitSeq(path, ".") {
		if s == nil {
			return nil
		}
		if member = s.Member(name); member == nil {
			return nil
		}
		s = c.m.structure(member.Target)
	}
	return member
}

func checkExamples(c *check) {
	const id = ID("smithy.api#examples")
	for _, s := range c.shapesWith(id, Operation) {
		t := s.Trait(id)
		for _, example := range t.Value.Items {
			c.checkExample(s, t, example)
		}
	}
}

func (c *check) checkExample(s *Shape, t *Trait, example *document.Value) {
	title := example.Get("title").Str()
	lenient := example.Get("allowConstraintErrors").IsTrue()
	values := func(kind string, shape *Shape, value *document.Value) {
		v := &valueCheck{check: c, eventID: c.id, subject: s, at: t.At, lenient: lenient}
		v.value(shape, value, "Example "+kind+" of `"+title+"`", nil, 0)
	}
	output, failure := example.Get("output"), example.Get("error")
	if lenient && failure == nil {
		c.traitError(s, t, "Example: `%s` has allowConstraintErrors enabled, so error must be defined.", title)
	}
	input := example.Get("input")
	if input == nil {
		input = document.NewObject()
	}
	values("input", c.m.Shape(s.Input), input)
	switch {
	case output != nil && failure != nil:
		c.traitError(s, t, "Example: `%s` has both output and error defined, only one should be present.", title)
	case output != nil:
		values("output", c.m.Shape(s.Output), output)
	case failure != nil:
		id := ID(failure.Get("shapeId").Str())
		shape := c.m.Shape(id)
		if shape == nil || !slices.Contains(s.Errors, id) && !c.servicesHaveError(s, id) {
			c.traitError(s, t, "Error parameters provided for operation without the `%s` error: `%s`", id, title)
			return
		}
		content := failure.Get("content")
		if content == nil {
			content = document.NewObject()
		}
		values("error", shape, content)
	}
}

// servicesHaveError reports whether every service of an operation has an error for all.
func (c *check) servicesHaveError(operation *Shape, id ID) bool {
	all, any := true, false
	c.services(func(service *Shape, operations []*Shape) {
		any = true
		if slices.Contains(operations, operation) && !slices.Contains(service.Errors, id) {
			all = false
		}
	})
	return any && all
}

func checkCompression(c *check) {
	const id = ID("smithy.api#requestCompression")
	for _, s := range c.shapesWith(id, Operation) {
		t := s.Trait(id)
		if s.Input == unitID {
			c.error(s, "The `requestCompression` trait can only be applied to operations which have an input shape defined")
		} else if input := c.m.input(s); input != nil {
			for _, m := range input.Members {
				if target := c.m.target(m); target.Has(traitStreaming) && target.Has(traitRequiresLength) {
					c.error(s, "The `requestCompression` trait can only be applied to operations which do not have input members that target shapes "+
						"with both the `streaming` and `requiresLength` traits applied, but found member `%s` targeting `%s`", m.ID, target.ID)
				}
			}
		}
		encodings := t.Value.Get("encodings").Strings()
		invalid := slices.DeleteFunc(slices.Clone(encodings), func(e string) bool { return strings.ToLower(e) == "gzip" })
		switch {
		case len(encodings) == 0:
			c.traitError(s, t, "There must be at least one compression algorithm in `encodings` for the `requestCompression` trait applied to `%s`", s.ID)
		case len(invalid) > 0:
			plural := "s"
			if len(invalid) == 1 {
				plural = ""
			}
			c.traitError(s, t, "Invalid compression algorithm%s found in `requestCompression` trait applied to `%s`: %s", plural, s.ID, tickedSorted(invalid))
		}
	}
}

func checkStreaming(c *check) {
	for _, s := range c.with[traitStreaming] {
		for _, in := range c.reverse[s.ID] {
			if in.kind == relTarget {
				c.checkStream(in.from, s)
			}
		}
		if s.Type != Union {
			continue
		}
		var wrong []string
		for _, m := range s.Members {
			if target := c.m.target(m); target != nil && target.Type != Structure {
				wrong = append(wrong, m.Name())
			}
		}
		if wrong != nil {
			c.error(s, "Each member of an event stream union must target a structure shape, but the following union members do not: %s", bracketed(wrong))
		}
	}
	c.checkStreamPayloads()
}

// checkStream checks a member that targets a stream, and where its structure is used.
func (c *check) checkStream(m, target *Shape) {
	if target.Type == Blob && !m.Has(traitRequired) && !m.Has(traitDefault) {
		c.error(m, "Members that target blobs marked with the `streaming` trait MUST also be marked with the `required` or `default` trait.")
	}
	for _, in := range c.reverse[m.Container.ID] {
		switch in.kind {
		case relContainer, relInput, relMixin:
		case relOutput:
			if target.Has(traitRequiresLength) {
				c.error(m.Container, "Structures that contain a reference to a stream marked with the @requiresLength trait can only be used as "+
					"operation inputs, but this structure is referenced from `%s` as output", in.from.ID)
			}
		case relTarget:
			c.error(in.from, "Members cannot target structures that contain a stream, but this member targets %s", m.Container.ID)
		default:
			c.error(in.from, "This shape has an invalid `%s` relationship to a structure, `%s`, that contains a stream", in.kind, m.Container.ID)
		}
	}
}

// checkStreamPayloads checks that streams are payloads where the protocol knows payloads.
func (c *check) checkStreamPayloads() {
	for _, service := range c.m.OfType(Service) {
		supported := slices.ContainsFunc(c.protocols(service), func(p *Shape) bool {
			return slices.ContainsFunc(p.Trait("smithy.api#protocolDefinition").Value.Get("traits").Strings(), func(id string) bool { return ID(id) == traitHTTPPayload })
		})
		if !supported || len(c.with[traitStreaming]) == 0 {
			continue
		}
		for _, id := range c.closure(service.ID) {
			m := c.m.Shape(id)
			if m != nil && m.Type == Member && !m.Has(traitHTTPPayload) && c.m.target(m).Has(traitStreaming) {
				c.error(m, "Member `%s` referencing @streaming shape `%s` must have the @httpPayload trait, as service `%s` has a protocol that "+
					"supports @httpPayload.", m.ID, m.Target, service.ID)
			}
		}
	}
}

func checkEventPayloads(c *check) {
	for _, m := range c.shapesWith("smithy.api#eventPayload", Member) {
		if m.Container.Type != Structure {
			continue
		}
		var unmarked []string
		for _, other := range m.Container.Members {
			if !other.Has("smithy.api#eventHeader") && !other.Has("smithy.api#eventPayload") {
				unmarked = append(unmarked, other.Name())
			}
		}
		if unmarked != nil {
			c.error(m.Container, "This event structure contains a member marked with the `eventPayload` trait, so all other members must be marked "+
				"with the `eventHeader` trait. However, the following member(s) are not marked with the eventHeader trait: %s", tickedSorted(unmarked))
		}
	}
}
