package permissions

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// wellFormed are the actions that IAM accepts in a policy.
var wellFormed = lazyregexp.New(`\A[A-Za-z0-9-]+:[A-Za-z0-9*?]+\z`)

// variable is a variable of an ARN of the reference.
var variable = lazyregexp.New(`\$\{[^}]*\}`)

// maxForms bounds the resources that an action is narrowed to: one that applies to more is allowed on all.
const maxForms = 4

// arns are the resources that a handler calls an action on. Where the service names resources otherwise than a
// property of the type does, the name is "*".
func (s *subject) arns(of *action) []string {
	if len(of.arns) == 0 || len(of.arns) > maxForms {
		return []string{"*"}
	}
	var out []string
	for _, form := range of.arns {
		out = append(out, s.fill(form, of)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ownARNs are the resources that an action on tags is on: of several kinds that it applies to, that of the type.
func (s *subject) ownARNs(of *action) []string {
	all := s.arns(of)
	own := slices.DeleteFunc(slices.Clone(all), func(arn string) bool {
		return strings.HasSuffix(arn, ":*") || strings.HasSuffix(arn, "/*") || arn == "*"
	})
	if len(own) > 0 {
		return own
	}
	return all
}

// fill is an ARN of the reference with the values of the resource.
func (s *subject) fill(form string, of *action) []string {
	prefix, _, _ := strings.Cut(of.name, ":")
	own := prefix == s.own
	account := s.in.Place.Account
	if !own {
		account = "*" // a key, a bucket or an image may be in another account
	}
	form = strings.NewReplacer("${Partition}", s.in.Place.Partition, "${Region}", s.in.Place.Region, "${Account}", account).Replace(form)
	variables := variable.FindAllString(form, -1)
	names := []string{"*"}
	if len(variables) == 1 && own && !lists(of.name) {
		names = s.names(strings.Trim(variables[0], "${}"))
	}
	var out []string
	for _, name := range names {
		if strings.HasPrefix(name, "arn:") {
			out = append(out, name)
			continue
		}
		text := variable.ReplaceAllString(form, "*")
		if len(variables) == 1 {
			text = strings.Replace(form, variables[0], name, 1)
		}
		out = append(out, wild(text))
		if prefix == "logs" && strings.Contains(text, ":log-group:") && !strings.HasSuffix(text, "*") {
			out = append(out, wild(text)+":*") // some actions are on the streams of the group
		}
	}
	return out
}

// lists reports whether an action may be on more than one resource.
func lists(name string) bool {
	_, name, _ = strings.Cut(name, ":")
	return !aboutTags(name) && slices.ContainsFunc([]string{"List", "Describe", "Search", "Batch"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// names are the names that the resource has or gets, for a variable such as QueueName; "*" if that is not known.
func (s *subject) names(variable string) []string {
	property, path := variable, ""
	if without, ok := strings.CutSuffix(variable, "WithPath"); ok {
		property = without
		if property == "Role" || property == "User" || property == "Group" {
			property += "Name"
		}
		path = s.path()
	}
	var out []string
	for _, l := range s.leaves {
		if len(l.path) == 1 && strings.EqualFold(l.path[0], property) {
			out = append(out, joined(path, wild(l.text)))
		}
	}
	if len(out) > 0 {
		return out
	}
	if s.PhysicalID != "" && generated[s.Type] == property {
		return []string{joined(path, s.PhysicalID[strings.LastIndex(s.PhysicalID, "/")+1:])} // of a queue the ID is a URL
	}
	if generated[s.Type] != property || s.Path != "" || s.resource == nil || s.resource.Properties.Get(property) != nil {
		return []string{"*"}
	}
	return []string{joined(path, s.generated(s.Change.LogicalID, s.Type))}
}

func joined(path, name string) string {
	if path == "" || strings.HasPrefix(name, "arn:") {
		return name
	}
	return path + "/" + name
}

// path is the path of a resource of IAM, without slashes around it.
func (s *subject) path() string {
	for _, l := range s.leaves {
		if len(l.path) == 1 && l.path[0] == "Path" {
			return strings.Trim(wild(l.text), "/")
		}
	}
	return ""
}

// generated are the types whose resources CloudFormation names STACK-LOGICALID-SUFFIX, with the property of the name.
var generated = map[string]string{
	"AWS::SQS::Queue": "QueueName", "AWS::SNS::Topic": "TopicName", "AWS::S3::Bucket": "BucketName", "AWS::DynamoDB::Table": "TableName",
	"AWS::Lambda::Function": "FunctionName", "AWS::Logs::LogGroup": "LogGroupName", "AWS::Kinesis::Stream": "StreamName",
	"AWS::IAM::Role": "RoleName", "AWS::IAM::User": "UserName", "AWS::IAM::Group": "GroupName",
}

// maxGenerated is the length of the shortest names among them: CloudFormation shortens the parts of longer ones.
const maxGenerated = 63

// generated is the pattern of a name that CloudFormation makes.
func (c *computer) generated(logicalID, typeName string) string {
	prefix := c.in.Place.Stack + "-" + logicalID + "-"
	if len(prefix)+13 > maxGenerated || strings.Contains(c.in.Place.Stack, "*") {
		return "*"
	}
	if typeName == "AWS::S3::Bucket" {
		prefix = strings.ToLower(prefix)
	}
	return prefix + "*"
}

// nameOf is the name that a resource of the stack has or gets, which is named in a property of another one.
func (s *subject) nameOf(logicalID string) (*subject, *template.Resource) {
	r := s.Scope.Template().Resource(logicalID)
	if r == nil {
		return nil, nil
	}
	return &subject{computer: s.computer, Change: &Change{Path: s.Path, LogicalID: logicalID, Type: r.Type, Scope: s.Scope}, resource: r, leaves: leaves(s.Scope, r)}, r
}
