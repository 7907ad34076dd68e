package permissions

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// roleNames are the names of properties that are roles, keyNames of those that are keys of KMS.
var (
	roleNames    = lazyregexp.New(`(?i)(role|roles|rolearn|rolearns|rolename|roleid|instanceprofile|instanceprofilearn)$`)
	keyNames     = lazyregexp.New(`(?i)(kms.*(key|arn|id|alias)|encryption_?key|^keyarn$|kmskeys?)`)
	networkNames = lazyregexp.New(`(?i)^(subnet|securitygroup|vpc(id|config|configuration)$)`)
)

// statements are properties with policies and values that are not passed to the service.
var statements = lazyregexp.New(`(?i)(polic(y|ies)(document)?|statement|environment|tags|variables|metadata)$`)

// findRoles finds the roles that the resource passes to its service.
func (s *subject) findRoles() {
	if strings.HasPrefix(s.Type, "AWS::IAM::") && s.Type != "AWS::IAM::InstanceProfile" {
		return // policies are attached to roles, which passes none
	}
	trusted, all := map[string]bool{}, true
	for _, l := range s.leaves {
		if slices.ContainsFunc(l.path, statements.MatchString) {
			continue
		}
		id := referred(l.text)
		var r *template.Resource
		if id != "" {
			r = s.Scope.Template().Resource(id)
		}
		isRole := r != nil && (r.Type == "AWS::IAM::Role" || r.Type == "AWS::IAM::InstanceProfile")
		switch {
		case !isRole && !roleNames.MatchString(l.name()) && !strings.Contains(l.text, ":role/"):
		case isRole && r.Type == "AWS::IAM::InstanceProfile":
			s.profile(r, trusted, &all)
		case isRole:
			s.role(r, trusted, &all)
		case strings.HasPrefix(l.text, "arn:"):
			all = false
			if strings.Contains(l.text, ":role/") {
				s.roles = append(s.roles, wild(l.text))
			}
		case l.text == "":
		default:
			all = false
			name := wild(l.text)
			arn := "arn:" + s.in.Place.Partition + ":iam::" + s.in.Place.Account + ":role/"
			s.roles = append(s.roles, arn+name)
			if name != "*" {
				s.roles = append(s.roles, arn+"*/"+name) // the path is not known
			}
		}
	}
	slices.Sort(s.roles)
	s.roles = slices.Compact(s.roles)
	if all && len(s.roles) > 0 {
		for name := range trusted {
			s.trusted = append(s.trusted, name)
		}
		slices.Sort(s.trusted)
	}
}

// role adds a role of the stack.
func (s *subject) role(r *template.Resource, trusted map[string]bool, all *bool) {
	role, _ := s.nameOf(r.LogicalID)
	for _, name := range role.names("RoleNameWithPath") {
		s.roles = append(s.roles, "arn:"+s.in.Place.Partition+":iam::"+s.in.Place.Account+":role/"+name)
	}
	found := 0
	for _, l := range role.leaves {
		if !slices.Contains(l.path, "Principal") {
			continue
		}
		if l.name() != "Service" || strings.ContainsAny(l.text, "*"+mark) {
			*all = false
		}
		found++
		trusted[l.text] = true
	}
	if found == 0 {
		*all = false
	}
}

// profile adds the roles of an instance profile of the stack.
func (s *subject) profile(r *template.Resource, trusted map[string]bool, all *bool) {
	profile, _ := s.nameOf(r.LogicalID)
	for _, l := range profile.leaves {
		if l.path[0] != "Roles" {
			continue
		}
		if role := s.Scope.Template().Resource(referred(l.text)); role != nil && role.Type == "AWS::IAM::Role" {
			s.role(role, trusted, all)
			continue
		}
		*all = false
		s.roles = append(s.roles, "arn:"+s.in.Place.Partition+":iam::"+s.in.Place.Account+":role/*"+wild(l.text))
	}
}

// keyActions are what services do with a key for their callers.
var keyActions = []string{"kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey"}

// keys adds the actions on the keys that the resource names, if its handlers declare none.
func (s *subject) keys() {
	if s.own == "kms" || s.typ.Role || s.declares("kms:") {
		return
	}
	var on []string
	for _, l := range s.leaves {
		if !keyNames.MatchString(l.name()) || strings.HasPrefix(l.text, "alias/aws/") || l.text == "" || l.text == "AWS_OWNED_KMS_KEY" {
			continue
		}
		if strings.HasPrefix(l.text, "arn:") && strings.Contains(l.text, ":key/") {
			on = append(on, wild(l.text))
			continue
		}
		// An alias, or a key of the stack, whose ARN has a number that nobody knows yet.
		on = append(on, "arn:"+s.in.Place.Partition+":kms:"+s.in.Place.Region+":*:key/*")
	}
	if len(on) == 0 {
		return
	}
	for _, name := range keyActions {
		s.add(Entry{Action: name, On: slices.Clone(on), Why: "key", Confidence: "inferred"})
	}
}

