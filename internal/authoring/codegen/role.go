package codegen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// roleTemplate is the CloudFormation template of the execution role. The role may do what
// the handlers declare together, and nothing if they declare nothing. It lasts a little
// longer than the slowest handler, within what IAM allows: one hour to twelve.
func roleTemplate(s *schema.Schema, typeName string) File {
	file, kind, purpose := "resource-role.yaml", "resource", "during CRUDL operations to mutate resources on behalf of the customer."
	principal := "              Service: resources.cloudformation.amazonaws.com\n"
	policy := "ResourceTypePolicy"
	if s.Kind == schema.Hook {
		file, kind, purpose = "hook-role.yaml", "hook", "during Hook operations on behalf of the customer."
		principal = "              Service:\n                - hooks.cloudformation.amazonaws.com\n                - resources.cloudformation.amazonaws.com\n"
		policy = "HookTypePolicy"
	}
	actions, minutes := permitted(s)
	effect := "Allow"
	if len(actions) == 0 {
		effect, actions = "Deny", []string{"*"}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# %s
AWSTemplateFormatVersion: "2010-09-09"
Description: >
  This CloudFormation template creates a role assumed by CloudFormation
  %s

Resources:
  ExecutionRole:
    Type: AWS::IAM::Role
    Properties:
      MaxSessionDuration: %d
      AssumeRolePolicyDocument:
        Version: '2012-10-17'
        Statement:
          - Effect: Allow
            Principal:
%s            Action: sts:AssumeRole
            Condition:
              StringEquals:
                aws:SourceAccount:
                  Ref: AWS::AccountId
              StringLike:
                aws:SourceArn:
                  Fn::Sub: arn:${AWS::Partition}:cloudformation:${AWS::Region}:${AWS::AccountId}:type/%s/%s/*
      Path: "/"
      Policies:
        - PolicyName: %s
          PolicyDocument:
            Version: '2012-10-17'
            Statement:
              - Effect: %s
                Action:
`, marker, purpose, min(max(70*minutes, 3600), 43200), principal, kind, schema.Dashed(typeName), policy, effect)
	for _, action := range actions {
		fmt.Fprintf(&b, "                - %s\n", yamlString(action))
	}
	b.WriteString(`                Resource: "*"
Outputs:
  ExecutionRoleArn:
    Value:
      Fn::GetAtt: ExecutionRole.Arn
`)
	return File{Path: file, Data: []byte(b.String()), Mode: Generated}
}

// permitted are the actions that the handlers declare, and the minutes that the slowest may take.
func permitted(s *schema.Schema) (actions []string, minutes int) {
	for _, h := range s.Handlers {
		minutes = max(minutes, h.TimeoutInMinutes)
		for _, p := range h.Permissions {
			if p.Value != "" && !slices.Contains(actions, p.Value) {
				actions = append(actions, p.Value)
			}
		}
	}
	slices.Sort(actions)
	return actions, cmp.Or(minutes, 120)
}

// yamlString quotes a string for YAML; JSON's quoting is valid in YAML.
func yamlString(s string) string { return string(document.NewString(s).AppendJSON(nil)) }
