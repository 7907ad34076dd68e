package builtin_test

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/seal"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/builtin"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/macro"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awslite"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/functions"
	"github.com/formwork-dev/formwork/internal/services/logs"
	"github.com/formwork-dev/formwork/internal/services/s3"
)

var caller = awswire.Caller{Place: awswire.Place{Account: "111122223333", Region: "eu-west-1"}, RequestID: "request"}

// A bench is the types over real services.
type bench struct {
	*builtin.Types
	services *awslite.Services
	s3       *s3.Service
}

func open(t *testing.T, place fixtures.Place) *bench {
	t.Helper()
	return openWith(t, place, nil)
}

// openWith is open with imported schemas, and with functions.
func openWith(t *testing.T, place fixtures.Place, imported func(context.Context, string) (*schema.Schema, error)) *bench {
	t.Helper()
	opened, err := store.Open(t.Context(), store.Config{Dir: place.Dir, DSN: place.DSN})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	sealer, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	services, err := awslite.New(awslite.Config{Store: opened, Sealer: sealer, Account: caller.Account})
	if err != nil {
		t.Fatal(err)
	}
	events := logs.New(logs.Config{Store: opened})
	t.Cleanup(func() { _ = events.Close() })
	buckets := s3.New(s3.Config{Store: opened})
	config := builtin.Config{Store: opened, Imported: imported, Tables: append(services.Tables(), events.Table()), S3: buckets.Serve, Macros: macro.New(macro.Config{Store: opened, S3: buckets})}
	if imported != nil {
		config.Functions, config.RunLambda = functions.New(functions.Config{Store: opened, Dir: t.TempDir()}), true
	}
	types, err := builtin.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{types, services, buckets}
}

