package schema

import "testing"

func TestRef(t *testing.T) {
	for _, test := range []struct{ typeName, physicalID, want string }{
		{"AWS::ApiGateway::Stage", "a1bcdef2gh|prod", "prod"},
		{"AWS::Cognito::UserPoolClient", "eu-west-1_a|1h57kf5cpq17m0eml12", "1h57kf5cpq17m0eml12"},
		{"AWS::ApiGateway::Deployment", "123abc|a1bcdef2gh", "123abc"},
		{"AWS::Cognito::UserPoolUICustomizationAttachment", "{1}|ALL", "UserPoolUICustomizationAttachment-{1}-ALL"},
		{"AWS::Events::Rule", "arn:aws:events:us-east-1:1:rule/nightly", "nightly"},
		{"AWS::Events::Rule", "arn:aws:events:us-east-1:1:rule/bus/nightly", "bus|nightly"},
		{"AWS::Events::Rule", "nightly", "nightly"},
		{"AWS::Route53::KeySigningKey", "Z00001111A1ABCaaABC11|KSK1", "Z00001111A1ABCaaABC11|KSK1"}, // as documented
		{"AWS::ApiGateway::Stage", "not yet made", "not yet made"},
		{"AWS::ApiGateway::Stage", "", ""},
		{"AWS::SQS::Queue", "https://sqs/1/q", "https://sqs/1/q"},
		{"Acme::Net::Stage", "a|b", "a|b"},
	} {
		if got := Ref(test.typeName, test.physicalID); got != test.want {
			t.Errorf("Ref(%s, %s) = %q, want %q", test.typeName, test.physicalID, got, test.want)
		}
	}
}

func TestRefOf(t *testing.T) {
	arn := "arn:aws:batch:us-east-1:1:job-definition/j:1"
	for _, test := range []struct {
		typeName, physicalID string
		model                map[string]any
		want                 string
	}{
		{"AWS::Batch::JobDefinition", "j", map[string]any{"JobDefinitionArn": arn}, arn},
		{"AWS::Batch::JobDefinition", "j", nil, "j"},
		{"AWS::ApiGateway::Stage", "a|prod", map[string]any{"": "x"}, "prod"},
		{"Acme::Net::Stage", "a|b", map[string]any{"": "x", "Arn": "y"}, "a|b"},
	} {
		if got := RefOf(test.typeName, test.physicalID, test.model); got != test.want {
			t.Errorf("RefOf(%s, %s) = %q, want %q", test.typeName, test.physicalID, got, test.want)
		}
	}
}
