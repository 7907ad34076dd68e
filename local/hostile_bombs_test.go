package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// object is a JSON object.
type object = map[string]any

// times is a value n times.
func times(n int, v any) []any { return slices.Repeat([]any{v}, n) }

// nested is a value in a function n times.
func nested(n int, function func(any) any, v any) any {
	for range n {
		v = function(v)
	}
	return v
}

func twice(v any) any { return object{"Fn::Sub": []any{"${A}${A}", object{"A": v}}} }

// holding is a resource that keeps a value.
func holding(v any) object {
	return object{"Type": "AWS::SSM::Parameter", "Properties": object{"Type": "String", "Value": v}}
}

// numberedMembers are n members of a section.
func numberedMembers(n int, member func(i int) any) object {
	all := object{}
	for i := range n {
		all[fmt.Sprintf("N%d", i)] = member(i)
	}
	return all
}

// looped is a template that the language extensions expand.
func looped(items any, key string, v any) object {
	return object{"Transform": "AWS::LanguageExtensions", "Resources": object{"Fn::ForEach::L": []any{"v", items, object{key: v}}}}
}

// A templateBomb is a template of a few kilobytes, at most a megabyte, that is meant to exhaust a server. If want is "",
// the stack is created.
type templateBomb struct {
	body any // a text, or what it is as JSON
	want string
}

