package smithy

import (
	"fmt"
	"strings"
	"testing"
)

// TestValues gives defaults, which may be any value, and traits to shapes of all types.
func TestValues(t *testing.T) {
	const shapes = `$version: "2"
namespace a
@trait
structure t {
    blob: Blob
    @length(min: 2, max: 3) text: String
    @length(min: 2, max: 3) bytes: Blob
    @length(min: 2, max: 3) list: Numbers
    @length(min: 2, max: 3) map: Map
    byte: Byte
    short: Short
    integer: Integer
    long: Long
    big: BigInteger
    decimal: BigDecimal
    @range(min: -1.5, max: 2) float: Float
    double: Double
    boolean: Boolean
    timestamp: Timestamp
    @timestampFormat("epoch-seconds") epoch: Timestamp
    @timestampFormat("http-date") http: Timestamp
    @timestampFormat("date-time") date: Timestamp
    @pattern("^a+$") pattern: String
    enum: Enum
    intEnum: IntEnum
    document: Document
    union: Union
    sparse: Sparse
    unique: Unique
    more: t2
    @idRef reference: String
    @idRef(failWhenMissing: true, selector: "structure") structure: String
    @idRef(failWhenMissing: true, errorMessage: "own words") own: String
}
structure t2 { @required must: String }
list Numbers { member: Integer }
map Map { @length(max: 4) key: String, value: String }
enum Enum {
    A = "a"
    B = "b"
}
intEnum IntEnum {
    ONE = 1
}
union Union { x: String, y: Integer }
@sparse list Sparse { member: String }
@uniqueItems list Unique { member: Document }
`
	tests := []struct{ value, want string }{ // want "" for none
		{`text: "ab"`, ""},
		{`text: "😀"`, ""}, // as UTF-16 counts
		{`text: "a"`, "`a#t`.text: String value provided for `a#t$text` must be >= 2 characters, but the provided value is only 1 characters."},
		{`text: "abcd"`, "must be <= 3 characters, but the provided value is 4 characters."},
		{`text: 1`, "`a#t`.text: Expected string value for string shape, `smithy.api#String`; found number value, `1`"},
		{`bytes: "a"`, "must have at least 2 bytes, but the provided value only has 1 bytes"},
		{`bytes: "abcd"`, "must have no more than 3 bytes"},
		{`list: [1]`, "must have at least 2 elements, but the provided value only has 1 elements"},
		{`list: [1, 2, 3, 4]`, "must have no more than 3 elements"},
		{`list: [1, "x"]`, "`a#t`.list.1: Expected number value for integer shape, `smithy.api#Integer`; found string value, `x`"},
		{`list: [1, null]`, "`a#t`.list.1: Non-sparse list shape `a#Numbers` cannot contain null values"},
		{`list: {}`, "Expected array value for list shape, `a#Numbers`; found object value"},
		{`map: {a: "b"}`, "must have at least 2 entries, but the provided value only has 1 entries"},
		{`map: {a: "b", abcde: "c"}`, "`a#t`.map.abcde (map-key): String value provided for `a#Map$key` must be <= 4 characters"},
		{`map: {a: "b", c: null}`, "Non-sparse map shape `a#Map` cannot contain null values"},
		{`byte: 127`, ""},
		{`byte: 128`, "`a#t`.byte: byte value must be < 127, but found 128"},
		{`byte: -129`, "byte value must be > -128, but found -129"},
		{`short: 32768`, "short value must be < 32767"},
		{`integer: 2147483648`, "integer value must be < 2147483647"},
		{`long: 9223372036854775808`, "long value must be < 9223372036854775807"},
		{`long: 1e400000000`, "long shapes must not have floating point values"},
		{`big: 92233720368547758080`, ""},
		{`integer: 1.5`, "integer shapes must not have floating point values, but found `1.5` provided for `smithy.api#Integer`"},
		{`decimal: "1"`, "Expected number value for bigDecimal shape"},
		{`float: 3`, "Value provided for `a#t$float` must be less than or equal to 2, but found 3"},
		{`float: -2`, "must be greater than or equal to -1.5, but found -2"},
		{`float: 1e999999999`, "must be less than or equal to 2"},
		{`float: "NaN"`, `must be a number because the ` + "`smithy.api#range`" + ` trait is applied, but found "NaN"`},
		{`float: "Infinity"`, `must be less than or equal to 2, but found "Infinity"`},
		{`float: "-Infinity"`, `must be greater than or equal to -1.5, but found "-Infinity"`},
		{`double: "NaN"`, ""},
		{`double: "x"`, `must either be numeric or one of the following strings: ["NaN", "Infinity", "-Infinity"], but was "x"`},
		{`double: true`, "Expected number value for double shape"},
		{`boolean: 1`, "Expected boolean value for boolean shape"},
		{`timestamp: 1.5`, ""},
		{`timestamp: "1985-04-12T23:20:50.52Z"`, ""},
		{`timestamp: "1985-04-12T23:20:50+01:00"`, "Expected an RFC 3339 formatted timestamp"},
		{`timestamp: true`, "Invalid boolean value provided for timestamp"},
		{`epoch: "x"`, "Invalid string value provided for a timestamp with a `epoch-seconds` format."},
		{`http: "Tue, 29 Apr 2014 18:30:38 GMT"`, ""},
		{`http: "x"`, "Invalid value provided for http-date formatted timestamp."},
		{`http: 1`, "Found: number"},
		{`date: 1`, "Expected a string value for a date-time timestamp"},
		{`date: "x"`, "Invalid string value, `x`, provided for timestamp"},
		{`pattern: "aa"`, ""},
		{`pattern: "b"`, "must match regular expression: ^a+$"},
		{`enum: "b"`, ""},
		{`enum: "c"`, "String value provided for `a#Enum` must be one of the following values: `a`, `b`"},
		{`intEnum: 2`, "Integer value provided for `a#IntEnum` must be one of the following values: `1`, but found 2"},
		{`document: [{a: null}]`, ""},
		{`union: {x: "a"}`, ""},
		{`union: {x: "a", y: 1}`, "union values can contain a value for only a single member"},
		{`union: {z: 1}`, "Member `z` does not exist in `a#Union`"},
		{`union: 1`, "Expected object value for union shape, `a#Union`; found number value, `1`"},
		{`sparse: [null]`, "Expected string value for string shape"}, // null passes in defaults only,
		{`unique: [1, 2]`, ""},
		{`unique: [{a: 1, b: 2}, {b: 2, a: 1}]`, "must have unique items, but the following items had multiple entries: [`{\"a\":1,\"b\":2}`]"},
		{`more: {}`, "`a#t`.more: Missing required structure member `must` for `a#t2`"},
		{`more: {must: null}`, "Required structure member `must` for `a#t2` cannot be null"},
		{`more: {must: "", b: 1}`, "Member `b` does not exist in `a#t2`"},
		{`nothing: 1`, "Member `nothing` does not exist in `a#t`"},
		{`reference: "a#Nothing"`, ""},
		{`reference: "?"`, "Invalid shape ID: ?"},
		{`structure: "a#Nothing"`, "Shape ID `a#Nothing` was not found in the model"},
		{`structure: "a#Map"`, "Shape ID `a#Map` does not match selector `structure`"},
		{`structure: "a#t"`, ""},
		{`own: "a#Nothing"`, "own words"},
	}
	for _, test := range tests {
		m, events := Load(idl(shapes+fmt.Sprintf("@t(%s)\nstring X\n", test.value)), Config{})
		if events.hasErrors() {
			t.Errorf("%s: %v", test.value, events)
			continue
		}
		found := ""
		for _, e := range Validate(m, events) {
			if e.Shape == "a#X" && strings.HasPrefix(e.ID, "TraitValue") {
				found += e.Message + "\n"
			}
		}
		if test.want == "" && found != "" || !strings.Contains(found, test.want) {
			t.Errorf("%s: %q, want %q", test.value, found, test.want)
		}
	}
}

