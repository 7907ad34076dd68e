package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// handle is the resource of hostile templates that needs nothing.
var handle = map[string]any{"Type": "AWS::CloudFormation::WaitConditionHandle"}

// section is a template with one resource, and a section of n members.
func section(name string, n int, member any) string {
	members := map[string]any{}
	for i := range n {
		members[fmt.Sprintf("N%d", i)] = member
	}
	if name == "Resources" {
		return encoded(map[string]any{name: members})
	}
	return encoded(map[string]any{name: members, "Resources": map[string]any{"A": handle}})
}

// value is a template with a parameter that has a value.
func value(v any) string {
	return encoded(map[string]any{"Resources": map[string]any{"B": map[string]any{"Type": "AWS::SSM::Parameter", "Properties": map[string]any{"Type": "String", "Value": v}}}})
}

// loops is a body in five loops of 16 rounds, which make a million of it.
func loops(body map[string]any) map[string]any {
	rounds := strings.Split("0123456789abcdef", "")
	for _, name := range strings.Split("EDCBA", "") {
		body = map[string]any{"Fn::ForEach::" + name + name: []any{name, rounds, body}}
	}
	return body
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is built above
	}
	return string(text)
}

// hostileTemplates are what nobody means, and how the service refuses it.
func hostileTemplates() map[string]struct{ body, want string } {
	type entry = struct{ body, want string }
	depends := func(on ...string) string { // A depends on the first, B on the second, …
		resources := map[string]any{}
		for i, name := range on {
			resources[string(rune('A'+i))] = map[string]any{"Type": handle["Type"], "DependsOn": name}
		}
		return encoded(map[string]any{"Resources": resources})
	}
	all := map[string]entry{
		"alias bomb": {
			"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b]\nResources: {A: {Type: 'AWS::CloudFormation::WaitConditionHandle', Metadata: [*c,*c,*c]}}",
			"Template error: YAML aliases are not allowed in CloudFormation templates",
		},
		"cycle":        {depends("B", "C", "A"), "Circular dependency between resources: [A, B, C]"},
		"cycle of one": {depends("A"), "Circular dependency between resources: [A]"},
		"cycle of references": {
			`{"Resources": {"A": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Ref": "B"}}}, "B": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::Sub": "${A}"}}}}}`,
			"Circular dependency between resources: [A, B]",
		},
		"cycle of conditions": {
			`{"Conditions": {"A": {"Fn::Not": [{"Condition": "B"}]}, "B": {"Fn::Not": [{"Condition": "A"}]}}, "Resources": {"R": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`,
			"Template error: Found circular condition dependency: A -> B -> A",
		},
		"51201 bytes":           {strings.Repeat(" ", 51201), "at 'templateBody' failed to satisfy constraint: Member must have length less than or equal to 51200"},
		"501 resources":         {section("Resources", 501, handle), "Template format error: Number of resources, 501, is greater than maximum allowed, 500"},
		"201 parameters":        {section("Parameters", 201, map[string]any{"Type": "String", "Default": "x"}), "Template format error: Number of parameters, 201, is greater than maximum allowed, 200"},
		"201 outputs":           {section("Outputs", 201, map[string]any{"Value": "x"}), "Template format error: Number of outputs, 201, is greater than maximum allowed, 200"},
		"201 mappings":          {section("Mappings", 201, map[string]any{"a": map[string]any{"b": "c"}}), "Template format error: Number of mappings, 201, is greater than maximum allowed, 200"},
		"Ref __proto__":         {value(map[string]any{"Ref": "__proto__"}), "Template format error: Unresolved resource dependencies [__proto__] in the Resources block of the template"},
		"Ref constructor":       {value(map[string]any{"Ref": "constructor"}), "Template format error: Unresolved resource dependencies [constructor] in the Resources block of the template"},
		"Sub valueOf":           {value(map[string]any{"Fn::Sub": "${valueOf}"}), "Template format error: Unresolved resource dependencies [valueOf] in the Resources block of the template"},
		"GetAtt toString":       {value(map[string]any{"Fn::GetAtt": []string{"toString", "hasOwnProperty"}}), "Template error: instance of Fn::GetAtt references undefined resource toString"},
		"deep JSON":             {`{"Resources": {"A": {"Metadata": ` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000) + "}}}", "Template format error: JSON not well-formed. (line 1, column "},
		"deep YAML":             {"Resources: {A: {Metadata: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}}", "Template format error: YAML not well-formed. (line 1, column "},
		"deep functions":        {`{"Resources": {"A": {"Metadata": ` + strings.Repeat(`{"Fn::Join": ["", [`, 1000) + `"x"` + strings.Repeat("]]}", 1000) + "}}}", "Template format error: JSON not well-formed. (line 1, column "},
		"default of 4097 bytes": {encoded(map[string]any{"Parameters": map[string]any{"P": map[string]any{"Type": "String", "Default": strings.Repeat("x", 4097)}}, "Resources": map[string]any{"A": handle}}), "Parameter 'P' default value '"},
		"a list":                {"[]", "Template format error: unsupported structure."},
	}
	names := map[string]string{
		"Ll": "é", "Lo": "漢", "So": "😀", "Cf": "A\u200dB", "right to left": "A\u202eB", "Mn": "e\u0301", "Nd": "A٣", "Zs": "A B", "Zl": "A\u2028B", "Pd": "A-B", "Pc": "A_B", "Po": "A.B",
		"Co": "\ue000", "byte order mark": "\ufeffA", "full width": "Ａ", "Cn": "\u0378", "none": "",
	}
	for class := range unicode.Categories { // each class of Unicode
		if r, ok := firstOf(class); ok && names[class] == "" {
			names[class] = "A" + string(r) + "B"
		}
	}
	for class, name := range names {
		shown := strings.ReplaceAll(name, "\x00", "\ufffd") // XML has no NUL
		all["resource name "+class] = entry{encoded(map[string]any{"Resources": map[string]any{name: handle}}), "Template format error: Resource name " + shown + " is non alphanumeric."}
		all["parameter name "+class] = entry{encoded(map[string]any{"Parameters": map[string]any{name: map[string]any{"Type": "String"}}, "Resources": map[string]any{"A": handle}}), "Template format error: Parameter name " + shown + " is non alphanumeric."}
		all["output name "+class] = entry{encoded(map[string]any{"Outputs": map[string]any{name: map[string]any{"Value": "x"}}, "Resources": map[string]any{"A": handle}}), "Template format error: Output name " + shown + " is non alphanumeric."}
	}
	return all
}

