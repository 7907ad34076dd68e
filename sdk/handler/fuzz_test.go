package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/sdk/internal/pause"
)

// FuzzRequest feeds the decoder of requests: whatever is JSON gets an event.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"action":"CREATE","bearerToken":"t","callbackContext":{"$steps":{"a":{"done":true}}},"requestData":{"resourceProperties":{"Name":"ab","Count":"5"},"stackTags":{"a":"b"},"typeConfiguration":{"Retries":"1"}}}`))
	f.Add([]byte(`{"action":"LIST","maxResults":"7","requestData":{"callerCredentials":"{}","systemTags":null}}`))
	f.Add([]byte(compressed(`{"action":"READ"}`)))
	f.Add([]byte(`{"requestData":[1e999,-0,"\ud800"],"action":"UPDATE"}`))
	function, err := New(one(func(ctx context.Context, req widgetRequest) widgetEvent {
		chain := req.Chain(ctx, &req.Desired)
		chain.Do("a", func(context.Context) error { return nil })
		chain.Stabilize("b", func(context.Context) (bool, error) { return false, nil })
		return chain.Done(nil)
	}))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		reply, err := function.Call(pause.With(t.Context(), func(time.Duration) {}), payload)
		if (err != nil) == json.Valid(payload) {
			t.Fatalf("error %v", err)
		}
		if err != nil {
			return
		}
		var event struct{ Status Status }
		if err := json.Unmarshal(reply, &event); err != nil || event.Status != StatusFailed && event.Status != StatusInProgress {
			t.Fatalf("%s: %v", reply, err)
		}
	})
}

// FuzzTarget checks that the target of a hook is refused in words, and that
// what fits the variable as it was sent is read as encoding/json reads it.
func FuzzTarget(f *testing.F) {
	f.Add([]byte(`{"Id":5,"Name":true,"Count":"5.0","Ratio":"1e3","Enabled":"True","Users":[{"Name":1}],"Labels":{"a":1},"Any":"5"}`))
	f.Add([]byte(`{"Count":"9223372036854775808","Users":{},"Tags":[[]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := decodeTree(text)
		if err != nil || bytes.Contains(text, []byte("null")) {
			return
		}
		if text, err = json.Marshal(tree); err != nil { // each member once
			t.Fatal(err)
		}
		var plain, lenient widget
		plainErr := json.Unmarshal(text, &plain)
		err = HookRequest[widgetConfig]{TargetModel: fmt.Appendf(nil, `{"resourceProperties":%s}`, text)}.Target(&lenient, nil)
		switch {
		case err != nil && plainErr == nil:
			t.Errorf("%s: %v", text, err)
		case err == nil && plainErr == nil && !reflect.DeepEqual(plain, lenient):
			t.Errorf("%s: got %+v, want %+v", text, lenient, plain)
		case err != nil && strings.Contains(err.Error(), "Go "):
			t.Error(err)
		}
	})
}

// FuzzRecast checks that what was recast is not changed by a second recast,
// and that models which are valid stay valid and whole.
func FuzzRecast(f *testing.F) {
	f.Add([]byte(`{"Name":"ab","Count":"5","Ratio":"1e3","Enabled":"True","List":["1",2,true],"Users":[{"Name":5}],"Labels":{"a":1}}`))
	f.Add([]byte(`{"Count":5.0,"Free":{"a":[null,{"b":null}]},"name":"x"}`))
	s, err := parseSchema([]byte(widgetSchema))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := decodeTree(text)
		if err != nil || checkDepth(text) != nil || !utf8.Valid(text) {
			return
		}
		valid := len(validate(tree, s.root, nil)) == 0
		once := recast(tree, s.root, false)
		if found := validate(once, s.root, nil); valid && len(found) > 0 {
			t.Errorf("%s became invalid: %v", text, found)
		}
		first, err := json.Marshal(once)
		if err != nil {
			t.Fatal(err)
		}
		second, err := json.Marshal(recast(once, s.root, false))
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s, then %s (%v)", first, second, err)
		}
	})
}