// TestSuppressions checks what changes the severity of events.
func TestSuppressions(t *testing.T) {
	const pattern = "string A\n@suppress([\"PatternTrait\"])\n@pattern(\"x\")\nstring B\n@pattern(\"x\")\nstring C\n"
	const suppression = `metadata suppressions = [{id: "PatternTrait", namespace: "a", reason: "so"}]` + "\n"
	tests := []struct{ name, metadata, want string }{
		{"none", "", "[WARNING] a#C: A pattern trait is applied without"},
		{"the trait", "", "[SUPPRESSED] a#B: A pattern"},
		{"metadata", suppression, "[SUPPRESSED] a#C: A pattern"},
		{"every namespace", strings.Replace(suppression, `"a"`, `"*"`, 1), "[SUPPRESSED] a#C: A pattern"},
		{"another namespace", strings.Replace(suppression, `"a"`, `"b"`, 1), "[WARNING] a#C: A pattern"},
		{"another id", strings.Replace(suppression, "PatternTrait", "PatternTr", 1), "[WARNING] a#C: A pattern"},
		{"an override", `metadata severityOverrides = [{id: "PatternTrait", namespace: "*", severity: "DANGER"}]` + "\n", "[DANGER] a#C: A pattern"},
		{"override of another severity", `metadata severityOverrides = [{id: "P", namespace: "*", severity: "ERROR"}]` + "\n", "Expected one of `DANGER`, `WARNING`; got `ERROR`."},
		{"no array", "metadata suppressions = {}\n", "Expected array, but found object."},
		{"no object", "metadata suppressions = [1]\n", "Expected object, but found number."},
		{"no id", `metadata suppressions = [{namespace: "a"}]` + "\n", "Missing expected member `id`."},
		{"a namespace of another kind", `metadata suppressions = [{id: "a", namespace: 1}]` + "\n", "Expected `namespace` member to be a string, but found number."},
		{"validators of another kind", "metadata validators = {}\n", "validators must be an array. Found object."},
		{"validator of another kind", "metadata validators = [1]\n", "Each element of `validators` must be an object. Found number."},
		{"validator without name", "metadata validators = [{}]\n", "Missing expected member `name`."},
		{"unknown validator", `metadata validators = [{name: "X"}]` + "\n", "[WARNING] -: Unable to locate a validator named `X` | UnknownValidator_X"},
		{"each", `metadata validators = [{name: "EmitEachSelector", id: "Own", severity: "DANGER", configuration: {selector: "[trait|pattern]"}}]` + "\n", "[DANGER] a#B: Selector capture matched selector"},
		{"each with a template", `metadata validators = [{name: "EmitEachSelector", id: "Own", configuration: {selector: "[trait|pattern]", messageTemplate: "@@ @{id|name} is @{trait|pattern}"}}]` + "\n",
			"a#C: @ C is \"x\" | Own"},
		{"each with a bad template", `metadata validators = [{name: "EmitEachSelector", id: "Own", configuration: {selector: "*", messageTemplate: "@{id"}}]` + "\n", "Error creating `EmitEachSelector` validator: "},
		{"a bad selector", `metadata validators = [{name: "EmitEachSelector", id: "Own", configuration: {selector: "?"}}]` + "\n", "Error creating `EmitEachSelector` validator: "},
		{"no selector", `metadata validators = [{name: "EmitNoneSelector", id: "Own"}]` + "\n", "Error creating `EmitNoneSelector` validator: "},
		{"none", `metadata validators = [{name: "EmitNoneSelector", id: "Own", message: "none here", configuration: {selector: "service"}}]` + "\n", "-: none here | Own"},
		{"unreferenced", `metadata validators = [{name: "UnreferencedShape", severity: "WARNING", configuration: {rootShapeSelector: "[trait|pattern]"}}]` + "\n", "a#A: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantEvents(t, idl("$version: \"2\"\n"+test.metadata+"namespace a\n"+pattern), Config{}, test.want)
		})
	}
}

// TestProblems checks what events become for the commands.
func TestProblems(t *testing.T) {
	list := Events{
		{ID: "A", Severity: ErrorSeverity, Shape: "a#B", Message: "m"}, {ID: "B", Severity: DangerSeverity, Message: "m"},
		{ID: "C", Severity: WarningSeverity, Message: "m"}, {ID: "D", Severity: NoteSeverity, Message: "m"}, {ID: "E", Severity: SuppressedSeverity, Message: "m"},
	}.Problems()
	got := ""
	for _, p := range list {
		got += fmt.Sprintln(p.Severity, p.ID, p.Message)
	}
	if want := "error smithy/A a#B: m\nerror smithy/B m\nwarning smithy/C m\ninfo smithy/D m\n"; got != want {
		t.Errorf("%s", got)
	}
}