// firstOf is the first character of a class of Unicode that no name may have. Surrogates are none
// by themselves.
func firstOf(class string) (rune, bool) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.Is(unicode.Categories[class], r) && utf8.ValidRune(r) && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)) {
			return r, true
		}
	}
	return 0, false
}

// refusedWith compares a refusal of the service.
func refusedWith(t *testing.T, err error, want string) {
	t.Helper()
	var refusal smithy.APIError
	switch {
	case !errors.As(err, &refusal):
		t.Errorf("got %v, want %s", err, want)
	case refusal.ErrorCode() != "ValidationError" || !strings.Contains(refusal.ErrorMessage(), want):
		t.Errorf("got %.300s, want %s", refusal, want)
	}
}

// TestHostileTemplates sends templates through the API that are refused at the call, within
// bounds of memory, and leave no row and no file.
func TestHostileTemplates(t *testing.T) {
	x := newTarget(t, "")
	c := newClients(t, x.url)
	before := x.state()
	peak := watchHeap(t)
	for name, test := range hostileTemplates() {
		t.Run(name, func(t *testing.T) {
			_, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("hostile"), TemplateBody: &test.body, Capabilities: []types.Capability{types.CapabilityCapabilityAutoExpand}})
			refusedWith(t, err, test.want)
		})
	}
	declared := aws.String(`{"Parameters": {"P": {"Type": "String"}}, "Resources": {"A": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`)
	for name, text := range map[string]string{"4097 bytes": strings.Repeat("x", 4097), "4098 bytes of 2049 characters": strings.Repeat("é", 2049)} {
		t.Run("parameter of "+name, func(t *testing.T) {
			_, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("hostile"), TemplateBody: declared, Parameters: []types.Parameter{{ParameterKey: aws.String("P"), ParameterValue: &text}}})
			refusedWith(t, err, "Parameter 'P' value length is greater than 4096.")
		})
	}
	if most := peak(); most > 256<<20 {
		t.Errorf("the templates took %d MB of memory", most>>20)
	}
	x.unchanged(before)
}

