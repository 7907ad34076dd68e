package customtype

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A style is code of a custom resource, and what comes of a request to it.
type style struct {
	name, code string // in Go, a style of goStyled
	request    map[string]any
	want       map[string]string // fields of the response
	topic      string            // of SNS, in Go
	seconds    int               // the time limit; 0 is 60
}

const wantHTTPS = `import json, http.client, urllib.parse
def handler(event, context):
    url = urllib.parse.urlsplit(event["ResponseURL"])
    body = json.dumps({"Status": "SUCCESS", "PhysicalResourceId": "by-https"})
    c = http.client.HTTPSConnection(url.netloc)
    c.request("PUT", url.path, body, {"content-length": str(len(body))})
    c.getresponse().read()
`

const crhelper = `class CfnResource:
    def __init__(self):
        self.Data = {}
    def __call__(self, event, context):
        self._event = event
        self.Data = event.get("CrHelperData") or {}
        done = "CrHelperPoll" in event and self.Data.get("polls")
        if "CrHelperPoll" not in event:
            self.Data["PhysicalResourceId"] = "made"
            self.Data["polls"] = 1
            self._setup_polling()
        elif done:
            self._remove_polling()
            self._wait_for_cwlogs()
            import cfnresponse
            cfnresponse.send(event, context, "SUCCESS", self.Data, "made")
    def _setup_polling(self):
        raise Exception("calls EventBridge")
    def _remove_polling(self):
        raise Exception("calls EventBridge")
    def _wait_for_cwlogs(self):
        raise Exception("waits two minutes")
`

var pythonStyles = []style{
	{name: "cfnresponse", code: "import cfnresponse\ndef handler(event, context):\n    cfnresponse.send(event, context, cfnresponse.SUCCESS, {'A': 'b'}, 'one')\n", want: map[string]string{"Status": "SUCCESS", "PhysicalResourceId": "one", "Data": `{"A":"b"}`}},
	{name: "the name of the log stream", code: "import cfnresponse\ndef handler(event, context):\n    cfnresponse.send(event, context, cfnresponse.SUCCESS, {})\n", request: map[string]any{"RequestType": "Update", "PhysicalResourceId": "kept"}, want: map[string]string{"PhysicalResourceId": "kept"}},
	{name: "failed", code: "import cfnresponse\ndef handler(event, context):\n    cfnresponse.send(event, context, cfnresponse.FAILED, {}, reason='no room')\n", want: map[string]string{"Status": "FAILED", "Reason": "no room"}},
	{name: "https", code: wantHTTPS, want: map[string]string{"PhysicalResourceId": "by-https"}},
	{name: "https without a port", code: strings.NewReplacer("url.netloc", "url.hostname", "url.path", "url.path + '?' + url.query").Replace(wantHTTPS), want: map[string]string{"PhysicalResourceId": "by-https"}},
	{name: "in a thread", code: "import cfnresponse, threading\ndef handler(event, context):\n    threading.Timer(0.05, lambda: cfnresponse.send(event, context, 'SUCCESS', {}, 'later')).start()\n", want: map[string]string{"PhysicalResourceId": "later"}},
	{name: "returned", code: "def handler(event, context):\n    return {'PhysicalResourceId': 'r', 'Data': {'A': 1}}\n", want: map[string]string{"Status": "SUCCESS", "PhysicalResourceId": "r", "Data": `{"A":1}`}},
	{name: "returned without an ID", code: "def handler(event, context):\n    return {}\n", request: map[string]any{"PhysicalResourceId": "old"}, want: map[string]string{"PhysicalResourceId": "old"}},
	{name: "raised", code: "def handler(event, context):\n    raise ValueError('bad name')\n", want: map[string]string{"Status": "FAILED", "Reason": "ValueError: bad name"}},
	{name: "raised after the response", code: "import cfnresponse\ndef handler(event, context):\n    cfnresponse.send(event, context, 'SUCCESS', {}, 'x')\n    raise ValueError\n", want: map[string]string{"PhysicalResourceId": "x"}},
	{name: "ended", code: "import sys\ndef handler(event, context):\n    sys.exit(3)\n", want: map[string]string{"Status": "FAILED", "Reason": "SystemExit: 3"}},
	{name: "no response", code: "def handler(event, context):\n    pass\n", want: map[string]string{"Status": "FAILED", "Reason": "the code of the custom resource sent no response"}},
	{name: "too long", code: "import cfnresponse\ndef handler(event, context):\n    cfnresponse.send(event, context, 'SUCCESS', {'A': 'x' * 5000}, 'x')\n", want: map[string]string{"Status": "FAILED", "Reason": "Response object is too long."}},
	{name: "not a response", code: "import urllib.request\ndef handler(event, context):\n    urllib.request.urlopen(urllib.request.Request(event['ResponseURL'], data=b'[]', method='PUT'))\n", want: map[string]string{"Status": "FAILED", "Reason": "the code of the custom resource sent a response without a Status"}},
	{name: "no function", code: "x = 1\n", want: map[string]string{"Status": "FAILED", "Reason": "AttributeError: module 'index' has no attribute 'handler'"}},
	{name: "polls", code: "import crhelper\nhandler = crhelper.CfnResource()\n", want: map[string]string{"Status": "PENDING", "PhysicalResourceId": "made"}},
	{name: "polled", code: "import crhelper\nhandler = crhelper.CfnResource()\n", request: map[string]any{"CrHelperPoll": true, "CrHelperData": map[string]any{"polls": 1, "PhysicalResourceId": "made"}}, want: map[string]string{"Status": "SUCCESS", "PhysicalResourceId": "made", "Data": `{"polls":1}`}},
	{name: "reads", code: "def handler(event, context):\n    return {'Name': event['PhysicalResourceId']}\n", request: map[string]any{"RequestType": "Read", "PhysicalResourceId": "p"}, want: map[string]string{"Data": `{"Name":"p"}`}},
	{name: "reads nothing", code: "def handler(event, context):\n    return None\n", request: map[string]any{"RequestType": "Read", "PhysicalResourceId": "p"}, want: map[string]string{"Status": "SUCCESS", "Data": "null"}},
}