// templateBombs are what expands, by what expands it, beside hostileTemplates.
func templateBombs(include func(key, text string) string) map[string]templateBomb {
	const exceeded = "the values of the template exceed 33554432 bytes"
	words := strings.TrimSuffix(strings.Repeat("a,", 2000), ",")
	list := object{"L": object{"Type": "CommaDelimitedList", "Default": words}}
	hundreds := strings.Fields(strings.Repeat("x ", 300))
	for i := range hundreds {
		hundreds[i] = fmt.Sprintf("i%d", i)
	}
	one := object{"R": handle}
	self := object{"Fn::Transform": object{"Name": "AWS::Include", "Parameters": object{"Location": include("self", "")}}}
	include("self", encoded(self))
	text := strings.Repeat("x", 100_000)
	every := func(n int) []string { // needs all others
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("N%d", i)
		}
		return names
	}
	return map[string]templateBomb{
		// What repeats texts and lists.
		"Fn::Sub":       {object{"Resources": object{"R": holding(nested(40, twice, "x"))}}, exceeded},
		"Fn::Join":      {object{"Parameters": object{"S": object{"Type": "String", "Default": strings.Repeat("x", 4096)}}, "Resources": object{"R": holding(object{"Fn::Join": []any{"", times(20_000, object{"Ref": "S"})}})}}, exceeded},
		"Fn::Split":     {object{"Resources": object{"R": holding(object{"Fn::Join": []any{"", object{"Fn::Split": []any{"x", nested(22, twice, "x")}}}})}}, exceeded},
		"Fn::Base64":    {object{"Resources": object{"R": holding(nested(80, func(v any) any { return object{"Fn::Base64": v} }, "x"))}}, exceeded},
		"Fn::FindInMap": {object{"Mappings": object{"M": object{"a": object{"b": text}}}, "Resources": object{"R": holding(object{"Fn::Join": []any{"", times(1000, object{"Fn::FindInMap": []string{"M", "a", "b"}})}})}}, exceeded},
		"Fn::Cidr":      {object{"Resources": object{"R": holding(object{"Fn::Join": []any{"", object{"Fn::Cidr": []any{"10.0.0.0/8", 999999999, 1}}}})}}, "Fn::Cidr cannot make 999999999 blocks"},
		"Ref of lists":  {object{"Parameters": list, "Resources": object{"R": holding(object{"Fn::Join": []any{"", times(5000, object{"Fn::Join": []any{"", object{"Ref": "L"}}})}})}}, exceeded},
		"outputs":       {object{"Resources": one, "Outputs": numberedMembers(200, func(int) any { return object{"Value": nested(20, twice, "x")} })}, exceeded},
		"conditions":    {object{"Resources": one, "Conditions": numberedMembers(200, func(int) any { return object{"Fn::Equals": []any{nested(20, twice, "x"), "y"}} })}, exceeded},
		"conditions of ten": {object{"Resources": one, "Conditions": numberedMembers(150, func(i int) any {
			if i == 0 {
				return object{"Fn::Equals": []string{"a", "a"}}
			}
			return object{"Fn::And": times(10, object{"Condition": fmt.Sprintf("N%d", i-1)})}
		})}, ""},
		"rules": {object{"Resources": one, "Parameters": numberedMembers(200, func(int) any { return object{"Type": "List<String>", "Default": words} }), "Rules": numberedMembers(100, func(int) any {
			all := object{"Fn::RefAll": "List<String>"}
			return object{"Assertions": []any{object{"Assert": object{"Fn::EachMemberIn": []any{all, all}}}}}
		})}, exceeded},
		"tags and metadata":  {object{"Resources": object{"R": object{"Type": handle["Type"], "Metadata": nested(20, twice, "x")}}}, ""},
		"dynamic references": {object{"Resources": object{"R": holding(strings.Repeat("{{resolve:ssm:none}}", 2000))}}, "Number of dynamic references, 2000, is greater than"},
		"Fn::GetAtt of all":  {object{"Resources": object{"A": holding("x"), "R": holding(object{"Fn::Join": []any{"", times(20_000, object{"Fn::GetAtt": []string{"A", "Value"}})}})}}, "a maximum parameter value of 4096 characters"},

		// What is deep or wide.
		"Fn::If":                    {object{"Conditions": object{"C": object{"Fn::Equals": []string{"a", "a"}}}, "Resources": object{"R": holding(nested(240, func(v any) any { return object{"Fn::If": []any{"C", v, "y"}} }, "x"))}}, "JSON not well-formed"},
		"Fn::Select":                {object{"Resources": object{"R": holding(nested(150, func(v any) any { return object{"Fn::Select": []any{"0", []any{v}}} }, "x"))}}, "JSON not well-formed"},
		"everybody needs everybody": {object{"Resources": numberedMembers(100, func(i int) any { return object{"Type": handle["Type"], "DependsOn": every(i)} })}, ""},
		"a chain of 200":            {object{"Resources": numberedMembers(200, func(i int) any { return object{"Type": handle["Type"], "DependsOn": every(i)[max(0, i-1):]} })}, ""},
		"long keys":                 {object{"Resources": object{"R": object{"Type": handle["Type"], "Metadata": object{strings.Repeat("k", 900_000): 1}}}}, ""},
		"a long name":               {object{"Resources": object{strings.Repeat("R", 30_000): handle}}, "Template format error: Resource name "},
		"many documents":            {strings.Repeat("---\n", 100_000) + "Resources: {}", "YAML not well-formed"},
		"duplicate keys":            {`{"Resources": {"R": {"Type": "AWS::CloudFormation::WaitConditionHandle"}, ` + strings.Repeat(`"R": {}, `, 80_000) + `"R": {}}}`, "Every Resources object must contain a Type member"},
		"merge keys":                {"Resources:\n  A: &a {Type: 'AWS::CloudFormation::WaitConditionHandle'}\n  B:\n    <<: *a\n", "YAML aliases are not allowed"},
		"short forms":               {"Resources: {R: {Type: 'AWS::SSM::Parameter', Properties: {Type: String, Value: " + strings.Repeat("!Base64 ", 3000) + "x}}}", "YAML not well-formed"},
		"tags of YAML":              {"Resources: {R: {Type: 'AWS::SSM::Parameter', Properties: {Type: String, Value: !!python/object/apply:os.system [id]}}}", "YAML not well-formed"},
		"a long number":             {`{"Resources": {"R": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": 1` + strings.Repeat("0", 40_000) + `}}}}`, "a maximum parameter value of 4096 characters"},
		"a large exponent":          {`{"Resources": {"R": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": 1e999999999}}}}`, ""},
		"patterns": {object{"Resources": one, "Parameters": numberedMembers(150, func(int) any {
			return object{"Type": "String", "AllowedPattern": "^(a+)+$", "Default": strings.Repeat("a", 60) + "!"}
		})}, "must match pattern"},
		"numbers of parameters": {object{"Resources": one, "Parameters": object{"P": object{"Type": "Number", "Default": "1" + strings.Repeat("0", 4000), "MaxValue": "1e999999999"}}}, "Every MaxValue member must be a number"},

		// What a transform makes.
		"loops in loops":       {object{"Transform": "AWS::LanguageExtensions", "Resources": loops(object{"R${A}${B}${C}${D}${E}": handle})}, exceeded},
		"a loop of texts":      {looped(hundreds, "R${v}", holding(nested(20, twice, "${v}"))), exceeded},
		"a loop of long keys":  {looped(hundreds, "R"+strings.Repeat("${v}", 100_000), handle), "Template may not exceed 1000000 bytes in size"},
		"a loop of the same":   {looped(times(300, "x"), "R", handle), "layout is incorrect"},
		"Fn::ToJsonString":     {object{"Transform": "AWS::LanguageExtensions", "Resources": object{"R": holding(nested(40, func(v any) any { return object{"Fn::ToJsonString": object{"a": v}} }, `"`))}}, exceeded},
		"Fn::Length":           {object{"Transform": "AWS::LanguageExtensions", "Resources": object{"R": holding(object{"Fn::Length": object{"Fn::Split": []any{"x", nested(26, twice, "x")}}})}}, exceeded},
		"policies":             {object{"Transform": "AWS::LanguageExtensions", "Resources": object{"R": object{"Type": handle["Type"], "DeletionPolicy": nested(30, twice, "x")}}}, exceeded},
		"an include of itself": {object{"Resources": object{"R": object{"Type": handle["Type"], "Metadata": self}}}, "transforms nest deeper than 10 levels"},
		"includes": {object{"Resources": numberedMembers(400, func(int) any {
			return object{"Type": handle["Type"], "Metadata": object{"Fn::Transform": object{"Name": "AWS::Include", "Parameters": object{"Location": include("large", encoded(object{"x": strings.Repeat("y", 900_000)}))}}}}
		})}, exceeded},
		"an include that is deep":  {object{"Resources": object{"R": object{"Type": handle["Type"], "Metadata": object{"Fn::Transform": object{"Name": "AWS::Include", "Parameters": object{"Location": include("deep", strings.Repeat(`{"a":`, 100_000)+"1"+strings.Repeat("}", 100_000))}}}}}}, "content should be valid Yaml/JSON"},
		"a nested stack in itself": {nil, "was not successfully created"},
	}
}