// run makes the calls of an operation until it ends, repeating each, as if the process had
// died before the answer was written down.
func run(t *testing.T, all *bench, request operation.Request) operation.Progress {
	t.Helper()
	request.Caller, request.StackName, request.LogicalID = caller, "Stack", "Thing"
	if request.Token == "" {
		request.Token = strings.ToLower(string(request.Action)) + "-token-0123456789abcdef0123456789"
	}
	typ, err := all.Type(t.Context(), caller, request.Type, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		progress, err := typ.Provider.Call(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if request.Action == invoke.Create && progress.Status != types.OperationStatusFailed {
			again, err := typ.Provider.Call(t.Context(), request)
			if err != nil || again.Status != progress.Status || again.Identifier != progress.Identifier {
				t.Fatalf("the same call again: %+v, %v; before %+v", again, err, progress)
			}
		}
		if progress.Terminal() {
			return progress
		}
		if progress.Identifier == "" {
			t.Fatalf("a create in progress does not tell its identifier: %+v", progress)
		}
		request.Callback, request.Identifier = progress.Callback, ""
	}
	t.Fatal("the operation does not end")
	return operation.Progress{}
}

type object = map[string]any
type list = []any

// lives are one resource of each type: how it is created, read back, updated and read back.
var lives = map[string]struct {
	create, created object
	update, updated object
	before          []operation.Request // what it needs
}{
	"AWS::SSM::Parameter": {
		create:  object{"Type": "String", "Value": "one", "Tags": object{"a": "1", "b": "2"}},
		created: object{"Type": "String", "Value": "one", "DataType": "text", "Tags": object{"a": "1", "b": "2", "team": "x"}},
		update:  object{"Type": "String", "Value": "two", "Tags": object{"a": "9"}},
		updated: object{"Type": "String", "Value": "two", "DataType": "text", "Tags": object{"a": "9", "team": "x"}},
	},
	"AWS::CloudFormation::Macro": {
		create:  object{"Name": "Upper", "FunctionName": "upper", "LogGroupName": "/m"},
		created: object{"Name": "Upper", "FunctionName": "upper", "LogGroupName": "/m"},
		update:  object{"Name": "Upper", "FunctionName": "arn:aws:lambda:us-east-1:1:function:lower", "Description": "d"},
		updated: object{"Name": "Upper", "FunctionName": "arn:aws:lambda:us-east-1:1:function:lower", "Description": "d"},
	},
	"AWS::Logs::LogGroup": {
		create:  object{"RetentionInDays": 7.0},
		created: object{"LogGroupClass": "STANDARD", "RetentionInDays": 7.0, "Tags": list{object{"Key": "team", "Value": "x"}}},
		update:  object{"Tags": list{object{"Key": "k", "Value": "v"}}},
		updated: object{"LogGroupClass": "STANDARD", "Tags": list{object{"Key": "k", "Value": "v"}, object{"Key": "team", "Value": "x"}}},
	},
	"AWS::Logs::LogStream": {
		before:  []operation.Request{{Action: invoke.Create, Type: "AWS::Logs::LogGroup", Token: "group", Desired: object{"LogGroupName": "/g"}}},
		create:  object{"LogGroupName": "/g", "LogStreamName": "s"},
		created: object{"LogGroupName": "/g", "LogStreamName": "s"},
		updated: object{"LogGroupName": "/g", "LogStreamName": "s"},
	},
	"AWS::SecretsManager::Secret": {
		create:  object{"Description": "d", "GenerateSecretString": object{"PasswordLength": 20.0, "SecretStringTemplate": `{"user":"u"}`, "GenerateStringKey": "password"}},
		created: object{"Description": "d", "Tags": list{object{"Key": "team", "Value": "x"}}},
		update:  object{"Description": "e", "SecretString": "new", "ReplicaRegions": list{object{"Region": "eu-west-1"}}},
		updated: object{"Description": "e", "ReplicaRegions": list{object{"Region": "eu-west-1"}}, "Tags": list{object{"Key": "team", "Value": "x"}}},
	},
	"AWS::S3::Bucket": {
		create: object{
			"VersioningConfiguration":   object{"Status": "Enabled"},
			"BucketEncryption":          object{"ServerSideEncryptionConfiguration": list{object{"ServerSideEncryptionByDefault": object{"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "key"}}}},
			"LifecycleConfiguration":    object{"Rules": list{object{"Id": "old", "Status": "Enabled", "NoncurrentVersionExpiration": object{"NoncurrentDays": 30.0}, "Transitions": list{object{"StorageClass": "GLACIER", "TransitionInDays": 30.0}}}}},
			"NotificationConfiguration": object{"EventBridgeConfiguration": object{"EventBridgeEnabled": true}, "LambdaConfigurations": list{object{"Event": "s3:ObjectCreated:*", "Function": "arn:aws:lambda:eu-west-1:111122223333:function:f", "Filter": object{"S3Key": object{"Rules": list{object{"Name": "prefix", "Value": "in/"}}}}}}, "QueueConfigurations": list{object{"Event": "s3:ObjectRemoved:*", "Queue": "arn:aws:sqs:eu-west-1:111122223333:q"}}, "TopicConfigurations": list{object{"Event": "s3:ObjectRemoved:*", "Topic": "arn:aws:sns:eu-west-1:111122223333:t"}}},
			"CorsConfiguration":         object{"CorsRules": list{object{"AllowedMethods": list{"GET"}, "AllowedOrigins": list{"*"}, "MaxAge": 5.0}}},
			"LoggingConfiguration":      object{"DestinationBucketName": "logs", "LogFilePrefix": "a", "TargetObjectKeyFormat": object{"PartitionedPrefix": object{"PartitionDateSource": "EventTime"}}},
			"WebsiteConfiguration":      object{"IndexDocument": "index.html"}, "ObjectLockEnabled": true, "AccessControl": "PublicRead",
		},
		created: object{
			"VersioningConfiguration":        object{"Status": "Enabled"},
			"BucketEncryption":               object{"ServerSideEncryptionConfiguration": list{object{"ServerSideEncryptionByDefault": object{"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "key"}}}},
			"LifecycleConfiguration":         object{"Rules": list{object{"Id": "old", "Status": "Enabled", "NoncurrentVersionExpiration": object{"NoncurrentDays": 30.0}, "Transitions": list{object{"StorageClass": "GLACIER", "TransitionInDays": 30.0}}}}},
			"NotificationConfiguration":      object{"EventBridgeConfiguration": object{"EventBridgeEnabled": true}, "LambdaConfigurations": list{object{"Event": "s3:ObjectCreated:*", "Function": "arn:aws:lambda:eu-west-1:111122223333:function:f", "Filter": object{"S3Key": object{"Rules": list{object{"Name": "prefix", "Value": "in/"}}}}}}, "QueueConfigurations": list{object{"Event": "s3:ObjectRemoved:*", "Queue": "arn:aws:sqs:eu-west-1:111122223333:q"}}, "TopicConfigurations": list{object{"Event": "s3:ObjectRemoved:*", "Topic": "arn:aws:sns:eu-west-1:111122223333:t"}}},
			"CorsConfiguration":              object{"CorsRules": list{object{"AllowedMethods": list{"GET"}, "AllowedOrigins": list{"*"}, "MaxAge": 5.0}}},
			"LoggingConfiguration":           object{"DestinationBucketName": "logs", "LogFilePrefix": "a", "TargetObjectKeyFormat": object{"PartitionedPrefix": object{"PartitionDateSource": "EventTime"}}},
			"OwnershipControls":              object{"Rules": list{object{"ObjectOwnership": "BucketOwnerEnforced"}}},
			"PublicAccessBlockConfiguration": object{"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true},
			"Tags":                           list{object{"Key": "team", "Value": "x"}},
			"WebsiteConfiguration":           object{"IndexDocument": "index.html"}, "ObjectLockEnabled": true,
		},
		update: object{"PublicAccessBlockConfiguration": object{"BlockPublicAcls": true}, "ReplicationConfiguration": object{"Role": "r"}},
		updated: object{
			"ReplicationConfiguration":       object{"Role": "r"},
			"VersioningConfiguration":        object{"Status": "Suspended"},
			"BucketEncryption":               object{"ServerSideEncryptionConfiguration": list{object{"ServerSideEncryptionByDefault": object{"SSEAlgorithm": "AES256"}}}}, // S3 always has some
			"PublicAccessBlockConfiguration": object{"BlockPublicAcls": true},
			"Tags":                           list{object{"Key": "team", "Value": "x"}},
		},
	},
	"AWS::S3::BucketPolicy": {
		before:  []operation.Request{{Action: invoke.Create, Type: "AWS::S3::Bucket", Token: "bucket", Desired: object{"BucketName": "bucket"}}},
		create:  object{"Bucket": "bucket", "PolicyDocument": object{"Version": "2012-10-17", "Statement": list{}}},
		created: object{"Bucket": "bucket", "PolicyDocument": object{"Version": "2012-10-17", "Statement": list{}}},
		update:  object{"Bucket": "bucket", "PolicyDocument": object{"Version": "2012-10-17", "Statement": list{object{"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*"}}}},
		updated: object{"Bucket": "bucket", "PolicyDocument": object{"Version": "2012-10-17", "Statement": list{object{"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*"}}}},
	},
}

func TestLife(t *testing.T) {
	made := cmpopts.IgnoreMapEntries(func(name string, value any) bool {
		switch name {
		case "Arn", "Id", "DomainName", "RegionalDomainName", "DualStackDomainName", "WebsiteURL", "Name", "BucketName", "BucketKeyEnabled":
			return true
		case "LogGroupName":
			return strings.HasPrefix(value.(string), "Stack-Thing-")
		}
		return false
	})
	for _, place := range fixtures.Stores(t) {
		all := open(t, place)
		if diff := cmp.Diff(len(lives), len(all.Names())); diff != "" {
			t.Errorf("%d types have a life in this test, of %v", len(lives), all.Names())
		}
		for name, life := range lives {
			t.Run(place.Name+"/"+name, func(t *testing.T) {
				for _, request := range life.before {
					if p := run(t, all, request); p.Status != types.OperationStatusSuccess {
						t.Fatalf("what it needs: %+v", p)
					}
				}
				tags := map[string]string{"team": "x"}
				created := run(t, all, operation.Request{Action: invoke.Create, Type: name, Desired: life.create, StackTags: tags})
				if created.Status != types.OperationStatusSuccess {
					t.Fatalf("create: %+v", created)
				}
				check(t, all, name, "create", life.created, created, made)
				other := run(t, all, operation.Request{Action: invoke.Create, Type: name, Token: "other-token-0123456789abcdef01234567", Desired: identified(all, t, name, created)})
				if other.ErrorCode != "AlreadyExists" {
					t.Errorf("a second one with the same identifier: %+v", other)
				}
				if life.update != nil {
					updated := run(t, all, operation.Request{Action: invoke.Update, Type: name, Identifier: created.Identifier, Desired: life.update, Previous: life.create, StackTags: tags})
					if updated.Status != types.OperationStatusSuccess {
						t.Fatalf("update: %+v", updated)
					}
				}
				read := run(t, all, operation.Request{Action: invoke.Read, Type: name, Identifier: created.Identifier})
				check(t, all, name, "read", life.updated, read, made)
				deleted := run(t, all, operation.Request{Action: invoke.Delete, Type: name, Identifier: created.Identifier})
				if deleted.Status != types.OperationStatusSuccess {
					t.Fatalf("delete: %+v", deleted)
				}
				for _, action := range []invoke.Action{invoke.Read, invoke.Update, invoke.Delete} {
					p := run(t, all, operation.Request{Action: action, Type: name, Identifier: created.Identifier, Desired: life.create})
					if p.ErrorCode != "NotFound" || p.Message != "Resource of type '"+name+"' with identifier '"+created.Identifier+"' was not found." {
						t.Errorf("%s of what is deleted: %+v", action, p)
					}
				}
			})
		}
	}
}

// identified is a model with the same identifier, and what is required beside it.
func identified(all *bench, t *testing.T, name string, created operation.Progress) object {
	t.Helper()
	typ, err := all.Type(t.Context(), caller, name, "")
	if err != nil {
		t.Fatal(err)
	}
	model := object{}
	for _, key := range append([]string{"Name", "BucketName", "LogGroupName", "LogStreamName", "Bucket"}, typ.Schema.Required...) {
		if value, ok := created.Model[key]; ok {
			model[key] = value
		}
	}
	return model
}

func check(t *testing.T, all *bench, name, action string, want object, got operation.Progress, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got.Model, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", action, diff)
	}
	typ, err := all.Type(t.Context(), caller, name, "")
	if err != nil {
		t.Fatal(err)
	}
	if violations := typ.Schema.Check(got.Model, schema.CheckConfig{Shape: true}); len(violations) > 0 {
		t.Errorf("%s breaks the schema: %v", action, violations)
	}
	for _, path := range typ.Schema.ReadOnly {
		if len(schema.Present(got.Model, []schema.Path{path})) == 0 {
			t.Errorf("%s: %s is missing", action, path)
		}
	}
}

// TestRefusals: what the services here do not do is said by name.
func TestRefusals(t *testing.T) {
	all := open(t, fixtures.Place{Dir: t.TempDir()})
	for name, test := range map[string]struct {
		typ     string
		desired object
		code    string
		message string
	}{
		"transitions":      {"AWS::S3::Bucket", object{"BucketName": "lc-unknown", "LifecycleConfiguration": object{"Rules": list{object{"Status": "Enabled", "Forever": true}}}}, "InvalidRequest", "LifecycleConfiguration: The member Forever of a lifecycle rule is not supported by this server."},
		"lifecycle value":  {"AWS::S3::Bucket", object{"BucketName": "lc-value", "LifecycleConfiguration": object{"Rules": list{object{"Status": "Enabled", "ExpirationInDays": "soon"}}}}, "InvalidRequest", "LifecycleConfiguration: The value of ExpirationInDays in a lifecycle rule is invalid."},
		"transition date":  {"AWS::S3::Bucket", object{"BucketName": "lc-date", "LifecycleConfiguration": object{"Rules": list{object{"Status": "Enabled", "Transition": object{"StorageClass": "GLACIER", "TransitionDate": "soon"}}}}}, "InvalidRequest", "LifecycleConfiguration: TransitionDate is not a time: soon"},
		"two transitions":  {"AWS::S3::Bucket", object{"BucketName": "lc-two", "LifecycleConfiguration": object{"Rules": list{object{"Status": "Enabled", "Transition": object{"StorageClass": "GLACIER", "TransitionDate": "2030-01-01T00:00:00Z", "TransitionInDays": 1.0}}}}}, "InvalidRequest", "LifecycleConfiguration: A transition must contain StorageClass, and either TransitionInDays or TransitionDate."},
		"days in the past": {"AWS::S3::Bucket", object{"BucketName": "days", "LifecycleConfiguration": object{"Rules": list{object{"Status": "Enabled", "Transitions": list{object{"StorageClass": "GLACIER", "TransitionInDays": "-1"}}}}}}, "InvalidRequest", "LifecycleConfiguration: 'Days' in the Transition action must be nonnegative."},
		"both values":      {"AWS::SecretsManager::Secret", object{"SecretString": "s", "GenerateSecretString": object{}}, "InvalidRequest", "You can't specify both SecretString and GenerateSecretString."},
		"half a template":  {"AWS::SecretsManager::Secret", object{"GenerateSecretString": object{"GenerateStringKey": "k"}}, "InvalidRequest", "SecretStringTemplate and GenerateStringKey must be specified together."},
		"bad parameter":    {"AWS::SSM::Parameter", object{"Name": "/x", "Type": "String", "Value": "v", "AllowedPattern": "^[0-9]+$"}, "InvalidRequest", ""},
		"no bucket":        {"AWS::S3::BucketPolicy", object{"Bucket": "nowhere", "PolicyDocument": object{"Statement": list{}}}, "NotFound", ""},
		"stream, no group": {"AWS::Logs::LogStream", object{"LogGroupName": "nowhere"}, "NotFound", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := run(t, all, operation.Request{Action: invoke.Create, Type: test.typ, Desired: test.desired})
			if p.Status != types.OperationStatusFailed || p.ErrorCode != test.code || p.Message == "" || test.message != "" && p.Message != test.message {
				t.Errorf("got %+v", p)
			}
		})
	}
	if _, err := all.Type(t.Context(), caller, "AWS::EC2::Instance", ""); err == nil {
		t.Error("there is a type AWS::EC2::Instance")
	}
}

// TestFullBucket: the failure of a delete is what the service says.
// TestNotificationsOfClients: what a client set stays if the template never had it.
func TestNotificationsOfClients(t *testing.T) {
	all := open(t, fixtures.Place{Dir: t.TempDir()})
	notification := object{"EventBridgeConfiguration": object{"EventBridgeEnabled": true}}
	if p := run(t, all, operation.Request{Action: invoke.Create, Type: "AWS::S3::Bucket", Desired: object{"BucketName": "bucket", "NotificationConfiguration": notification}}); p.Status != types.OperationStatusSuccess {
		t.Fatalf("%+v", p)
	}
	update := operation.Request{Action: invoke.Update, Type: "AWS::S3::Bucket", Identifier: "bucket", Desired: object{"BucketName": "bucket"}, Previous: object{"BucketName": "bucket"}}
	if p := run(t, all, update); p.Model["NotificationConfiguration"] == nil {
		t.Errorf("an update without it: %+v", p)
	}
	update.Previous["NotificationConfiguration"] = notification
	if p := run(t, all, update); p.Status != types.OperationStatusSuccess || p.Model["NotificationConfiguration"] != nil {
		t.Errorf("an update that removes it: %+v", p)
	}
}

func TestFullBucket(t *testing.T) {
	all := open(t, fixtures.Place{Dir: t.TempDir()})
	if p := run(t, all, operation.Request{Action: invoke.Create, Type: "AWS::S3::Bucket", Desired: object{"BucketName": "full"}}); p.Status != types.OperationStatusSuccess {
		t.Fatalf("create: %+v", p)
	}
	if _, err := all.s3.Put(t.Context(), caller.Account, s3.Location{Bucket: "full", Key: "k"}, "", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	p := run(t, all, operation.Request{Action: invoke.Delete, Type: "AWS::S3::Bucket", Identifier: "full"})
	if p.Status != types.OperationStatusFailed || p.Message != "The bucket you tried to delete is not empty" {
		t.Errorf("delete: %+v", p)
	}
}

// TestPropertyFaults: properties are held against the schema when the resource is created,
// in the words of the service.
func TestPropertyFaults(t *testing.T) {
	all := open(t, fixtures.Place{Dir: t.TempDir()})
	p := run(t, all, operation.Request{Action: invoke.Create, Type: "AWS::SSM::Parameter", Desired: object{"Value": "v"}})
	if !p.Own || p.Message != "Property validation failure: [The property {/Type} is required]" {
		t.Errorf("got %+v", p)
	}
	p = run(t, all, operation.Request{Action: invoke.Create, Type: "AWS::SSM::Parameter", Desired: object{"Value": "v", "Type": "Other", "Colour": "red"}})
	if !strings.Contains(p.Message, "Encountered unsupported properties in {}: [Colour]") || !strings.Contains(p.Message, "The property {/Type} ") {
		t.Errorf("got %+v", p)
	}
}

// TestImportedSchema: what the published schema of a built-in type refuses is refused, and its properties
// that this server does not know are stored.
func TestImportedSchema(t *testing.T) {
	published, problems := schema.Load("bucket.json", []byte(`{"typeName": "AWS::S3::Bucket", "description": "d", "additionalProperties": false,
		"properties": {"BucketName": {"type": "string", "maxLength": 8}, "Arn": {"type": "string"}, "Colour": {"type": "string"}},
		"primaryIdentifier": ["/properties/BucketName"], "readOnlyProperties": ["/properties/Arn"]}`), schema.Config{Kind: schema.Resource})
	if published == nil {
		t.Fatal(problems)
	}
	all := openWith(t, fixtures.Place{Dir: t.TempDir()}, func(_ context.Context, name string) (*schema.Schema, error) {
		if name != "AWS::S3::Bucket" {
			return nil, nil
		}
		return published, nil
	})
	p := run(t, all, operation.Request{Action: invoke.Create, Type: "AWS::S3::Bucket", Desired: object{"BucketName": "far-too-long", "Color": "red", "Colour": 1.0}})
	want := "Property validation failure: [Encountered unsupported properties in {}: [Color], The property {/BucketName} has 12 characters; the maximum is 8, The property {/Colour} must be a string but is a number]"
	if p.Message != want {
		t.Errorf("got %s\nwant %s", p.Message, want)
	}
	p = run(t, all, operation.Request{Action: invoke.Create, Type: "AWS::S3::Bucket", Desired: object{"BucketName": "bucket", "Colour": "red"}})
	if p.Status != types.OperationStatusSuccess || p.Model["Colour"] != "red" {
		t.Errorf("a property of the published schema: %+v", p)
	}
	if p := run(t, all, operation.Request{Action: invoke.Delete, Type: "AWS::S3::Bucket", Identifier: "bucket"}); p.Status != types.OperationStatusSuccess {
		t.Errorf("delete: %+v", p)
	}
	p = run(t, all, operation.Request{Action: invoke.Create, Type: "AWS::S3::Bucket", Token: "second-token", Desired: object{"BucketName": "bucket"}})
	if p.Status != types.OperationStatusSuccess || p.Model["Colour"] != nil {
		t.Errorf("the next bucket of that name: %+v", p)
	}
}

// TestNewRuntimes: the imported schema may be older than a runtime. The function is deployed, and refused when it is called if it
// does not run here.
func TestNewRuntimes(t *testing.T) {
	published, problems := schema.Load("function.json", []byte(`{"typeName": "AWS::Lambda::Function", "description": "d", "additionalProperties": false,
		"properties": {"FunctionName": {"type": "string"}, "Runtime": {"type": "string", "enum": ["python3.12"]}, "PackageType": {"type": "string", "enum": ["Zip"]},
			"Handler": {"type": "string"}, "Role": {"type": "string"}, "Code": {"type": "object"}},
		"primaryIdentifier": ["/properties/FunctionName"]}`), schema.Config{Kind: schema.Resource})
	if published == nil {
		t.Fatal(problems)
	}
	all := openWith(t, fixtures.Place{Dir: t.TempDir()}, func(context.Context, string) (*schema.Schema, error) { return published, nil })
	create := func(token string, more object) operation.Progress {
		desired := object{"Runtime": "python9.1", "Handler": "index.handler", "Role": "arn:aws:iam::111122223333:role/r", "Code": object{"ZipFile": "x = 1"}}
		maps.Copy(desired, more)
		return run(t, all, operation.Request{Action: invoke.Create, Type: "AWS::Lambda::Function", Token: token, Desired: desired})
	}
	if p := create("t1", nil); p.Status != types.OperationStatusSuccess {
		t.Errorf("a runtime that the schema does not know: %+v", p)
	}
	if p := create("t2", object{"PackageType": "Box"}); !strings.Contains(p.Message, "/PackageType") {
		t.Errorf("another value that the schema does not know: %+v", p)
	}
}

func TestUnknownAction(t *testing.T) {
	all := open(t, fixtures.Place{Dir: t.TempDir()})
	p := run(t, all, operation.Request{Action: invoke.List, Type: "AWS::S3::Bucket"})
	if p.ErrorCode != "InvalidRequest" || p.Message != "LIST is not an action of a resource." {
		t.Errorf("a list: %+v", p)
	}
}
