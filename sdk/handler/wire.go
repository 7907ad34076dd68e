package handler

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// maxPayload is the most that Lambda takes as an answer, in bytes.
	maxPayload = 6 << 20

	// maxInflated bounds a request that came compressed.
	maxInflated = 32 << 20

	// maxDepth bounds the nesting of a request.
	maxDepth = 512
)

// errNotJSON is the one fault that ends an invocation with a function error.
var errNotJSON = errors.New("the payload is not JSON")

// fields is one object of a request. Reading a field of the wrong kind is
// remembered as the problem of the whole request.
type fields struct {
	name    string // where the object stands, for messages; "" at the top
	values  map[string]json.RawMessage
	problem *error
}

// openEnvelope checks that the payload is JSON, and unpacks the compressed form
// {"__COMPRESSED__": base64, "__COMPRESSION_METHOD__": "gzip_base64"}. Its
// error is errNotJSON, or an *Error for the caller of the handler.
func openEnvelope(payload []byte) (fields, error) {
	if !json.Valid(payload) {
		return fields{}, errNotJSON
	}
	top, err := readObject(payload)
	if err != nil {
		return fields{}, err
	}
	packed, ok := top.values["__COMPRESSED__"]
	if !ok {
		return top, nil
	}
	inflated, err := inflate(packed, top.text("__COMPRESSION_METHOD__"))
	if err != nil {
		return fields{}, err
	}
	if !json.Valid(inflated) {
		return fields{}, InvalidRequest("the compressed payload is not JSON")
	}
	return readObject(inflated)
}

func readObject(text []byte) (fields, error) {
	if err := checkDepth(text); err != nil {
		return fields{}, err
	}
	top := fields{problem: new(error)}
	if err := json.Unmarshal(text, &top.values); err != nil || top.values == nil {
		return fields{}, InvalidRequest("the payload must be a JSON object")
	}
	return top, nil
}

// checkDepth walks valid JSON without decoding it.
func checkDepth(text []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case inString && b == '\\':
			i++
		case b == '"':
			inString = !inString
		case inString:
		case b == '{' || b == '[':
			if depth++; depth > maxDepth {
				return InvalidRequest(fmt.Sprintf("the payload is nested deeper than %d", maxDepth))
			}
		case b == '}' || b == ']':
			depth--
		}
	}
	return nil
}

func inflate(packed json.RawMessage, method string) ([]byte, error) {
	if method != "gzip_base64" {
		return nil, InvalidRequest("the compression method must be gzip_base64")
	}
	var text string
	if err := json.Unmarshal(packed, &text); err != nil {
		return nil, InvalidRequest("__COMPRESSED__ must be a string")
	}
	reader, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		return nil, InvalidRequest("__COMPRESSED__ is not base64 of gzip")
	}
	var out bytes.Buffer
	if _, err := io.Copy(&out, io.LimitReader(reader, maxInflated+1)); err != nil {
		return nil, InvalidRequest("__COMPRESSED__ is not base64 of gzip")
	}
	if out.Len() > maxInflated {
		return nil, InvalidRequest(fmt.Sprintf("the compressed payload is larger than %d bytes", maxInflated))
	}
	return out.Bytes(), nil
}

// adaptTestEvent turns the event of the function TestEntrypoint, as the user guide
// has it in sam-tests, into that of the service.
func (f fields) adaptTestEvent() {
	if f.raw("request") == nil || f.raw("requestData") != nil {
		return
	}
	request := f.object("request")
	data := map[string]json.RawMessage{"callerCredentials": f.raw("credentials")}
	for name, as := range map[string]string{
		"desiredResourceState": "resourceProperties", "previousResourceState": "previousResourceProperties", "logicalResourceIdentifier": "logicalResourceId",
		"desiredResourceTags": "stackTags", "previousResourceTags": "previousStackTags", "systemTags": "systemTags", "previousSystemTags": "previousSystemTags",
		"typeConfiguration": "typeConfiguration",
	} {
		data[as] = request.raw(name)
	}
	for name, as := range map[string]string{
		"clientRequestToken": "bearerToken", "region": "region", "awsAccountId": "awsAccountId", "stackId": "stackId", "nextToken": "nextToken",
		"snapshotRequested": "snapshotRequested", "rollback": "rollback", "driftable": "driftable",
	} {
		if value := request.raw(name); value != nil {
			f.values[as] = value
		}
	}
	f.values["requestData"], _ = json.Marshal(data) // of JSON, which always has a JSON form
}