// bombed is a server with the bucket "bombs", and a stack that can be updated.
type bombed struct {
	clients

	t   *testing.T
	url string
}

func newBombed(t *testing.T, x *target) *bombed {
	t.Helper()
	b := &bombed{newClients(t, x.url), t, x.url}
	if _, err := b.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("bombs"), CreateBucketConfiguration: here}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("held"), TemplateBody: aws.String(encoded(object{"Resources": object{"Kept": handle}}))}); err != nil {
		t.Fatal(err)
	}
	b.ended(t, "held")
	return b
}

// put stores a text and returns its URL.
func (b *bombed) put(key, text string) string {
	b.t.Helper()
	if _, err := b.s3.PutObject(b.t.Context(), &s3.PutObjectInput{Bucket: aws.String("bombs"), Key: &key, Body: bytes.NewReader([]byte(text))}); err != nil {
		b.t.Fatal(err)
	}
	return b.url + "/bombs/" + key
}

// reasons are those of the last events of a stack and its resources.
func (b *bombed) reasons(stack string) string {
	b.t.Helper()
	out, err := b.DescribeStackEvents(b.t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &stack})
	if err != nil {
		b.t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range out.StackEvents {
		fmt.Fprintln(&all, aws.ToString(e.ResourceStatusReason))
	}
	return all.String()
}

var expanding = []types.Capability{types.CapabilityCapabilityAutoExpand}

