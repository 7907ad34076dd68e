package permissions

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/proving/httptape"
)

// TestActionsOfCalls: the actions of calls in all forms in which services are called.
func TestActionsOfCalls(t *testing.T) {
	for _, test := range []struct{ method, url, target, body, want string }{
		{"POST", "https://dynamodb.eu-west-1.amazonaws.com/", "DynamoDB_20120810.CreateTable", "{}", "dynamodb:CreateTable"},
		{"POST", "http://127.0.0.1:4566/", "AmazonSSM.GetParameter", "{}", "ssm:GetParameter"},
		{"POST", "https://sqs.eu-west-1.amazonaws.com/", "", "Action=CreateQueue&QueueName=a", "sqs:CreateQueue"},
		{"GET", "https://iam.amazonaws.com/?Action=GetRole&RoleName=a", "", "", "iam:GetRole"},
		{"POST", "https://monitoring.eu-west-1.amazonaws.com/", "", "Action=PutMetricAlarm", "cloudwatch:PutMetricAlarm"},
		{"POST", "https://monitoring.eu-west-1.amazonaws.com/service/GraniteServiceVersion20100801/operation/PutMetricData", "", "", "cloudwatch:PutMetricData"},
		{"POST", "https://api.ecr.eu-west-1.amazonaws.com/", "AmazonEC2ContainerRegistry_V20150921.CreateRepository", "{}", "ecr:CreateRepository"},
		{"POST", "https://kms-fips.us-east-1.amazonaws.com/", "TrentService.DescribeKey", "{}", "kms:DescribeKey"},
		{"PUT", "https://photos.s3.eu-west-1.amazonaws.com/", "", "", "s3:CreateBucket"},
		{"PUT", "https://photos.s3.amazonaws.com/?versioning", "", "", "s3:PutBucketVersioning"},
		{"DELETE", "https://s3.eu-west-1.amazonaws.com/photos?encryption", "", "", "s3:PutEncryptionConfiguration"},
		{"HEAD", "https://s3.eu-west-1.amazonaws.com/photos/a/b", "", "", "s3:GetObject"},
		{"HEAD", "https://s3.eu-west-1.amazonaws.com/photos", "", "", "s3:ListBucket"},
		{"POST", "https://photos.s3.dualstack.eu-west-1.amazonaws.com/?delete", "", "", "s3:DeleteObject"},
		{"PUT", "https://photos.s3.amazonaws.com/a?tagging", "", "", "s3:PutObjectTagging"},
		{"GET", "https://s3.amazonaws.com/", "", "", "s3:ListAllMyBuckets"},
		{"PUT", "https://lambda.eu-west-1.amazonaws.com/2015-03-31/functions/f/code", "", "", "lambda:UpdateFunctionCode"},
		{"GET", "https://lambda.eu-west-1.amazonaws.com/2015-03-31/functions/", "", "", "lambda:ListFunctions"},
		{"PATCH", "https://apigateway.eu-west-1.amazonaws.com/restapis/x", "", "", "apigateway:PATCH"},
		{"GET", "https://eks.eu-west-1.amazonaws.com/clusters", "", "", "? GET https://eks.eu-west-1.amazonaws.com/clusters"},
		{"POST", "https://sqs.eu-west-1.amazonaws.com/", "", "Action=Nothing", "? POST https://sqs.eu-west-1.amazonaws.com/"},
		{"POST", "https://sts.amazonaws.com/", "", "Action=GetCallerIdentity&Version=2011-06-15", ""},
		{"GET", "https://api.example.com/orders?Action=CreateQueue", "", "", ""},
		{"GET", "https://amazonaws.com/", "", "", ""},
	} {
		line, err := json.Marshal(map[string]any{"method": test.method, "url": test.url, "target": test.target, "requestBody": test.body, "status": 200})
		if err != nil {
			t.Fatal(err)
		}
		tape, err := httptape.Read(strings.NewReader(`{"httptape":1,"typeName":"A::B::C"}` + "\n" + string(line)))
		if err != nil {
			t.Fatal(err)
		}
		seen := Seen{}
		seen.Add(tape)
		calls := seen["A::B::C"]
		got := strings.Join(calls.Actions, " ")
		for _, text := range calls.Unknown {
			got += "? " + text
		}
		if got != test.want {
			t.Errorf("%s %s %s: %q, want %q", test.method, test.url, test.target, got, test.want)
		}
	}
}

// TestSeen: what the handlers called is needed by every change, and what differs from the schema is said.
func TestSeen(t *testing.T) {
	const text = `{"typeName": "Acme::Own::Type", "description": "d", "additionalProperties": false, "properties": {"Id": {"type": "string"}}, "primaryIdentifier": ["/properties/Id"], "tagging": {"taggable": false},
		"handlers": {"create": {"permissions": ["sqs:Create*", "sqs:SetQueueAttributes"]}, "read": {"permissions": ["sqs:getQueueAttributes"]}, "delete": {"permissions": ["sqs:DeleteQueue"]}}}`
	s, problems := schema.Load("s.json", []byte(text), schema.Config{Kind: schema.Resource})
	if s == nil {
		t.Fatal(problems.Err())
	}
	seen := Seen{
		"Acme::Own::Type":   {Actions: []string{"sqs:CreateQueue", "sqs:GetQueueAttributes", "sqs:TagQueue"}, Unknown: []string{"GET https://eks.eu-west-1.amazonaws.com/"}},
		"Acme::Other::Type": {Actions: []string{"sqs:DeleteQueue"}},
	}
	needs, err := Compute(Input{
		Place: Place{Partition: "aws", Region: "eu-west-1", Account: "*", Stack: "s"}, Seen: seen, Changes: []Change{{LogicalID: "A", Type: "Acme::Own::Type", Kind: Delete}},
		Types: func(string) (Type, error) { return Type{Schema: s, Role: true}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range needs.Of("Acme::Own::Type") {
		got = append(got, e.Action+" "+e.Why+" "+e.Confidence)
	}
	if want := []string{"sqs:DeleteQueue handler declared", "sqs:GetQueueAttributes read-back declared", "sqs:TagQueue seen while recording seen"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var remarks []string
	for _, r := range needs.Remarks {
		remarks = append(remarks, r.Type+": "+r.Text)
	}
	want := []string{
		"Acme::Other::Type: the recording of this type is not used: no resource of it changes",
		"Acme::Own::Type: GET https://eks.eu-west-1.amazonaws.com/ was seen while recording; its action is not known and is left out",
		"Acme::Own::Type: declared, and not seen while recording: sqs:DeleteQueue, sqs:SetQueueAttributes",
		"Acme::Own::Type: sqs:TagQueue was seen while recording, and no handler declares it",
	}
	if !slices.Equal(remarks, want) {
		t.Errorf("%q, want %q", remarks, want)
	}
}