// raw gives a field, and nil when it is absent or null.
func (f fields) raw(name string) json.RawMessage {
	value := f.values[name]
	if string(value) == "null" {
		return nil
	}
	return value
}

func (f fields) wrong(name, wanted string) {
	if *f.problem == nil {
		*f.problem = InvalidRequest(fmt.Sprintf("%s must be %s", f.name+name, wanted))
	}
}

func (f fields) text(name string) string {
	value := f.raw(name)
	var text string
	if value != nil && json.Unmarshal(value, &text) != nil {
		f.wrong(name, "a string")
	}
	return text
}

func (f fields) object(name string) fields {
	inner := fields{name: f.name + name + ".", problem: f.problem}
	if value := f.raw(name); value != nil && json.Unmarshal(value, &inner.values) != nil {
		f.wrong(name, "an object")
	}
	return inner
}

// truth also takes "true" and "false".
func (f fields) truth(name string) bool {
	value := strings.Trim(string(f.raw(name)), `"`)
	switch strings.ToLower(value) {
	case "", "false":
		return false
	case "true":
		return true
	}
	f.wrong(name, "true or false")
	return false
}

// count also takes "10".
func (f fields) count(name string) int {
	value := strings.Trim(string(f.raw(name)), `"`)
	if value == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		f.wrong(name, "a whole number")
		return 0
	}
	return n
}

// tags leaves out tags whose value is null.
func (f fields) tags(name string) map[string]string {
	value := f.raw(name)
	if value == nil {
		return map[string]string{}
	}
	tree, err := decodeTree(value)
	object, ok := tree.(map[string]any)
	if err != nil || !ok {
		f.wrong(name, "an object of strings")
		return map[string]string{}
	}
	return tagsOf(object)
}

// tree decodes a field; an absent one is nil.
func (f fields) tree(name string) any {
	value := f.raw(name)
	if value == nil {
		return nil
	}
	tree, err := decodeTree(value)
	if err != nil {
		f.wrong(name, "JSON")
	}
	return tree
}

// credentials reads the object form and the form of hooks, a string that holds
// the object as JSON. Anything else, such as an encrypted string, is none.
func (f fields) credentials(name string) Credentials {
	value := f.raw(name)
	var text string
	if value != nil && json.Unmarshal(value, &text) == nil {
		value = json.RawMessage(text)
	}
	var c Credentials
	if json.Unmarshal(value, &c) != nil {
		return Credentials{}
	}
	return c
}

// decodeInto turns a model tree into the author's type. The error is for the
// user: it names the property and never the value.
func decodeInto(tree any, into any) error {
	text, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return misfit(tree, into, err)
	}
	return nil
}

// misfit says in the words of the validator why a tree was refused. A null is
// never the reason.
func misfit(tree, into any, err error) error {
	for _, found := range validate(tree, schemaOf(into), nil) {
		if !strings.HasSuffix(found.text, "found: Null") {
			return errors.New(found.String())
		}
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field != "" {
		return fmt.Errorf("#/%s: does not fit the model", strings.ReplaceAll(mismatch.Field, ".", "/"))
	}
	return errors.New("the model cannot be read")
}

// encodeTree is the JSON form of an author's value as a tree without nulls.
func encodeTree(value any) (map[string]any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	tree, err := decodeTree(text)
	if err != nil {
		return nil, err
	}
	object, ok := prune(tree).(map[string]any)
	if !ok {
		return nil, errors.New("its JSON form is not an object")
	}
	return object, nil
}

// writeJSON does not escape <, > and &, which only costs bytes here.
func writeJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}
