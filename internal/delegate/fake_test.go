package delegate_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// A fake is an emulator of AWS with a CloudFormation, as far as delegates use it, and services that list what exists.
type fake struct {
	*httptest.Server

	mu        sync.Mutex
	stacks    map[string]*fakeStack // by account, region and name
	resources map[string]string     // properties by account, region and name of the resource
	made      int                   // resources, ever
	calls     map[string]int
	lost      map[string]int // answers that are to be lost, by operation: the connection is closed when it is done
	slow      map[string]int // how often a stack is to be seen in progress, by operation
	broken    func(w http.ResponseWriter, r *http.Request) bool
	lacks     map[string]bool // attributes
	ignores   bool            // updates
	replaces  bool            // instead of updating
	refuses   string          // reason with which resources fail
	version   string
}

type fakeStack struct {
	id, name, status, next, description, reason, resource string
	template                                              fakeTemplate
	parameters                                            map[string]string
	outputs                                               map[string]string
	left                                                  int
	text                                                  string
}

type fakeTemplate struct {
	Description string
	Resources   map[string]struct {
		Type       string
		Properties map[string]any
	}
	Outputs map[string]struct{ Value map[string]any }
}

func newFake(t *testing.T) *fake {
	f := &fake{calls: map[string]int{}, lost: map[string]int{}, slow: map[string]int{}, lacks: map[string]bool{"Lacking": true}, version: "1.5.33"}
	f.reset()
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// reset forgets everything, as a restart does.
func (f *fake) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stacks, f.resources = map[string]*fakeStack{}, map[string]string{}
}

// left counts what exists.
func (f *fake) left() (stacks, resources int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.stacks), len(f.resources)
}

var fakeCredential = regexp.MustCompile(`Credential=([^/]+)/[0-9]+/([^/]+)/([^/]+)/`)

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil && f.broken(w, r) {
		return
	}
	if r.URL.Path == "/_ministack/health" {
		fmt.Fprintf(w, `{"version": %q}`, f.version)
		return
	}
	scope := fakeCredential.FindStringSubmatch(r.Header.Get("Authorization"))
	if scope == nil {
		http.Error(w, "not signed", http.StatusForbidden)
		return
	}
	place := scope[1] + "/" + scope[2] + "/"
	if scope[3] != "cloudformation" {
		f.service(w, r, place)
		return
	}
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	action := r.Form.Get("Action")
	f.calls[action]++
	answer, code, message := f.operate(action, place, r)
	if f.lost[action] > 0 {
		f.lost[action]--
		panic(http.ErrAbortHandler)
	}
	if code != "" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "<ErrorResponse><Error><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>", code, escape(message))
		return
	}
	fmt.Fprintf(w, "<%sResponse><%sResult>%s</%sResult></%sResponse>", action, action, answer, action, action)
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}