// TestHostileTransforms creates stacks whose templates a transform makes a million things of.
// Such a stack fails, as it does for every transform that fails.
func TestHostileTransforms(t *testing.T) {
	c := newClients(t, newTarget(t, "").url)
	peak := watchHeap(t)
	for name, body := range map[string]string{
		"resources":  encoded(map[string]any{"Transform": "AWS::LanguageExtensions", "Resources": loops(map[string]any{"R${A}${B}${C}${D}${E}": handle})}),
		"properties": encoded(map[string]any{"Transform": "AWS::LanguageExtensions", "Resources": map[string]any{"A": map[string]any{"Type": handle["Type"], "Properties": loops(map[string]any{"P${A}${B}${C}${D}${E}": "x"})}}}),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body, Capabilities: []types.Capability{types.CapabilityCapabilityAutoExpand}}); err != nil {
				t.Fatal(err)
			}
			eventually(t, time.Minute, "the stack fails", func() bool {
				out, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
				if err != nil {
					t.Fatal(err)
				}
				return out.Stacks[0].StackStatus == types.StackStatusRollbackComplete
			})
			events, err := c.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &name})
			if err != nil {
				t.Fatal(err)
			}
			reasons := ""
			for _, e := range events.StackEvents {
				reasons += aws.ToString(e.ResourceStatusReason) + "\n"
			}
			if want := "the values of the template exceed"; !strings.Contains(reasons, want) {
				t.Errorf("the reasons are %s\nwant %s", reasons, want)
			}
		})
	}
	if most := peak(); most > 256<<20 {
		t.Errorf("the templates took %d MB of memory", most>>20)
	}
}

// TestTemplateURLs names templates by URL: of 100 MB in the server's own S3, and elsewhere,
// where nobody is asked.
func TestTemplateURLs(t *testing.T) {
	x := newTarget(t, "")
	c := newClients(t, x.url)
	if _, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("hostile"), CreateBucketConfiguration: here}); err != nil {
		t.Fatal(err)
	}
	put := func(key string, size int64) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, x.url+"/hostile/"+key, io.LimitReader(zeros{}, size))
		if err != nil {
			t.Fatal(err)
		}
		request.ContentLength = size
		request.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/20260101/%s/s3/aws4_request, SignedHeaders=host, Signature=0", account, region))
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		answer, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(answer.Body)
			t.Fatalf("%d %s", answer.StatusCode, bytes.TrimSpace(text))
		}
	}
	put("large", 1_000_001)
	put("huge", 100<<20)
	elsewhere, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	asked := make(chan struct{}, 1)
	go func() {
		if conn, err := elsewhere.Accept(); err == nil {
			conn.Close()
			asked <- struct{}{}
		}
	}()
	before := x.state()
	peak := watchHeap(t)
	const size, unsupported = "Template may not exceed 1000000 bytes in size.", "TemplateURL must be a supported URL."
	for url, want := range map[string]string{
		x.url + "/hostile/large":                                        size,
		"https://hostile.s3." + region + ".amazonaws.com/huge":          size,
		"https://s3." + region + ".amazonaws.com/hostile/huge":          size,
		"https://hostile.s3." + region + ".amazonaws.com/nothing":       "TemplateURL must reference a valid S3 object to which you have access.",
		"https://nobody-has-it.s3.amazonaws.com/huge":                   "TemplateURL must reference a valid S3 object to which you have access.",
		"http://" + elsewhere.Addr().String() + "/template":             unsupported,
		"https://hostile.s3.amazonaws.com.evil.example/huge":            unsupported,
		"https://example.com/template.json":                             unsupported,
		"http://169.254.169.254/latest/meta-data":                       "TemplateURL must reference a valid S3 object to which you have access.", // a bucket of this server: an address is no name of AWS
		"file:///etc/passwd":                                            unsupported,
		"https://hostile.s3.amazonaws.com/" + strings.Repeat("x", 5121): "at 'templateURL' failed to satisfy constraint: Member must have length less than or equal to 5120",
	} {
		t.Run(url[:min(len(url), 60)], func(t *testing.T) {
			_, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("hostile"), TemplateURL: &url})
			refusedWith(t, err, want)
		})
	}
	_, port, err := net.SplitHostPort(elsewhere.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{ // other spellings of the same place
		"localhost", "LOCALHOST", "127.1", "127.0.0.1.", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "user@127.0.0.1",
		"s3.amazonaws.com@127.0.0.1", "s3.amazonaws.com#@127.0.0.1", "127.0.0.1%2f.s3.amazonaws.com", "127.0.0.1\\.s3.amazonaws.com", "①②⑦.⓪.⓪.①", "hostile.s3.amazonaws.com.127.0.0.1.nip.io",
	} {
		for _, scheme := range []string{"http", "https", "HTTP", "gopher"} {
			if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("hostile"), TemplateURL: aws.String(scheme + "://" + host + ":" + port + "/template")}); err == nil {
				t.Errorf("a stack from %s://%s", scheme, host)
			}
		}
	}
	select {
	case <-asked:
		t.Error("the server asked another one")
	default:
	}
	if most := peak(); most > 64<<20 {
		t.Errorf("the templates took %d MB of memory", most>>20)
	}
	x.unchanged(before)
}
