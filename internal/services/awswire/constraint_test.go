package awswire_test

import (
	"encoding/xml"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestConstraints has the texts of AWS: those of the stack name, the capabilities, the
// template and the empty identifier are recorded ones.
func TestConstraints(t *testing.T) {
	type input = cloudformation.CreateChangeSetInput
	table := cloudFormation(keeps[input, cloudformation.CreateChangeSetOutput]("CreateChangeSet", new(*input)))
	table.NoResult = nil
	table.Constraints = map[string][]awswire.Constraint{"CreateChangeSet": {
		{Member: "StackName", Required: true, MinLength: 1, MaxLength: 128, Pattern: `[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*`},
		{Member: "TemplateBody", MinLength: 1, MaxLength: 20},
		{Member: "Description", Pattern: `(?!aws:).+`},
		{Member: "RollbackConfiguration.MonitoringTimeInMinutes", Min: aws.Int64(0), Max: aws.Int64(180)},
		{Member: "RollbackConfiguration.RollbackTriggers", MaxLength: 1},
		{Member: "RollbackConfiguration.RollbackTriggers[].Arn", Required: true},
		{Member: "Tags", MaxLength: 2},
		{Member: "Tags[].Key", Required: true, MaxLength: 3},
		{Member: "ResourceTypes[]", MinLength: 1, MaxLength: 4, Pattern: "[a-z]*"},
		{Member: "NotificationARNs", MaxLength: 1},
		{Member: "Parameters[].ParameterValue", MaxLength: 3, Secret: true},
		{Member: "ClientToken", Enum: []string{"one", "two"}},
		{Member: "ResourcesToImport[].ResourceIdentifier", MinLength: 1},
		{Member: "ResourcesToImport[].ResourceIdentifier[]", MaxLength: 2},
		{Member: "ResourcesToImport[].ResourceIdentifier[key]", MinLength: 2},
	}}
	if err := table.Check(); err != nil {
		t.Fatal(err)
	}
	const pattern = "Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"
	for _, test := range []struct{ form, want string }{
		{"StackName=ok", ""},
		{"StackName=ok&Tags=&NotificationARNs=&ResourceTypes=&RollbackConfiguration=&Parameters=", ""},
		{"StackName=ok&Capabilities.member.1=CAPABILITY_IAM&ChangeSetType=IMPORT&ClientToken=two&RollbackConfiguration.MonitoringTimeInMinutes=180", ""},
		{"", "1 validation error detected: Value null at 'stackName' failed to satisfy constraint: Member must not be null"},
		{"StackName=my_stack", "1 validation error detected: Value 'my_stack' at 'stackName' failed to satisfy constraint: " + pattern},
		{"StackName=a%0A", "1 validation error detected: Value 'a\n' at 'stackName' failed to satisfy constraint: " + pattern},
		{"StackName=", "2 validation errors detected: Value '' at 'stackName' failed to satisfy constraint: " + pattern +
			"; Value '' at 'stackName' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		{"StackName=ok&TemplateBody=" + strings.Repeat("%C3%BC", 20), ""},
		{"StackName=ok&TemplateBody=" + strings.Repeat("%C3%BC", 21), "1 validation error detected: Value '" + strings.Repeat("ü", 21) + "' at 'templateBody' failed to satisfy constraint: Member must have length less than or equal to 20"},
		{"StackName=ok&Description=aws:x", "1 validation error detected: Value 'aws:x' at 'description' failed to satisfy constraint: Member must satisfy regular expression pattern: (?!aws:).+"},
		{"StackName=ok&RollbackConfiguration.MonitoringTimeInMinutes=181", "1 validation error detected: Value '181' at 'rollbackConfiguration.monitoringTimeInMinutes' failed to satisfy constraint: Member must have value less than or equal to 180"},
		{"StackName=ok&RollbackConfiguration.MonitoringTimeInMinutes=-1", "1 validation error detected: Value '-1' at 'rollbackConfiguration.monitoringTimeInMinutes' failed to satisfy constraint: Member must have value greater than or equal to 0"},
		{"StackName=ok&RollbackConfiguration.RollbackTriggers.member.1.Type=a&RollbackConfiguration.RollbackTriggers.member.2.Arn=a",
			"2 validation errors detected: Value at 'rollbackConfiguration.rollbackTriggers' failed to satisfy constraint: Member must have length less than or equal to 1" +
				"; Value null at 'rollbackConfiguration.rollbackTriggers.1.member.arn' failed to satisfy constraint: Member must not be null"},
		{"StackName=ok&Tags.member.3.Key=long+key&Tags.member.7.Value=", "2 validation errors detected: Value 'long key' at 'tags.1.member.key' failed to satisfy constraint: Member must have length less than or equal to 3" +
			"; Value null at 'tags.2.member.key' failed to satisfy constraint: Member must not be null"},
		{"StackName=ok&ChangeSetType=DELETE", "1 validation error detected: Value 'DELETE' at 'changeSetType' failed to satisfy constraint: Member must satisfy enum value set: [CREATE, UPDATE, IMPORT]"},
		{"StackName=ok&ClientToken=three", "1 validation error detected: Value 'three' at 'clientToken' failed to satisfy constraint: Member must satisfy enum value set: [one, two]"},
		{"StackName=ok&Capabilities.member.1=CAPABILITY_NAMED_IAM&Capabilities.member.2=+CAPABILITY_AUTO_EXPAND",
			"1 validation error detected: Value '[CAPABILITY_NAMED_IAM,  CAPABILITY_AUTO_EXPAND]' at 'capabilities' failed to satisfy constraint: Member must satisfy constraint: " +
				"[Member must satisfy enum value set: [CAPABILITY_IAM, CAPABILITY_NAMED_IAM, CAPABILITY_AUTO_EXPAND]]"},
		{"StackName=ok&Capabilities.member.1=", "1 validation error detected: Value '[]' at 'capabilities' failed to satisfy constraint: Member must satisfy constraint: " +
			"[Member must satisfy enum value set: [CAPABILITY_IAM, CAPABILITY_NAMED_IAM, CAPABILITY_AUTO_EXPAND]]"},
		{"StackName=ok&ResourceTypes.member.1=a&ResourceTypes.member.2=A", "1 validation error detected: Value '[a, A]' at 'resourceTypes' failed to satisfy constraint: Member must satisfy constraint: " +
			"[Member must have length less than or equal to 4, Member must have length greater than or equal to 1, Member must satisfy regular expression pattern: [a-z]*]"},
		{"StackName=ok&NotificationARNs.member.1=a&NotificationARNs.member.2=b", "1 validation error detected: Value '[a, b]' at 'notificationARNs' failed to satisfy constraint: Member must have length less than or equal to 1"},
		{"StackName=ok&Parameters.member.1.ParameterValue=hush", "1 validation error detected: Value at 'parameters.1.member.parameterValue' failed to satisfy constraint: Member must have length less than or equal to 3"},
		{"StackName=ok&ResourcesToImport.member.1.ResourceIdentifier=", "1 validation error detected: Value '{}' at 'resourcesToImport.1.member.resourceIdentifier' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		{"StackName=ok&ResourcesToImport.member.1.ResourceIdentifier.entry.1.key=k&ResourcesToImport.member.1.ResourceIdentifier.entry.1.value=long",
			"2 validation errors detected: Value at 'resourcesToImport.1.member.resourceIdentifier' failed to satisfy constraint: Map keys must satisfy constraint: [Member must have length greater than or equal to 2]" +
				"; Value at 'resourcesToImport.1.member.resourceIdentifier' failed to satisfy constraint: Map value must satisfy constraint: [Member must have length less than or equal to 2]"},
	} {
		w := post(table, "Action=CreateChangeSet&Version=2010-05-15&"+test.form)
		var answer struct {
			Code    string `xml:"Error>Code"`
			Message string `xml:"Error>Message"`
		}
		if err := xml.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Message != test.want || test.want != "" && (answer.Code != "ValidationError" || w.Code != 400) {
			t.Errorf("%s: %d %s\ngot  %s\nwant %s", test.form, w.Code, answer.Code, answer.Message, test.want)
		}
	}
}

// TestConstraintBounds is about messages and patterns that would be too much.
func TestConstraintBounds(t *testing.T) {
	type input = cloudformation.CreateStackInput
	table := cloudFormation(keeps[input, cloudformation.CreateStackOutput]("CreateStack", new(*input)))
	table.NoResult, table.Known = nil, nil
	table.Constraints = map[string][]awswire.Constraint{"CreateStack": {
		{Member: "TemplateBody", MaxLength: 10},
		{Member: "Tags[].Key", Required: true},
		{Member: "StackName", Pattern: `(?=a)(a+)+b`},
	}}
	w := post(table, "Action=CreateStack&Version=2010-05-15&TemplateBody="+url.QueryEscape(strings.Repeat("ü", 100_000)))
	if w.Code != 400 || w.Body.Len() > 6000 || !strings.Contains(w.Body.String(), "ü…&#39; at") {
		t.Errorf("%d, %d bytes", w.Code, w.Body.Len())
	}
	var form strings.Builder
	for i := range 1000 {
		form.WriteString("&Tags.member." + strconv.Itoa(i+1) + ".Value=")
	}
	w = post(table, "Action=CreateStack&Version=2010-05-15"+form.String())
	if text := w.Body.String(); !strings.Contains(text, "1000 validation errors detected") || strings.Count(text, "must not be null") != 100 {
		t.Errorf("%d %d bytes", w.Code, len(text))
	}
	// Without its time limit this match would not end.
	w = post(table, "Action=CreateStack&Version=2010-05-15&StackName="+strings.Repeat("a", 100))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "regular expression") {
		t.Errorf("a pattern that backtracks: %d %s", w.Code, w.Body)
	}
}