// operations are those that read a template. Each returns the error of its call, or the reason why what it began failed;
// both are "" if it succeeded.
var templateOperations = map[string]func(b *bombed, name string, body, url *string) (reason string, err error){
	"CreateStack": func(b *bombed, name string, body, url *string) (string, error) {
		_, err := b.CreateStack(b.t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: body, TemplateURL: url, Capabilities: expanding})
		if err != nil {
			return "", err
		}
		if stack := b.ended(b.t, name); stack.StackStatus != types.StackStatusCreateComplete {
			return b.reasons(name), nil
		}
		return "", nil
	},
	"UpdateStack": func(b *bombed, _ string, body, url *string) (string, error) {
		_, err := b.UpdateStack(b.t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("held"), TemplateBody: body, TemplateURL: url, Capabilities: expanding})
		if err != nil {
			return "", err
		}
		return aws.ToString(b.ended(b.t, "held").StackStatusReason), nil
	},
	"CreateChangeSet": func(b *bombed, name string, body, url *string) (string, error) {
		set := "set-" + name
		_, err := b.CreateChangeSet(b.t.Context(), &cloudformation.CreateChangeSetInput{StackName: aws.String("held"), ChangeSetName: &set, TemplateBody: body, TemplateURL: url, Capabilities: expanding})
		if err != nil {
			return "", err
		}
		reason := ""
		eventually(b.t, time.Minute, "the change set ends", func() bool {
			out, err := b.DescribeChangeSet(b.t.Context(), &cloudformation.DescribeChangeSetInput{StackName: aws.String("held"), ChangeSetName: &set})
			if err != nil {
				b.t.Fatal(err)
			}
			reason = aws.ToString(out.StatusReason)
			return out.Status == types.ChangeSetStatusFailed || out.Status == types.ChangeSetStatusCreateComplete
		})
		return reason, nil
	},
	"ValidateTemplate": func(b *bombed, _ string, body, url *string) (string, error) {
		_, err := b.ValidateTemplate(b.t.Context(), &cloudformation.ValidateTemplateInput{TemplateBody: body, TemplateURL: url})
		return "", err
	},
	"GetTemplateSummary": func(b *bombed, _ string, body, url *string) (string, error) {
		_, err := b.GetTemplateSummary(b.t.Context(), &cloudformation.GetTemplateSummaryInput{TemplateBody: body, TemplateURL: url})
		return "", err
	},
	"EstimateTemplateCost": func(b *bombed, _ string, body, url *string) (string, error) {
		_, err := b.EstimateTemplateCost(b.t.Context(), &cloudformation.EstimateTemplateCostInput{TemplateBody: body, TemplateURL: url})
		return "", err
	},
	"CreateStackSet": func(b *bombed, name string, body, url *string) (string, error) {
		_, err := b.CreateStackSet(b.t.Context(), &cloudformation.CreateStackSetInput{StackSetName: &name, TemplateBody: body, TemplateURL: url, Capabilities: expanding})
		return "", err
	},
	"CreateStackRefactor": func(b *bombed, name string, body, url *string) (string, error) {
		out, err := b.CreateStackRefactor(b.t.Context(), &cloudformation.CreateStackRefactorInput{EnableStackCreation: aws.Bool(true), StackDefinitions: []types.StackDefinition{
			{StackName: aws.String("held"), TemplateBody: aws.String(encoded(object{"Resources": object{"Kept": handle}}))}, {StackName: aws.String("new-" + name), TemplateBody: body, TemplateURL: url},
		}})
		if err != nil {
			return "", err
		}
		reason := ""
		eventually(b.t, time.Minute, "the refactor ends", func() bool {
			found, err := b.DescribeStackRefactor(b.t.Context(), &cloudformation.DescribeStackRefactorInput{StackRefactorId: out.StackRefactorId})
			if err != nil {
				b.t.Fatal(err)
			}
			reason = aws.ToString(found.StatusReason)
			return found.Status != types.StackRefactorStatusCreateInProgress
		})
		return reason, nil
	},
}

// TestTemplateBombs gives templates that expand to each operation that reads one: it refuses them in the words of the
// service, or what it began fails, within bounds of memory. FORMWORK_TORTURE has each meet more of them.
func TestTemplateBombs(t *testing.T) {
	x := newTarget(t, "")
	b := newBombed(t, x)
	bombs := templateBombs(b.put)
	nestedURL := b.put("nested", "")
	bombs["a nested stack in itself"] = templateBomb{encoded(object{"Resources": object{"N": object{"Type": "AWS::CloudFormation::Stack", "Properties": object{"TemplateURL": nestedURL}}}}), bombs["a nested stack in itself"].want}
	b.put("nested", bombs["a nested stack in itself"].body.(string))
	operations := slices.Sorted(maps.Keys(templateOperations))
	every := len(operations) // each bomb meets CreateStack and one more operation
	if os.Getenv("FORMWORK_TORTURE") != "" {
		every = 3
	}
	peak := watchHeap(t)
	for i, name := range slices.Sorted(maps.Keys(bombs)) {
		bomb := bombs[name]
		text, isText := bomb.body.(string)
		if !isText {
			text = encoded(bomb.body)
		}
		body, url := &text, (*string)(nil)
		if len(text) > 51200 {
			body, url = nil, aws.String(b.put("template", text))
		}
		for j, operation := range operations {
			if operation != "CreateStack" && (i+j)%every != 0 {
				continue
			}
			t.Run(name+"/"+operation, func(t *testing.T) {
				b := *b
				b.t = t
				reason, err := templateOperations[operation](&b, fmt.Sprintf("bomb-%d", i), body, url)
				var refusal smithy.APIError
				switch {
				case err != nil && (!errors.As(err, &refusal) || refusal.ErrorFault() == smithy.FaultServer && operation != "EstimateTemplateCost" || refusal.ErrorCode() == "InternalFailure"):
					t.Errorf("the server fails: %v", err)
				case err != nil:
					reason = refusal.ErrorMessage()
				}
				if operation == "CreateStack" && (!strings.Contains(reason, bomb.want) || bomb.want == "" && reason != "") {
					t.Errorf("got %.600s\nwant %s", reason, bomb.want)
				}
				if len(reason) > 64<<10 {
					t.Errorf("the reason has %d bytes", len(reason))
				}
			})
		}
	}
	if most := peak(); most > 512<<20 {
		t.Errorf("the templates took %d MB of memory", most>>20)
	}
	response, err := http.Get(x.url + "/healthz")
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %v, %v", response, err)
	}
	if err == nil {
		response.Body.Close()
	}
}