const node443 = `const url = require('url'), https = require('https');
exports.handler = (event, context) => new Promise((resolve, reject) => {
  const at = url.parse(event.ResponseURL), body = JSON.stringify({Status: 'SUCCESS', PhysicalResourceId: 'by-443'});
  const r = https.request({hostname: at.hostname, port: 443, path: at.path, method: 'PUT', headers: {'content-length': body.length}}, resolve);
  r.on('error', reject);
  r.end(body);
});
`

var nodeStyles = []style{
	{name: "cfn-response", code: "const r = require('cfn-response');\nexports.handler = (event, context) => { r.send(event, context, r.SUCCESS, {A: 'b'}, 'one'); };\n", want: map[string]string{"Status": "SUCCESS", "PhysicalResourceId": "one", "Data": `{"A":"b"}`}},
	{name: "port 443", code: node443, want: map[string]string{"PhysicalResourceId": "by-443"}},
	{name: "fetch", code: "exports.handler = async (event) => { await fetch(event.ResponseURL, {method: 'PUT', body: JSON.stringify({Status: 'FAILED', Reason: 'no room'})}); };\n", want: map[string]string{"Status": "FAILED", "Reason": "no room"}},
	{name: "returned", code: "exports.handler = async () => ({PhysicalResourceId: 'r', Data: {A: 1}});\n", want: map[string]string{"Status": "SUCCESS", "PhysicalResourceId": "r", "Data": `{"A":1}`}},
	{name: "called back", code: "exports.handler = (event, context, callback) => callback(null, {PhysicalResourceId: 'c'});\n", want: map[string]string{"PhysicalResourceId": "c"}},
	{name: "thrown", code: "exports.handler = async () => { throw new TypeError('bad name'); };\n", want: map[string]string{"Status": "FAILED", "Reason": "TypeError: bad name"}},
	{name: "no response", code: "exports.handler = async () => undefined;\n", want: map[string]string{"Status": "FAILED", "Reason": "the code of the custom resource sent no response"}},
	{name: "too long", code: "const r = require('cfn-response');\nexports.handler = (event, context) => { r.send(event, context, r.SUCCESS, {A: 'x'.repeat(5000)}, 'one'); };\n", want: map[string]string{"Reason": "Response object is too long."}},
	{name: "reads", code: "exports.handler = async (event) => ({Name: event.PhysicalResourceId});\n", request: map[string]any{"RequestType": "Read", "PhysicalResourceId": "p"}, want: map[string]string{"Data": `{"Name":"p"}`}},
	{name: "reads nothing", code: "exports.handler = async () => undefined;\n", request: map[string]any{"RequestType": "Read", "PhysicalResourceId": "p"}, want: map[string]string{"Data": "null"}},
}

// TestRunners calls code of each style.
func TestRunners(t *testing.T) {
	for _, language := range []struct {
		program, runner, source string
		styles                  []style
		more                    map[string]string
	}{
		{"python3", "python/custom_runner.py", "index.py", pythonStyles, map[string]string{"crhelper.py": crhelper, "cfnresponse.py": "../../services/functions/cfnresponse.py"}},
		{"node", "typescript/custom-runner.cjs", "index.js", nodeStyles, map[string]string{"cfn-response.js": "../../services/functions/cfn-response.js"}},
	} {
		t.Run(language.program, func(t *testing.T) {
			program, err := exec.LookPath(language.program)
			if err != nil {
				t.Skipf("%s is not installed", language.program)
			}
			more := map[string]string{}
			for name, text := range language.more {
				if strings.HasPrefix(text, "../") {
					data, err := os.ReadFile(text)
					if err != nil {
						t.Fatal(err)
					}
					text = string(data)
				}
				more[name] = text
			}
			for _, s := range language.styles {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					more := maps.Clone(more)
					more[language.source] = s.code
					s.check(t, program, "templates/"+language.runner, more)
				})
			}
		})
	}
}

// check runs the code and compares its response.
func (s *style) check(t *testing.T, program, runner string, files map[string]string) {
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	event := map[string]any{"RequestType": "Create", "StackId": "arn:aws:cloudformation:us-east-1:1:stack/s/1", "RequestId": "11111111-2222", "LogicalResourceId": "Thing"}
	maps.Copy(event, s.request)
	result := filepath.Join(dir, "result.json")
	order, err := json.Marshal(map[string]any{"event": event, "function": "index.handler", "seconds": cmp.Or(s.seconds, 60), "result": result, "token": "arn:aws:lambda:us-east-1:1:function:f", "topic": s.topic})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, runner, dir)
	cmd.Stdin = strings.NewReader(string(order))
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	data, err := os.ReadFile(result)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatal(err)
	}
	for key, want := range s.want {
		var got string
		if json.Unmarshal(answer[key], &got) != nil || got == "" {
			got = strings.Join(strings.Fields(string(answer[key])), "")
		}
		if got != want {
			t.Errorf("%s is %q; expected %q\n%s\n%s", key, got, want, data, output)
		}
	}
}
