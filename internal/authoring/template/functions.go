package template

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A function is what the service calls an intrinsic function.
type function struct {
	shape func(c *checker, f call) // refuses a call that cannot be evaluated
	eval  func(e *evaluator, f call) (any, error)
	in    place // where it may be; 0 is everywhere but in conditions and rules
}

// A place is a part of the template in which a function may be.
type place uint8

const (
	inValues place = 1 << iota
	inConditions
	inRules
	inExtended // only with AWS::LanguageExtensions
)

// functions has every function but Fn::Transform and Fn::ForEach, which are expanded before
// the template is evaluated.
var functions map[string]*function

func init() { // the functions call each other by name
	functions = map[string]*function{
		"Ref":                {shapeRef, evalRef, inValues | inConditions | inRules},
		"Fn::GetAtt":         {shapeGetAtt, evalGetAtt, inValues},
		"Fn::Sub":            {shapeSub, evalSub, inValues | inConditions | inRules},
		"Fn::Join":           {shapeJoin, evalJoin, inValues | inConditions | inRules},
		"Fn::Split":          {shapeSplit, evalSplit, inValues | inConditions | inRules},
		"Fn::Select":         {shapeSelect, evalSelect, inValues | inConditions | inRules},
		"Fn::FindInMap":      {shapeFindInMap, evalFindInMap, inValues | inConditions | inRules},
		"Fn::Base64":         {shapeBase64, evalBase64, inValues | inConditions},
		"Fn::Cidr":           {shapeCidr, evalCidr, inValues},
		"Fn::GetAZs":         {shapeGetAZs, evalGetAZs, inValues},
		"Fn::ImportValue":    {shapeImportValue, evalImportValue, inValues},
		"Fn::GetStackOutput": {shapeStackOutput, evalStackOutput, inValues},
		"Fn::If":             {shapeIf, evalIf, inValues | inConditions},
		"Fn::Length":         {shapeAny, evalLength, inValues | inConditions | inExtended},
		"Fn::ToJsonString":   {shapeAny, evalToJSONString, inValues | inConditions | inExtended},

		"Condition":  {shapeCondition, evalCondition, inConditions | inRules},
		"Fn::Equals": {shapeEquals, evalEquals, inConditions | inRules},
		"Fn::And":    {shapeAndOr, evalAnd, inConditions | inRules},
		"Fn::Or":     {shapeAndOr, evalOr, inConditions | inRules},
		"Fn::Not":    {shapeNot, evalNot, inConditions | inRules},

		"Fn::Contains":         {shapeTwo, evalContains, inRules},
		"Fn::EachMemberEquals": {shapeTwo, evalEachEquals, inRules},
		"Fn::EachMemberIn":     {shapeTwo, evalEachIn, inRules},
		"Fn::RefAll":           {shapeText, evalRefAll, inRules},
		"Fn::ValueOf":          {shapeTwo, evalValueOf, inRules},
		"Fn::ValueOfAll":       {shapeTwo, evalValueOf, inRules},
	}
}

func evalRef(e *evaluator, f call) (any, error) {
	if f.arg.Kind != document.String {
		return nil, e.refuse("ref", f.at)
	}
	name := f.arg.Text
	if value, ok := e.s.in.Pseudo.value(name); ok {
		return value, nil
	}
	if b, ok := e.s.values[name]; ok {
		if e.masked && b.NoEcho {
			return maskedValue(b), nil
		}
		if err := e.allow(b.cost(), f.at); err != nil {
			return nil, err
		}
		if e.conditional() {
			return b.any(), nil
		}
		return b.ref(), nil
	}
	if e.s.t.resources[name] == nil || e.conditional() {
		return nil, e.unresolved(name, f.at)
	}
	if err := e.active(name, f.at); err != nil {
		return nil, err
	}
	if value, known := e.refs.Ref(name); known {
		return value, nil
	}
	return Unknown, nil
}

func maskedValue(b Bound) any {
	if b.List {
		return []any{Mask}
	}
	return Mask
}

// unresolved reports an unknown name.
func (e *evaluator) unresolved(name string, v *document.Value) error {
	if e.conditional() {
		return e.refuse("condition-references", v, list([]string{name}))
	}
	return e.refuse("unresolved", v, list([]string{name}), e.block())
}

func (e *evaluator) block() string {
	if len(e.path) > 0 && e.path[0] == "Outputs" {
		return "Outputs"
	}
	return "Resources"
}

