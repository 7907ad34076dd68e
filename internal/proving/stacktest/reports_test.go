package stacktest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/proving/stacktest"
)

// TestPublicReports has faults that users met in deployments, each with the address of the public report, as a small template and a
// test that finds it. The twin, which has what the report recommends, passes. Faults of new versions of types are in
// internal/cli/testdata/test_upgrade_reports.txtar.
func TestPublicReports(t *testing.T) {
	functions := handlers(t)
	for _, test := range []struct {
		name, report   string
		files          map[string]string
		suite          string
		fault, instead string
		want           string
		guard          bool
	}{
		{
			name: "an export that another stack imports is gone", report: "https://github.com/aws/aws-cdk/issues/7602",
			files: map[string]string{
				"net.yaml":   "Resources:\n  Group: {Type: AWS::SSM::Parameter, Properties: {Type: String, Value: sg-1}}\nOutputs:\n  Group: {Value: !Ref Group, Export: {Name: group}}\n",
				"app.yaml":   "Resources:\n  Service: {Type: AWS::SSM::Parameter, Properties: {Type: String, Value: !ImportValue group}}\n",
				"after.yaml": "Resources:\n  Group: {Type: AWS::SSM::Parameter, Properties: {Type: String, Value: sg-2}}\nOutputs:\n  Group: {Export: {Name: group}, Value: !Ref Group}\n",
			},
			suite: "templates: {net: net.yaml, app: app.yaml}\nsteps:\n- deploy: {stack: net}\n- deploy: {stack: app}\n- update: {stack: net, template: after.yaml}\n",
			fault: "{Export: {Name: group}, ", instead: "{",
			want: "note: net UPDATE_ROLLBACK_IN_PROGRESS: Export group cannot be deleted as it is in use by app",
		},
		{
			name: "a refactored app changes the logical ID of a resource with a fixed name", report: "https://github.com/aws/aws-cdk/issues/11062",
			files: map[string]string{
				"before.yaml": "Resources:\n  AliasRecord: {Type: AWS::SSM::Parameter, Properties: {Name: /shop/alias, Type: String, Value: a}}\n",
				"after.yaml":  "Resources:\n  AliasRecord: {Properties: {Name: /shop/alias, Type: String, Value: b}, Type: AWS::SSM::Parameter}\n",
			},
			suite: "template: before.yaml\nsteps:\n- deploy: {}\n- update: {template: after.yaml}\n",
			fault: "AliasRecord: {Properties", instead: "ARecord: {Properties",
			want: `note: ARecord CREATE_FAILED: Resource handler returned message: "Resource of type 'AWS::SSM::Parameter' with identifier '/shop/alias' already exists."`,
		},
		{
			name: "a new version of a construct replaces the database", report: "https://github.com/aws-samples/cdk-keycloak/issues/123",
			files: map[string]string{
				"before.yaml": "Resources:\n  Db: {Type: AWS::Test::Database, Properties: {Engine: mysql}}\n",
				"after.yaml":  "Resources:\n  Db: {Type: AWS::Test::Database, Properties: {Engine: mysql, Size: 2}}\n",
			},
			suite: "template: before.yaml\nsteps:\n- deploy: {}\n- update: {template: after.yaml}\n  expect: {replaced: none}\n",
			fault: "Size: 2", instead: "Size: 2, Name: keycloak",
			want: "Db is replaced because of Name [",
		},
		{
			name: "a resource that is retained when it is deleted, but not when it is replaced", report: "https://github.com/aws/aws-cdk/issues/2901",
			files: map[string]string{"shop.yaml": "Resources:\n  Db: {Type: AWS::Test::Database, DeletionPolicy: Retain, UpdateReplacePolicy: Retain, Properties: {Engine: mysql}}\n"},
			suite: "template: shop.yaml\nsteps:\n- deploy: {}\n- update: {edit: [{path: /Resources/Db/Properties/Engine, value: aurora}]}\n  expect: {events: [Db DELETE_SKIPPED]}\n",
			fault: "UpdateReplacePolicy: Retain, ", instead: "",
			want: "there is no event Db DELETE_SKIPPED",
		},
		{
			name: "two options that work only together", report: "https://github.com/aws-solutions/media-insights-on-aws/issues/145",
			files: map[string]string{"media.yaml": "Parameters:\n  Analytics: {Type: String, Default: 'on', AllowedValues: ['on', 'off']}\n  Site: {Type: String, Default: 'on', AllowedValues: ['on', 'off']}\n" +
				"Conditions:\n  HasSite: !Equals [!Ref Site, 'on']\n  HasAnalytics: !Or [!Equals [!Ref Analytics, 'on'], !Equals [!Ref Site, 'on']]\n" +
				"Resources:\n  Bucket: {Type: AWS::SSM::Parameter, Properties: {Type: String, Value: media}}\n" +
				"  Index: {Type: AWS::SSM::Parameter, Condition: HasAnalytics, Properties: {Type: String, Value: x}}\n  Page: {Type: AWS::SSM::Parameter, Condition: HasSite, Properties: {Type: String, Value: !Ref Index}}\n"},
			suite: "template: media.yaml\nmatrix: {Parameters: {Analytics: '*', Site: '*'}}\nsteps: [{deploy: {}}]\n",
			fault: "!Or [!Equals [!Ref Analytics, 'on'], !Equals [!Ref Site, 'on']]", instead: "!Equals [!Ref Analytics, 'on']",
			want: "[Analytics=off, Site=on]: deploy: the request was refused: CreateStack: ValidationError: Template format error: Unresolved resource dependencies [Index]",
		},
		{
			name: "a resource gets another type", report: "https://github.com/panther-labs/panther/issues/1895",
			files: map[string]string{
				"before.yaml": "Resources:\n  Tables: {Type: Custom::Tables, Properties: {ServiceToken: !Sub 'arn:aws:lambda:us-east-1:${AWS::AccountId}:function:tables'}}\n",
				"after.yaml":  "Resources:\n  Tables: {Type: Custom::Tables, Properties: {Version: 2, ServiceToken: !Sub 'arn:aws:lambda:us-east-1:${AWS::AccountId}:function:tables'}}\n",
			},
			suite: "template: before.yaml\nfunctions: {tables: {answer: {}}}\nsteps:\n- deploy: {}\n- update: {template: after.yaml}\n",
			fault: "Custom::Tables, Properties: {Version", instead: "Custom::UpdateTables, Properties: {Version",
			want: "update: the request was refused: Update of resource type is not permitted. The new template modifies resource type of the following resources: [Tables]",
		},
		{
			name: "a custom resource whose physical ID changes is deleted after an update", report: "https://github.com/mozilla/cloudformation-cross-account-outputs/pull/7",
			files: map[string]string{"record.yaml": "Parameters: {Value: {Type: String, Default: a}}\n" +
				"Resources:\n  Record: {Type: Custom::Record, Properties: {ServiceToken: !Sub 'arn:aws:lambda:us-east-1:${AWS::AccountId}:function:record', Value: !Ref Value}}\n"},
			suite: "template: record.yaml\nfunctions: {record: " + functions + "/keeps}\nsteps:\n- deploy: {}\n- update: {Parameters: {Value: b}}\n  expect: {keeps: [Record]}\n",
			fault: "/keeps", instead: "/changes",
			want: "error: Record was deleted",
		},
		{
			name: "a custom resource that could not be created cannot be deleted either", report: "https://github.com/aws/aws-lambda-go/issues/237",
			files: map[string]string{"record.yaml": "Resources:\n  Record: {Type: Custom::Record, Properties: {ServiceToken: !Sub 'arn:aws:lambda:us-east-1:${AWS::AccountId}:function:record'}}\n"},
			suite: "template: record.yaml\nfunctions: {record: " + functions + "/lenient}\nsteps:\n- deploy: {}\n  expect: {StackStatus: ROLLBACK_COMPLETE}\n",
			fault: "/lenient", instead: "/strict",
			want: `StackStatus: expected "ROLLBACK_COMPLETE" but got "ROLLBACK_FAILED"`,
		},
		{
			name: "a rule of a hook is skipped where what it checks is missing", report: "https://github.com/aws-cloudformation/aws-guard-rules-registry/issues/240",
			files: map[string]string{
				"log.yaml":  "Resources:\n  Log: {Type: AWS::Logs::LogGroup}\n",
				"log.guard": "let groups = Resources.*[ Type == 'AWS::Logs::LogGroup' ]\nrule short when %groups !empty {\n  %groups.Properties.RetentionInDays <= 30\n}\n",
			},
			suite: "template: log.yaml\nhooks: {Acme::Log::Hook: {guard: log.guard}}\nsteps:\n- deploy: {}\n  expect: {StackStatus: ROLLBACK_COMPLETE, hooks: {Log: {$contains: short}}}\n",
			fault: "[ Type == 'AWS::Logs::LogGroup' ]", instead: "[ Type == 'AWS::Logs::LogGroup'\n  Properties.RetentionInDays exists ]",
			want: `StackStatus: expected "ROLLBACK_COMPLETE" but got "CREATE_COMPLETE"`, guard: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("cfn-guard"); test.guard && err != nil {
				t.Skip("skipped: cfn-guard is not installed")
			}
			test.files["x.stacktest.yaml"] = "stacktest: 1\n" + test.suite
			if n := strings.Count(test.files["x.stacktest.yaml"], "\n"); n > 15 {
				t.Errorf("the test has %d lines", n)
			}
			twins(t, test.files, test.fault, test.instead, test.want, func(c *stacktest.Config) { c.Base.Environ = os.Environ() })
			if t.Failed() {
				t.Logf("the report: %s", test.report)
			}
		})
	}
}

// handlers starts functions of custom resources, whose paths say what they do, and returns their URL: /keeps and /changes keep or
// change the physical ID in an update; /lenient and /strict fail to create, and /strict fails to delete what does not exist.
func handlers(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ RequestType, RequestId, StackId, LogicalResourceId, PhysicalResourceId, ResponseURL string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		answer := map[string]string{
			"Status": "SUCCESS", "PhysicalResourceId": in.PhysicalResourceId, "RequestId": in.RequestId, "StackId": in.StackId, "LogicalResourceId": in.LogicalResourceId,
		}
		behavior := strings.Split(r.URL.Path, "/")[1]
		if in.RequestType == "Create" || behavior == "changes" && in.RequestType == "Update" {
			answer["PhysicalResourceId"] = "log-stream-" + in.RequestId
		}
		if behavior == "strict" || behavior == "lenient" && in.RequestType == "Create" {
			answer["Status"], answer["Reason"] = "FAILED", in.RequestType+": there is no such record"
		}
		body, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		request, err := http.NewRequestWithContext(r.Context(), http.MethodPut, in.ResponseURL, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Error(err)
			return
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}
