package invoke

import (
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Shape is the form of a request file.
type Shape string

// The shapes of request files.
const (
	// ShapeState is what the official "cfn invoke" reads: desiredResourceState,
	// previousResourceState and typeConfiguration, of a hook targetName and targetModel.
	ShapeState Shape = "request"

	// ShapeTest is an event of the sam-tests folder ("Testing resource types manually"
	// in the user guide), for the function TestEntrypoint.
	ShapeTest Shape = "TestEntrypoint event"

	// ShapeFull is a whole request as the service sends it to TypeFunction.
	ShapeFull Shape = "TypeFunction event"
)

// An EventFile is a handler request in a file.
type EventFile struct {
	Shape       Shape
	Request     Request
	Credentials *Credentials // nil if the file has none, or only placeholders
	Region      string       // "" if the file does not say
	AccountID   string       // "" if the file does not say
}

// ReadState reads the request file of "cfn invoke". Of a resource, the official tool
// insists on both states; here a missing one is null.
//
// Problems have the IDs of document.ParseJSON, and invoke/event.
func ReadState(file string, data []byte, action Action) (*EventFile, diag.List) {
	doc, problems := document.ParseJSON(file, data, document.Limits{})
	if problems.HasErrors() {
		return nil, problems
	}
	r := eventReader{file: file, problems: problems}
	if !r.object(doc, "the request") {
		return nil, r.problems
	}
	event := &EventFile{Shape: ShapeState, Request: Request{Action: action, TypeConfiguration: doc.Get("typeConfiguration").Any()}}
	if action.Hook() {
		event.Request.Target = Target{Name: r.text(doc, "targetName"), Model: doc.Get("targetModel").Any()}
		if event.Request.Target.Name == "" {
			r.report(doc, "the request has no targetName", `a hook's request is {"targetName": "AWS::S3::Bucket", "targetModel": {"resourceProperties": {…}}}`)
		}
		return event, r.problems
	}
	event.Request.Model = r.model(doc, "desiredResourceState")
	event.Request.Previous = r.model(doc, "previousResourceState")
	switch {
	case doc.Get("action") != nil:
		r.report(doc, "this is an event file, not a request", "pass it with --event")
	case doc.Get("desiredResourceState") == nil:
		r.report(doc, "the request has no desiredResourceState", `a request is {"desiredResourceState": {…}, "previousResourceState": {…}}`)
	}
	return event, r.problems
}

// ReadEvent reads an event file of either shape for a function. Resource handlers only.
//
// Problems have the IDs of document.ParseJSON, and invoke/event.
func ReadEvent(file string, data []byte) (*EventFile, diag.List) {
	doc, problems := document.ParseJSON(file, data, document.Limits{})
	if problems.HasErrors() {
		return nil, problems
	}
	r := eventReader{file: file, problems: problems}
	if !r.object(doc, "the event") {
		return nil, r.problems
	}
	event := &EventFile{}
	event.Request.Action = Action(r.text(doc, "action"))
	event.Request.CallbackContext = doc.Get("callbackContext").Any()
	event.Region = r.text(doc, "region")
	switch {
	case doc.Get("request") != nil:
		r.test(doc, event)
	case doc.Get("requestData") != nil:
		r.full(doc, event)
	default:
		r.report(doc, "not an event for a handler: it has neither request nor requestData",
			`an event is {"action": "CREATE", "request": {"desiredResourceState": {…}}} or {"action": "CREATE", "requestData": {"resourceProperties": {…}}}`)
		return nil, r.problems
	}
	if action := event.Request.Action; action.Handler() == "" || action.Hook() {
		place := doc
		if v := doc.Get("action"); v != nil {
			place = v
		}
		r.report(place, fmt.Sprintf("the event's action is %q", action), "choose from CREATE, READ, UPDATE, DELETE, LIST")
	}
	return event, r.problems
}

func (r *eventReader) test(doc *document.Value, event *EventFile) {
	event.Shape = ShapeTest
	event.Credentials = r.credentials(doc.Get("credentials"))
	data := doc.Get("request")
	if !r.object(data, "request") {
		return
	}
	req := &event.Request
	req.Token = r.text(data, "clientRequestToken")
	req.LogicalID = r.text(data, "logicalResourceIdentifier")
	req.StackID = r.text(data, "stackId")
	req.NextToken = r.text(data, "nextToken")
	req.Model = r.model(data, "desiredResourceState")
	req.Previous = r.model(data, "previousResourceState")
	req.StackTags = r.tags(data, "desiredResourceTags")
	req.PreviousStackTags = r.tags(data, "previousResourceTags")
	req.SystemTags = r.tags(data, "systemTags")
	req.PreviousSystemTags = r.tags(data, "previousSystemTags")
	event.AccountID = r.text(data, "awsAccountId")
	if region := r.text(data, "region"); region != "" {
		event.Region = region
	}
	req.TypeConfiguration = data.Get("typeConfiguration").Any()
	if outer := doc.Get("typeConfiguration"); outer != nil {
		req.TypeConfiguration = outer.Any()
	}
	for name, flag := range map[string]*bool{"rollback": &req.Rollback, "driftable": &req.Driftable, "snapshotRequested": &req.SnapshotRequested} {
		if v := data.Get(name); v != nil {
			*flag = v.Bool
		}
	}
}

func (r *eventReader) full(doc *document.Value, event *EventFile) {
	event.Shape = ShapeFull
	data := doc.Get("requestData")
	if !r.object(data, "requestData") {
		return
	}
	event.Credentials = r.credentials(data.Get("callerCredentials"))
	event.AccountID = r.text(doc, "awsAccountId")
	req := &event.Request
	req.Token = r.text(doc, "bearerToken")
	req.TypeName = r.text(doc, "resourceType")
	req.LogicalID = r.text(data, "logicalResourceId")
	req.Model = r.model(data, "resourceProperties")
	req.Previous = r.model(data, "previousResourceProperties")
	req.TypeConfiguration = data.Get("typeConfiguration").Any()
	req.Base, _ = doc.Any().(map[string]any)
}

type eventReader struct {
	file     string
	problems diag.List
}

func (r *eventReader) report(at *document.Value, message, hint string) {
	r.problems.Add(diag.Problem{ID: "invoke/event", At: at.At, Message: message, Hint: hint})
}

func (r *eventReader) object(v *document.Value, what string) bool {
	if v.Kind != document.Object {
		r.report(v, fmt.Sprintf("%s is %s, not an object", what, article(v)), "")
		return false
	}
	return true
}

func (r *eventReader) text(v *document.Value, key string) string {
	member := v.Get(key)
	if member == nil || member.Kind == document.Null {
		return ""
	}
	if member.Kind != document.String {
		r.report(member, fmt.Sprintf("%s is %s, not a string", key, article(member)), "")
	}
	return member.Text
}

func (r *eventReader) model(v *document.Value, key string) map[string]any {
	member := v.Get(key)
	if member == nil || member.Kind == document.Null || !r.object(member, key) {
		return nil
	}
	model, _ := member.Any().(map[string]any)
	return model
}

func (r *eventReader) tags(v *document.Value, key string) map[string]string {
	member := v.Get(key)
	if member == nil || member.Kind == document.Null || !r.object(member, key) {
		return nil
	}
	tags := map[string]string{}
	for _, m := range member.Members {
		tags[m.Key] = scalarText(m.Value)
	}
	return tags
}

// credentials reads the credentials of an event. Placeholders as the user guide prints
// them ("<Access Key Id>") and empty ones count as none.
func (r *eventReader) credentials(v *document.Value) *Credentials {
	if v == nil || v.Kind == document.Null || !r.object(v, "the credentials") {
		return nil
	}
	c := &Credentials{r.text(v, "accessKeyId"), r.text(v, "secretAccessKey"), r.text(v, "sessionToken")}
	if c.AccessKeyID == "" || strings.HasPrefix(c.AccessKeyID, "<") {
		return nil
	}
	return c
}