// active refuses a reference to a resource whose condition is false.
func (e *evaluator) active(name string, v *document.Value) error {
	r := e.s.t.resources[name]
	if e.s.Active(r) {
		return nil
	}
	if e.block() == "Outputs" {
		return e.refuse("unresolved-output", v, list([]string{name}))
	}
	return e.refuse("unresolved", v, list([]string{name}), "Resources")
}

// attributeOf splits the argument of Fn::GetAtt. The attribute may be a function.
func attributeOf(arg *document.Value) (name string, attribute *document.Value, ok bool) {
	if arg.Kind == document.String {
		arg = splitAttribute(arg)
	}
	items, ok := arguments(arg, 2, 1<<10)
	if !ok || items[0].Kind != document.String || items[0].Text == "" {
		return "", nil, false
	}
	attribute = items[1]
	for _, more := range items[2:] { // ["A", "Outputs", "B"] is accepted, too
		if attribute.Kind != document.String || more.Kind != document.String {
			return "", nil, false
		}
		attribute = text(attribute.Text+"."+more.Text, attribute.At)
	}
	if attribute.Kind == document.Object {
		_, ok = callOf(attribute, false)
		return items[0].Text, attribute, ok
	}
	return items[0].Text, attribute, attribute.Kind == document.String && attribute.Text != ""
}

func evalGetAtt(e *evaluator, f call) (any, error) {
	name, attribute, ok := attributeOf(f.arg)
	if !ok {
		return nil, e.refuse("get-att", f.at)
	}
	text, known, err := e.text(attribute, "get-att")
	if err != nil || !known {
		return Unknown, err
	}
	return e.getAtt(name, text, f.at)
}

func (e *evaluator) getAtt(name, attribute string, v *document.Value) (any, error) {
	if e.s.t.resources[name] == nil || e.conditional() {
		return nil, e.refuse("get-att-undefined", v, name)
	}
	if err := e.active(name, v); err != nil {
		return nil, err
	}
	value, known, err := e.refs.GetAtt(name, attribute)
	return e.answer(value, known, err, v)
}

// answer is what a reference gave.
func (e *evaluator) answer(value any, known bool, err error, v *document.Value) (any, error) {
	switch {
	case err != nil:
		return nil, &ReferenceError{Pointer: e.path.Append(), At: v.At, Err: err}
	case !known:
		return Unknown, nil
	}
	return value, nil
}

func evalJoin(e *evaluator, f call) (any, error) {
	args, ok := arguments(f.arg, 2, 2)
	if !ok {
		return nil, e.refuse("join", f.at)
	}
	delimiter, known, err := e.text(args[0], "join")
	if err != nil {
		return nil, err
	}
	value, err := e.eval(args[1])
	if err != nil {
		return nil, err
	}
	if !known || value == Unknown {
		return Unknown, nil
	}
	items, ok := value.([]any)
	if !ok {
		return nil, e.refuse("join", f.at)
	}
	parts := make([]string, len(items))
	size := 0
	for i, item := range items {
		if item == Unknown {
			known = false
			continue
		}
		if parts[i], ok = toText(item); !ok {
			return nil, e.refuse("join", f.at)
		}
		size += len(parts[i]) + len(delimiter)
	}
	if err := e.allow(size, f.at); err != nil {
		return nil, err
	}
	if !known {
		return Unknown, nil
	}
	return strings.Join(parts, delimiter), nil
}

func evalSplit(e *evaluator, f call) (any, error) {
	args, ok := arguments(f.arg, 2, 2)
	if !ok {
		return nil, e.refuse("split", f.at)
	}
	delimiter, delimiterKnown, err := e.text(args[0], "split")
	if err != nil {
		return nil, err
	}
	source, known, err := e.text(args[1], "split")
	if err != nil {
		return nil, err
	}
	if !known || !delimiterKnown {
		return Unknown, nil
	}
	if delimiter == "" {
		return nil, e.refuse("split", f.at)
	}
	if err := e.allow((slotCost+scalarCost)*(strings.Count(source, delimiter)+1), f.at); err != nil {
		return nil, err
	}
	out := make([]any, 0, strings.Count(source, delimiter)+1)
	for part := range strings.SplitSeq(source, delimiter) {
		out = append(out, part)
	}
	return out, nil
}