// declares reports whether a handler declares an action of a service.
func (s *subject) declares(prefix string) bool {
	for _, h := range s.typ.Schema.Handlers {
		for _, p := range h.Permissions {
			if strings.HasPrefix(strings.ToLower(p.Value), prefix) {
				return true
			}
		}
	}
	return false
}

// network adds what services look up about subnets and security groups, if the handlers declare nothing of it.
func (s *subject) network() {
	if s.own == "ec2" || s.typ.Role || s.declares("ec2:") {
		return
	}
	if slices.ContainsFunc(s.leaves, func(l leaf) bool { return slices.ContainsFunc(l.path, networkNames.MatchString) }) {
		for _, name := range []string{"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs"} {
			s.add(Entry{Action: name, On: []string{"*"}, Why: "network", Confidence: "inferred"})
		}
	}
}

// customResource adds the call of the function or topic of a custom resource.
func (s *subject) customResource() {
	for _, l := range s.leaves {
		if l.path[0] != "ServiceToken" || len(l.path) > 1 {
			continue
		}
		s.invoke(l.text)
		return
	}
	s.remark("the properties are not known, so neither is the function of the custom resource")
}

// invoke adds the call of a function, or of a topic, that a value names.
func (s *subject) invoke(text string) {
	place := s.in.Place
	function := "arn:" + place.Partition + ":lambda:" + place.Region + ":" + place.Account + ":function:"
	switch id := referred(text); {
	case id != "":
		of, r := s.nameOf(id)
		switch {
		case r != nil && r.Type == "AWS::SNS::Topic":
			for _, name := range of.names("TopicName") {
				s.add(Entry{Action: "sns:Publish", On: []string{"arn:" + place.Partition + ":sns:" + place.Region + ":" + place.Account + ":" + name}, Why: "function", Confidence: "inferred"})
			}
		case r != nil && r.Type == "AWS::Lambda::Function":
			for _, name := range of.names("FunctionName") {
				s.add(Entry{Action: "lambda:InvokeFunction", On: []string{function + name}, Why: "function", Confidence: "inferred"})
			}
		default:
			s.add(Entry{Action: "lambda:InvokeFunction", On: []string{function + "*"}, Why: "function", Confidence: "inferred"})
		}
	case strings.Contains(text, ":sns:"):
		s.add(Entry{Action: "sns:Publish", On: []string{wild(text)}, Why: "function", Confidence: "inferred"})
	case strings.HasPrefix(text, "arn:"):
		s.add(Entry{Action: "lambda:InvokeFunction", On: []string{wild(text)}, Why: "function", Confidence: "inferred"})
	default:
		s.add(Entry{Action: "lambda:InvokeFunction", On: []string{function + "*"}, Why: "function", Confidence: "inferred"})
		s.add(Entry{Action: "sns:Publish", On: []string{"arn:" + place.Partition + ":sns:" + place.Region + ":" + place.Account + ":*"}, Why: "function", Confidence: "inferred"})
	}
}

// references adds what resolves the dynamic references in the properties.
func (s *subject) references() {
	if !s.Kind.makes() && s.Kind != Delete {
		return
	}
	for _, l := range s.leaves {
		for _, ref := range template.DynamicReferences(l.text) {
			s.reference(ref)
		}
	}
}

func (s *subject) reference(ref template.DynamicReference) {
	place, identity := s.in.Place, s.stack
	key := Entry{
		Identity: identity, Action: "kms:Decrypt", On: []string{"arn:" + place.Partition + ":kms:" + place.Region + ":*:key/*"}, Why: "reference", Confidence: "inferred",
	}
	switch ref.Service {
	case "ssm", "ssm-secure":
		s.add(Entry{Identity: identity, Action: "ssm:GetParameters", On: []string{place.parameter(wild(ref.Name))}, Why: "reference", Confidence: "inferred"})
		key.When = map[string][]string{"kms:ViaService": {"ssm." + place.Region + ".amazonaws.com"}}
		if ref.Service == "ssm-secure" {
			s.add(key)
		}
	case "secretsmanager":
		on := wild(ref.Name)
		if !strings.HasPrefix(on, "arn:") {
			on = "arn:" + place.Partition + ":secretsmanager:" + place.Region + ":" + place.Account + ":secret:" + on + "-*"
		}
		s.add(Entry{Identity: identity, Action: "secretsmanager:GetSecretValue", On: []string{wild(on)}, Why: "reference", Confidence: "inferred"})
		key.When = map[string][]string{"kms:ViaService": {"secretsmanager." + place.Region + ".amazonaws.com"}}
		s.add(key)
	}
}

// parameter is the ARN of a parameter of Systems Manager. Those of AWS are in no account.
func (p Place) parameter(name string) string {
	if strings.HasPrefix(name, "arn:") {
		return name
	}
	account := p.Account
	if strings.HasPrefix(name, "/aws/") {
		account = ""
	}
	return "arn:" + p.Partition + ":ssm:" + p.Region + ":" + account + ":parameter/" + strings.TrimPrefix(name, "/")
}