// service is a lookup of a queue by its name.
func (f *fake) service(w http.ResponseWriter, r *http.Request, place string) {
	var body struct{ QueueName string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	if _, found := f.resources[place+body.QueueName]; !found {
		http.Error(w, "{}", http.StatusBadRequest)
		return
	}
	fmt.Fprint(w, "{}")
}

func (f *fake) find(place, name string) *fakeStack {
	if s := f.stacks[place+name]; s != nil {
		return s
	}
	for key, s := range f.stacks {
		if s.id == name && strings.HasPrefix(key, place) {
			return s
		}
	}
	return nil
}

func (f *fake) operate(action, place string, r *http.Request) (answer, code, message string) {
	name := r.Form.Get("StackName")
	s := f.find(place, name)
	switch action {
	case "ValidateTemplate":
		var t fakeTemplate
		_ = json.Unmarshal([]byte(r.Form.Get("TemplateBody")), &t)
		for _, resource := range t.Resources {
			if strings.Contains(resource.Type, "Unknown") {
				return "", "ValidationError", "Template format error: Unrecognized resource types: [" + resource.Type + "]"
			}
		}
		return "", "", ""
	case "CreateStack":
		if s != nil {
			return "", "AlreadyExistsException", "Stack [" + name + "] already exists"
		}
		s = &fakeStack{id: fmt.Sprintf("arn:aws:cloudformation:::stack/%s/%d", name, f.calls[action]), name: name, left: f.slow[action]}
		f.stacks[place+name] = s
		f.apply(s, place, r, "CREATE", true)
		return "<StackId>" + s.id + "</StackId>", "", ""
	case "DescribeStackDriftDetectionStatus":
		return "<DetectionStatus>DETECTION_COMPLETE</DetectionStatus>", "", ""
	}
	if s == nil && action != "DeleteStack" {
		return "", "ValidationError", "Stack with id " + name + " does not exist"
	}
	switch action {
	case "DescribeStacks":
		return f.describe(s), "", ""
	case "DescribeStackEvents":
		return fmt.Sprintf("<StackEvents><member><ResourceStatus>CREATE_FAILED</ResourceStatus><ResourceStatusReason>%s</ResourceStatusReason></member></StackEvents>", escape(s.reason)), "", ""
	case "UpdateStack":
		if s.text == r.Form.Get("TemplateBody") {
			return "", "ValidationError", "No updates are to be performed."
		}
		s.left = f.slow[action]
		f.apply(s, place, r, "UPDATE", false)
		return "<StackId>" + s.id + "</StackId>", "", ""
	case "DeleteStack":
		if s != nil {
			delete(f.stacks, place+s.name)
			delete(f.resources, place+s.resource)
		}
		return "", "", ""
	case "DetectStackDrift":
		return "<StackDriftDetectionId>1</StackDriftDetectionId>", "", ""
	case "DescribeStackResourceDrifts":
		return fmt.Sprintf("<StackResourceDrifts><member><StackResourceDriftStatus>IN_SYNC</StackResourceDriftStatus><ActualProperties>%s</ActualProperties></member></StackResourceDrifts>", escape(f.resources[place+s.resource])), "", ""
	}
	return "", "InvalidAction", action
}

func (f *fake) describe(s *fakeStack) string {
	status := s.status
	if s.left > 0 {
		s.left--
		status = s.next
	}
	outputs := ""
	for key, value := range s.outputs {
		outputs += "<member><OutputKey>" + key + "</OutputKey><OutputValue>" + escape(value) + "</OutputValue></member>"
	}
	return fmt.Sprintf("<Stacks><member><StackId>%s</StackId><StackName>%s</StackName><StackStatus>%s</StackStatus><Description>%s</Description><Outputs>%s</Outputs></member></Stacks>",
		s.id, s.name, status, escape(s.description), outputs)
}

// apply creates or updates the resource of a stack.
func (f *fake) apply(s *fakeStack, place string, r *http.Request, verb string, create bool) {
	s.next = verb + "_IN_PROGRESS"
	s.parameters = map[string]string{}
	for i := 1; r.Form.Get(fmt.Sprintf("Parameters.member.%d.ParameterKey", i)) != ""; i++ {
		s.parameters[r.Form.Get(fmt.Sprintf("Parameters.member.%d.ParameterKey", i))] = r.Form.Get(fmt.Sprintf("Parameters.member.%d.ParameterValue", i))
	}
	var t fakeTemplate
	text := r.Form.Get("TemplateBody")
	_ = json.Unmarshal([]byte(text), &t)
	outputs := map[string]string{}
	var resource string
	for logicalID, x := range t.Resources {
		if strings.HasPrefix(x.Type, "AWS::CloudFormation::") {
			resource = ""
			break
		}
		resource, _ = x.Properties["QueueName"].(string)
		if resource == "" {
			resource = s.name + "-" + logicalID
		}
		if f.refuses != "" {
			s.status, s.reason, s.description = "ROLLBACK_COMPLETE", f.refuses, t.Description
			if !create {
				s.status = "UPDATE_ROLLBACK_COMPLETE"
			}
			return
		}
		for key, output := range t.Outputs {
			switch value, _ := output.Value["Fn::Sub"].(string); {
			case output.Value["Ref"] != nil:
				outputs[key] = "http://queue/" + resource
				if f.replaces && !create {
					outputs[key] += "-2"
				}
			case value != "":
				attribute := strings.TrimSuffix(strings.TrimPrefix(value, "${"+logicalID+"."), "}")
				if f.lacks[attribute] {
					s.status, s.reason = "UPDATE_ROLLBACK_COMPLETE", "Requested attribute "+attribute+" does not exist in schema for "+x.Type
					return
				}
				outputs[key] = attribute + " of " + resource
			default:
				outputs[key] = "one\ntwo"
			}
		}
		if create {
			f.made++
		}
		if create || !f.ignores {
			properties, _ := json.Marshal(x.Properties)
			f.resources[place+resource] = string(properties)
		}
	}
	s.resource, s.outputs, s.template, s.text, s.description = resource, outputs, t, text, t.Description
	s.status = verb + "_COMPLETE"
}