func evalSelect(e *evaluator, f call) (any, error) {
	args, ok := arguments(f.arg, 2, 2)
	if !ok {
		return nil, e.refuse("select", f.at)
	}
	if e.masked && e.s.hidden(args[0]) {
		return nil, errHidden
	}
	position, known, err := e.text(args[0], "select")
	if err != nil {
		return nil, err
	}
	value, err := e.eval(args[1])
	if err != nil {
		return nil, err
	}
	if !known || value == Unknown {
		return Unknown, nil
	}
	items, ok := value.([]any)
	index, isNumber := strconv.Atoi(position)
	switch {
	case !ok || isNumber != nil:
		return nil, e.refuse("select", f.at)
	case index < 0 || index >= len(items):
		if e.masked {
			return nil, errHidden
		}
		return nil, e.refuse("select-range", f.at, position)
	}
	return items[index], nil
}

func evalFindInMap(e *evaluator, f call) (any, error) {
	args, ok := arguments(f.arg, 3, 4)
	if !ok {
		return nil, e.refuse("find-in-map", f.at)
	}
	var keys [3]string
	for i := range keys {
		if e.masked && e.s.hidden(args[i]) {
			return nil, errHidden
		}
		var known bool
		var err error
		if keys[i], known, err = e.text(args[i], "find-in-map"); err != nil {
			return nil, err
		}
		if !known {
			return Unknown, nil
		}
	}
	value := e.s.t.lookup(keys)
	switch {
	case value != nil:
		return e.eval(value)
	case len(args) == 4 && args[3].Member("DefaultValue") != nil:
		return e.eval(args[3].Get("DefaultValue"))
	case e.s.t.mappings[keys[0]] == nil:
		return nil, e.refuse("mapping-missing", f.at, keys[0])
	}
	return nil, e.refuse("mapping-key", f.at, keys[0], keys[1], keys[2])
}

// lookup finds a value of a mapping, nil if it does not exist.
func (t *Template) lookup(keys [3]string) *document.Value {
	m := t.mappings[keys[0]]
	if m == nil {
		return nil
	}
	return m.Value.Get(keys[1]).Get(keys[2])
}

func evalBase64(e *evaluator, f call) (any, error) {
	s, known, err := e.text(f.arg, "base64")
	if err != nil || !known {
		return Unknown, err
	}
	if err := e.allow(base64.StdEncoding.EncodedLen(len(s)), f.at); err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString([]byte(s)), nil
}

func evalGetAZs(e *evaluator, f call) (any, error) {
	region, known, err := e.text(f.arg, "get-azs")
	if err != nil || !known {
		return Unknown, err
	}
	if region == "" {
		region = e.s.in.Pseudo.Region
	}
	zones := cmp.Or(zonesOf[region], "abc")
	out := make([]any, len(zones))
	for i, letter := range zones {
		out[i] = region + string(letter)
	}
	return out, nil
}

// zonesOf are the letters of the availability zones of the regions that do not have a, b and c. Which
// letters an account sees may differ in some of them; these are the usual ones.
var zonesOf = map[string]string{
	"us-east-1": "abcdef", "us-west-1": "bc", "us-west-2": "abcd",
	"ca-central-1": "abd", "ap-northeast-1": "acd", "ap-northeast-2": "abcd", "cn-north-1": "abd",
}

func evalImportValue(e *evaluator, f call) (any, error) {
	name, known, err := e.text(f.arg, "import-value")
	if err != nil || !known {
		return Unknown, err
	}
	if strings.ContainsRune(name, 0) {
		return nil, e.refuse("character", f.at, e.path.String())
	}
	value, known, err := e.refs.ImportValue(name)
	return e.answer(value, known, err, f.at)
}

func evalStackOutput(e *evaluator, f call) (any, error) {
	var ref StackOutputRef
	if f.arg.Kind != document.Object {
		return nil, e.refuse("get-stack-output", f.at)
	}
	for _, m := range f.arg.Distinct() {
		field, ok := map[string]*string{"StackName": &ref.StackName, "OutputName": &ref.OutputName, "Region": &ref.Region, "RoleArn": &ref.RoleARN}[m.Key]
		if !ok {
			return nil, e.refuse("get-stack-output", f.at)
		}
		value, err := e.child(m.Key, m.Value)
		if err != nil {
			return nil, err
		}
		if _, none := value.(noValue); none {
			continue
		}
		if value == Unknown {
			return Unknown, nil
		}
		if *field, ok = toText(value); !ok {
			return nil, e.refuse("get-stack-output", f.at)
		}
	}
	if ref.StackName == "" || ref.OutputName == "" {
		return nil, e.refuse("get-stack-output", f.at)
	}
	if strings.ContainsRune(ref.StackName+ref.OutputName+ref.Region+ref.RoleARN, 0) {
		return nil, e.refuse("character", f.at, e.path.String())
	}
	value, known, err := e.refs.StackOutput(ref)
	return e.answer(value, known, err, f.at)
}

