package permissions

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/proving/httptape"
)

// Seen are the calls of services that the handlers of types were seen to make in recordings, by type.
type Seen map[string]*Calls

// Calls are what handlers called.
type Calls struct {
	Actions []string // sorted: sqs:CreateQueue
	Unknown []string // calls of AWS of which no action is known, sorted: PUT https://sqs.eu-west-1.amazonaws.com/
}

// Add adds the calls of a recording.
func (s Seen) Add(tape *httptape.Tape) {
	calls := s[tape.Info.TypeName]
	if calls == nil {
		calls = &Calls{}
		s[tape.Info.TypeName] = calls
	}
	for e := range tape.Entries() {
		u, err := url.Parse(e.URL)
		if err != nil || !ofAWS(u.Hostname()) && e.Target == "" {
			continue // a service of somebody else needs no permission of IAM
		}
		switch name := actionOfCall(e, u); name {
		case "":
			calls.Unknown = append(calls.Unknown, e.Method+" "+u.Scheme+"://"+u.Host+u.EscapedPath())
		case "sts:GetCallerIdentity": // everybody may
		default:
			calls.Actions = append(calls.Actions, name)
		}
	}
	for _, list := range []*[]string{&calls.Actions, &calls.Unknown} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// Undeclared are the actions that were seen and are declared by no handler of a schema.
func (c *Calls) Undeclared(s *schema.Schema) []string {
	return slices.DeleteFunc(slices.Clone(c.Actions), func(name string) bool {
		for _, declared := range declaredBy(s) {
			if covers(strings.ToLower(declared), strings.ToLower(name)) {
				return true
			}
		}
		return false
	})
}

// Unseen are the actions that a schema declares and that were not seen.
func (c *Calls) Unseen(s *schema.Schema) (out []string) {
	for _, declared := range declaredBy(s) {
		if !slices.ContainsFunc(c.Actions, func(name string) bool { return covers(strings.ToLower(declared), strings.ToLower(name)) }) {
			out = append(out, declared)
		}
	}
	return out
}

// declaredBy are the actions that the handlers of a schema declare, sorted.
func declaredBy(s *schema.Schema) (out []string) {
	for _, h := range s.Handlers {
		for _, p := range h.Permissions {
			if wellFormed.MatchString(p.Value) {
				out = append(out, p.Value)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func ofAWS(host string) bool {
	return slices.ContainsFunc([]string{".amazonaws.com", ".amazonaws.com.cn", ".api.aws"}, func(end string) bool { return strings.HasSuffix(strings.ToLower(host), end) })
}

// prefixes are the services whose actions have another prefix than their hosts.
var prefixes = map[string]string{
	"monitoring": "cloudwatch", "email": "ses", "api.ecr": "ecr", "streams.dynamodb": "dynamodb", "tagging": "tag", "api.sagemaker": "sagemaker",
	"runtime.sagemaker": "sagemaker", "api.pricing": "pricing", "oidc": "sso-oauth", "portal.sso": "sso", "queue": "sqs", "data.iot": "iot",
	"mobileanalytics": "mobileanalytics", "s3-control": "s3", "models.lex": "lex", "runtime.lex": "lex", "api.elastic-inference": "elastic-inference",
}

// targets are the services of requests in JSON, by what their header X-Amz-Target begins with, in lower case.
var targets = []struct{ begin, prefix string }{
	{"dynamodb", "dynamodb"}, {"amazonsqs", "sqs"}, {"amazonssm", "ssm"}, {"secretsmanager", "secretsmanager"}, {"logs", "logs"}, {"awsevents", "events"},
	{"awsstepfunctions", "states"}, {"trentservice", "kms"}, {"kinesis", "kinesis"}, {"amazonec2containerservice", "ecs"},
	{"amazonec2containerregistry", "ecr"}, {"awscognitoidentityprovider", "cognito-idp"}, {"starlingdove", "config"}, {"certificatemanager", "acm"},
	{"graniteservice", "cloudwatch"}, {"awsglue", "glue"}, {"cloudtrail", "cloudtrail"}, {"com.amazonaws.cloudtrail", "cloudtrail"},
}

// region is a label of a host that names no service.
var region = lazyregexp.New(`^([a-z]{2,4}(-[a-z]+)+-\d{1,2}|fips|dualstack|aws-global)$`)

// prefixesOf are the prefixes of actions that a call may be of, the likely one first.
func prefixesOf(e *httptape.Entry, host string) (out []string) {
	if ofAWS(host) {
		labels := strings.Split(strings.ToLower(host), ".")
		labels = labels[:len(labels)-2]
		labels = slices.DeleteFunc(labels, func(l string) bool {
			return region.MatchString(l) || l == "cn" || l == "amazonaws" || l == "api" && len(labels) == 1
		})
		for i := range labels {
			labels[i] = strings.TrimSuffix(labels[i], "-fips")
		}
		if n := len(labels); n > 0 {
			out = append(out, cmp.Or(prefixes[strings.Join(labels[max(0, n-2):], ".")], prefixes[labels[n-1]], labels[n-1]))
		}
	}
	target := strings.ToLower(e.Target)
	for _, t := range targets {
		if strings.HasPrefix(target, t.begin) {
			out = append(out, t.prefix)
		}
	}
	return out
}

// actionOfCall is the action that a call needs, "" if it is not known.
func actionOfCall(e *httptape.Entry, u *url.URL) string {
	for _, prefix := range prefixesOf(e, u.Hostname()) {
		if strings.HasPrefix(prefix, "s3-") || strings.HasSuffix(u.Hostname(), ".s3.amazonaws.com") {
			prefix = "s3"
		}
		name := operationOf(e, u)
		switch {
		case name != "":
		case prefix == "s3":
			name = s3Operation(e.Method, u)
		case prefix == "lambda":
			name = lambdaOperation(e.Method, u.EscapedPath())
		case prefix == "apigateway":
			name = e.Method
		case prefix == "execute-api":
			name = "Invoke"
		}
		if known := actionOf(prefix + ":" + name); known != nil {
			return known.name
		}
	}
	return ""
}

var rpc = lazyregexp.New(`/operation/([A-Za-z0-9]+)$`)

// operationOf is the operation that a request names, "" for those of a REST service.
func operationOf(e *httptape.Entry, u *url.URL) string {
	if i := strings.LastIndexByte(e.Target, '.'); i >= 0 {
		return e.Target[i+1:]
	}
	if m := rpc.FindStringSubmatch(u.Path); m != nil {
		return m[1]
	}
	if form, err := url.ParseQuery(e.RequestBody); err == nil && e.Method == http.MethodPost && form.Get("Action") != "" {
		return form.Get("Action")
	}
	return u.Query().Get("Action")
}

// bucketParts are the parameters of requests on buckets, with what is read and changed.
var bucketParts = map[string]string{
	"policy": "BucketPolicy", "policyStatus": "BucketPolicyStatus", "versioning": "BucketVersioning", "tagging": "BucketTagging", "encryption": "EncryptionConfiguration",
	"lifecycle": "LifecycleConfiguration", "cors": "BucketCORS", "acl": "BucketAcl", "website": "BucketWebsite", "logging": "BucketLogging",
	"notification": "BucketNotification", "location": "BucketLocation", "publicAccessBlock": "BucketPublicAccessBlock", "ownershipControls": "BucketOwnershipControls",
	"object-lock": "BucketObjectLockConfiguration", "replication": "ReplicationConfiguration", "accelerate": "AccelerateConfiguration", "requestPayment": "BucketRequestPayment",
	"analytics": "AnalyticsConfiguration", "inventory": "InventoryConfiguration", "metrics": "MetricsConfiguration", "intelligent-tiering": "IntelligentTieringConfiguration",
}

// s3Operation is the action of a request to S3.
func s3Operation(method string, u *url.URL) string {
	bucket, _, _ := strings.Cut(u.Hostname(), ".")
	key := strings.Trim(u.Path, "/")
	if bucket == "s3" || strings.HasPrefix(bucket, "s3-") {
		bucket, key, _ = strings.Cut(key, "/")
	}
	query := u.Query()
	verb := map[string]string{http.MethodGet: "Get", http.MethodHead: "Get", http.MethodPut: "Put", http.MethodPost: "Put", http.MethodDelete: "Delete"}[method]
	if key != "" {
		for _, part := range []string{"tagging", "acl", "retention", "legal-hold"} {
			if query.Has(part) {
				return verb + "Object" + map[string]string{"tagging": "Tagging", "acl": "Acl", "retention": "Retention", "legal-hold": "LegalHold"}[part]
			}
		}
		if query.Has("uploadId") && method == http.MethodDelete {
			return "AbortMultipartUpload"
		}
		return verb + "Object"
	}
	for part, name := range bucketParts {
		if !query.Has(part) {
			continue
		}
		if verb == "Delete" && part != "policy" && part != "website" { // IAM has no action of its own for it
			verb = "Put"
		}
		return verb + name
	}
	switch {
	case bucket == "":
		return "ListAllMyBuckets"
	case query.Has("delete"):
		return "DeleteObject"
	case query.Has("versions"):
		return "ListBucketVersions"
	case query.Has("uploads"):
		return "ListBucketMultipartUploads"
	case verb == "Get":
		return "ListBucket"
	case verb == "Put":
		return "CreateBucket"
	}
	return verb + "Bucket"
}

// lambdaRoutes are the requests to Lambda, without the date that their paths begin with.
var lambdaRoutes = []struct{ method, path, name string }{
	{"POST", "functions", "CreateFunction"}, {"GET", "functions", "ListFunctions"}, {"GET", "functions/*", "GetFunction"}, {"DELETE", "functions/*", "DeleteFunction"},
	{"GET", "functions/*/configuration", "GetFunctionConfiguration"}, {"PUT", "functions/*/configuration", "UpdateFunctionConfiguration"},
	{"PUT", "functions/*/code", "UpdateFunctionCode"}, {"POST", "functions/*/invocations", "InvokeFunction"}, {"POST", "functions/*/versions", "PublishVersion"},
	{"GET", "functions/*/versions", "ListVersionsByFunction"}, {"POST", "functions/*/policy", "AddPermission"}, {"GET", "functions/*/policy", "GetPolicy"},
	{"DELETE", "functions/*/policy/*", "RemovePermission"}, {"POST", "functions/*/aliases", "CreateAlias"}, {"GET", "functions/*/aliases/*", "GetAlias"},
	{"PUT", "functions/*/aliases/*", "UpdateAlias"}, {"DELETE", "functions/*/aliases/*", "DeleteAlias"}, {"PUT", "functions/*/concurrency", "PutFunctionConcurrency"},
	{"DELETE", "functions/*/concurrency", "DeleteFunctionConcurrency"}, {"GET", "tags/*", "ListTags"}, {"POST", "tags/*", "TagResource"}, {"DELETE", "tags/*", "UntagResource"},
	{"POST", "event-source-mappings", "CreateEventSourceMapping"}, {"GET", "event-source-mappings", "ListEventSourceMappings"}, {"GET", "event-source-mappings/*", "GetEventSourceMapping"},
	{"PUT", "event-source-mappings/*", "UpdateEventSourceMapping"}, {"DELETE", "event-source-mappings/*", "DeleteEventSourceMapping"},
}

// lambdaOperation is the action of a request to Lambda, "" if it is not known.
func lambdaOperation(method, path string) string {
	_, path, _ = strings.Cut(strings.Trim(path, "/"), "/")
	parts := strings.Split(path, "/")
	for _, r := range lambdaRoutes {
		if r.method == method && slices.EqualFunc(strings.Split(r.path, "/"), parts, func(of, part string) bool { return of == "*" || of == part }) {
			return r.name
		}
	}
	return ""
}

// seen adds what the handlers of the type were seen to call and do not declare. Which handler made a call is on no recording, so that
// every change needs it.
func (s *subject) seen() {
	calls := s.computer.in.Seen[s.Type]
	if calls == nil {
		return
	}
	for _, name := range calls.Undeclared(s.typ.Schema) {
		known := actionOf(name)
		s.add(Entry{Action: known.name, On: s.arns(known), Why: "seen while recording", Confidence: "seen"})
		s.remark("%s was seen while recording, and no handler declares it", known.name)
	}
	for _, call := range calls.Unknown {
		s.remark("%s was seen while recording; its action is not known and is left out", call)
	}
	if unseen := calls.Unseen(s.typ.Schema); len(unseen) > 0 {
		s.remark("declared, and not seen while recording: %s", strings.Join(unseen, ", "))
	}
}