// ownTypes are those that CloudFormation provisions without handlers.
var ownTypes = map[string]func(*subject){
	"AWS::CloudFormation::WaitConditionHandle": func(*subject) {},
	"AWS::CloudFormation::WaitCondition":       func(*subject) {},
	"AWS::CloudFormation::Stack":               (*subject).nested,
}

// nested adds the requests for a nested stack.
func (s *subject) nested() {
	place := s.in.Place
	calls := map[Kind][]string{
		Create: {"CreateStack", "DeleteStack", "DescribeStacks"}, Update: {"UpdateStack", "CreateStack", "DescribeStacks"},
		Replace: {"CreateStack", "UpdateStack", "DeleteStack", "DescribeStacks"}, Delete: {"DeleteStack", "DescribeStacks"}, Import: {"DescribeStacks"},
	}
	on := "arn:" + place.Partition + ":cloudformation:" + place.Region + ":" + place.Account + ":stack/" + place.Stack + "-*"
	for _, name := range calls[s.Kind] {
		s.add(Entry{Action: "cloudformation:" + name, On: []string{on}, Why: "cloudformation", Confidence: "inferred"})
	}
	if s.Kind == Delete {
		return
	}
	for _, l := range s.leaves {
		if len(l.path) == 1 && l.path[0] == "TemplateURL" {
			s.add(Entry{Action: "s3:GetObject", On: []string{"arn:" + place.Partition + ":s3:::" + object(wild(l.text))}, Why: "cloudformation", Confidence: "inferred"})
		}
	}
	s.references()
}

// object is BUCKET/KEY of the URL of an object, "*" for what is not known.
func object(url string) string {
	_, rest, found := strings.Cut(url, "://")
	if !found {
		return "*"
	}
	rest, _, _ = strings.Cut(rest, "?")
	host, key, _ := strings.Cut(rest, "/")
	if bucket, _, virtual := strings.Cut(host, ".s3"); virtual {
		return bucket + "/" + key
	}
	return key
}

// requests adds the requests to CloudFormation itself.
func (c *computer) requests() {
	place := c.in.Place
	stack := "arn:" + place.Partition + ":cloudformation:" + place.Region + ":" + place.Account + ":stack/" + place.Stack + "/*"
	request := func(identity, name, on string) {
		c.add(Entry{Identity: identity, Action: name, On: []string{on}, Why: "cloudformation", Confidence: "declared"})
	}
	for _, name := range c.in.Calls {
		on := stack
		if name == "DescribeType" { // of no stack
			on = "*"
		}
		request(Caller, "cloudformation:"+name, on)
	}
	if c.in.Tags {
		request(Caller, "cloudformation:TagResource", stack)
	}
	if c.in.RoleARN != "" {
		c.add(Entry{
			Identity: Caller, Action: "iam:PassRole", On: []string{c.in.RoleARN}, Why: "cloudformation", Confidence: "declared",
			When: map[string][]string{"iam:PassedToService": {"cloudformation.amazonaws.com"}},
		})
	}
	if c.in.Upload != "" {
		bucket, _, _ := strings.Cut(object(c.in.Upload), "/")
		request(Caller, "s3:PutObject", "arn:"+place.Partition+":s3:::"+bucket+"/*")
		request(Caller, "s3:GetObject", "arn:"+place.Partition+":s3:::"+bucket+"/*")
	}
	if c.in.Root == nil {
		return
	}
	for _, name := range c.in.Root.Template().UsedTransforms() {
		own, found := strings.CutPrefix(name, "AWS::")
		if found {
			request(Caller, "cloudformation:CreateChangeSet", "arn:"+place.Partition+":cloudformation:"+place.Region+":aws:transform/"+own)
			continue
		}
		request(Caller, "cloudformation:CreateChangeSet", "arn:"+place.Partition+":cloudformation:"+place.Region+":"+place.Account+":transform/"+name)
		request(c.stack, "lambda:InvokeFunction", "arn:"+place.Partition+":lambda:"+place.Region+":*:function:*")
		c.out.Remarks = append(c.out.Remarks, Remark{Text: "the function of the macro " + name + " is not known, so lambda:InvokeFunction is for all functions"})
	}
}

// parameters adds what reads the parameters of Systems Manager that parameters of the template name.
func (c *computer) parameters() {
	if c.in.Root == nil {
		return
	}
	for _, p := range c.in.Root.Template().Parameters {
		if !p.IsStored() {
			continue
		}
		name := "*"
		if bound, ok := c.in.Root.Parameters().Get(p.Name); ok && bound.Value != "" {
			name = bound.Value
		}
		c.add(Entry{Identity: c.stack, Action: "ssm:GetParameters", On: []string{c.in.Place.parameter(name)}, Why: "reference", Confidence: "inferred"})
	}
}