func evalIf(e *evaluator, f call) (any, error) {
	args, ok := arguments(f.arg, 3, 3)
	if !ok || args[0].Kind != document.String {
		return nil, e.refuse("if", f.at)
	}
	name := args[0].Text
	if e.s.t.conditions[name] == nil {
		return nil, e.refuse("if-condition", f.at, name)
	}
	if e.condition {
		if err := e.s.decide(name); err != nil {
			return nil, err
		}
	}
	if e.masked && e.s.secret[name] {
		return nil, errHidden
	}
	if e.s.conditions[name] {
		return e.child("1", args[1])
	}
	return e.child("2", args[2])
}

func evalLength(e *evaluator, f call) (any, error) {
	value, err := e.eval(f.arg)
	if err != nil || value == Unknown {
		return Unknown, err
	}
	items, ok := value.([]any)
	if !ok {
		return nil, e.refuse("length", f.at)
	}
	return json.Number(itoa(len(items))), nil
}

func evalToJSONString(e *evaluator, f call) (any, error) {
	if f.arg.Kind != document.Array && f.arg.Kind != document.Object {
		return nil, e.refuse("to-json-string", f.at)
	}
	out, state, err := e.appendJSON(nil, f.arg)
	if err != nil || state == unknownJSON {
		return Unknown, err
	}
	return string(out), nil
}

// What appendJSON found.
type jsonState uint8

const (
	writtenJSON jsonState = iota
	removedJSON           // AWS::NoValue
	unknownJSON           // a part is not known yet
)

// appendJSON evaluates a value and appends it as JSON whose members have the order of the template.
func (e *evaluator) appendJSON(b []byte, v *document.Value) ([]byte, jsonState, error) {
	if _, isCall := callOf(v, e.conditional()); isCall || v.Kind != document.Object && v.Kind != document.Array {
		value, err := e.eval(v)
		if err != nil || HasUnknown(value) {
			return b, unknownJSON, err
		}
		if _, none := value.(noValue); none {
			return b, removedJSON, nil
		}
		if err := e.allow(len(b)+jsonLength(value), v); err != nil {
			return b, unknownJSON, err
		}
		return appendValue(b, value), writtenJSON, nil
	}
	open, end := byte('['), byte(']')
	if v.Kind == document.Object {
		open, end = '{', '}'
	}
	b = append(b, open)
	first := len(b)
	// add appends an item or a member, or nothing for AWS::NoValue.
	add := func(key string, item *document.Value) (jsonState, error) {
		before := len(b)
		if before > first {
			b = append(b, ',')
		}
		if v.Kind == document.Object {
			b = append(appendText(b, key), ':')
		}
		out, state, err := e.appendJSON(b, item)
		if b = out; state == removedJSON {
			b = b[:before]
		}
		return state, err
	}
	for _, item := range v.Items {
		if state, err := add("", item); err != nil || state == unknownJSON {
			return b, unknownJSON, err
		}
	}
	for _, m := range v.Distinct() {
		if state, err := add(m.Key, m.Value); err != nil || state == unknownJSON {
			return b, unknownJSON, err
		}
	}
	return append(b, end), writtenJSON, nil
}

func appendText(b []byte, s string) []byte {
	return (&document.Value{Kind: document.String, Text: s}).AppendJSON(b)
}

// appendValue appends an evaluated value as JSON with sorted keys.
func appendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, item)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, key := range sortedKeys(v) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(append(appendText(b, key), ':'), v[key])
		}
		return append(b, '}')
	}
	return scalar(value, diag.Range{}).AppendJSON(b)
}

// jsonLength is at most how many bytes an evaluated value has as JSON.
func jsonLength(value any) int {
	switch v := value.(type) {
	case string:
		return textLength(v)
	case []any:
		n := 2
		for _, item := range v {
			n += 1 + jsonLength(item)
		}
		return n
	case map[string]any:
		n := 2
		for key, item := range v {
			n += 2 + textLength(key) + jsonLength(item)
		}
		return n
	case json.Number:
		return len(v)
	}
	return len("false")
}

// textLength is at most how many bytes a text has as JSON.
func textLength(s string) int {
	n := len(s) + 2
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			n++
		case c < ' ':
			n += len(`\u0000`) - 1
		case c >= 0x80: // which need not be UTF-8
			n += len("\uFFFD") - 1
		}
	}
	return n
}
