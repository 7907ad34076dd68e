package operation

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestKeptRows fills what keeps rows: its size is bounded, whatever comes, and counts what is there.
func TestKeptRows(t *testing.T) {
	var k keptRows
	k.put(&row{ID: "huge", Request: strings.Repeat("x", maxRows/8)})
	if k.take("huge") != nil {
		t.Error("a row that takes an eighth of the room is kept")
	}
	for i := range 2000 {
		k.put(&row{ID: fmt.Sprint(i % 1500), Request: strings.Repeat("x", 10_000)})
		if k.size > maxRows {
			t.Fatalf("%d rows of %d bytes are kept", len(k.rows), k.size)
		}
	}
	if len(k.rows) < 100 {
		t.Errorf("only %d rows are kept", len(k.rows))
	}
	for i := range 1500 {
		k.take(fmt.Sprint(i))
	}
	if len(k.rows) > 0 || k.size != 0 {
		t.Errorf("%d rows, %d bytes are left", len(k.rows), k.size)
	}
}

// TestChangedRows keeps no row of an operation that something else changes, until it has ended.
func TestChangedRows(t *testing.T) {
	var k keptRows
	k.put(&row{ID: "a", Request: "before"})
	k.change("a")
	if k.take("a") != nil {
		t.Error("a row that has changed is kept")
	}
	k.put(&row{ID: "a", Request: "of a call that was under way"})
	if k.take("a") != nil {
		t.Error("a row is kept that was written without the change")
	}
	k.put(&row{ID: "b"})
	k.forget("a")
	k.put(&row{ID: "a"})
	if k.take("a") == nil || k.take("b") == nil {
		t.Error("rows are not kept")
	}
	if len(k.rows) > 0 || len(k.changed) > 0 || k.size != 0 {
		t.Errorf("%d rows, %d changes, %d bytes are left", len(k.rows), len(k.changed), k.size)
	}
}

// TestUnpackedRequest changes what a call was given: the next call gets what was written.
func TestUnpackedRequest(t *testing.T) {
	text := `{"Request": {"Desired": {"A": {"B": [1, {"C": "d"}]}}, "Previous": null, "StackTags": {"k": "v"}}}`
	r := &row{Request: text, Event: "{}"}
	first, _, err := r.unpack()
	if err != nil {
		t.Fatal(err)
	}
	first.Request.Desired["A"].(map[string]any)["B"].([]any)[1].(map[string]any)["C"] = "changed"
	first.Request.Desired["New"] = true
	first.Request.StackTags["k"] = "changed"
	second, _, err := r.unpack()
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := (&row{Request: text, Event: "{}"}).unpack()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(second, want) || second.Request.Previous != nil {
		t.Errorf("%+v, want %+v", second, want)
	}
}
