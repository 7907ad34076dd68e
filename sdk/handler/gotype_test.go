package handler

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// A shelf has a field for each kind of Go type.
type shelf struct {
	shelfSize
	Text    *string            `json:"Text,omitzero"`
	Whole   *int64             `json:"Whole,omitzero"`
	Small   int8               `json:"Small,omitzero"`
	Natural uint16             `json:"Natural,omitzero"`
	Number  *float64           `json:"Number,omitzero"`
	Short   float32            `json:"Short,omitzero"`
	Truth   *bool              `json:"Truth,omitzero"`
	List    []*int64           `json:"List,omitzero"`
	Pair    [2]string          `json:"Pair,omitzero"`
	Map     map[string]float64 `json:"Map,omitzero"`
	Below   *shelf             `json:"Below,omitzero"`
	Above   []tagged           `json:"Above,omitzero"`
	Free    any                `json:"Free,omitzero"`
	Bytes   []byte             `json:"Bytes,omitzero"`
	Exact   json.Number        `json:"Exact,omitzero"`
	Time    time.Time          `json:"Time,omitzero"`
	Union   union              `json:"Union,omitzero"`
	Quoted  int                `json:"Quoted,string,omitzero"`
	Plain   int
	Hidden  int `json:"-"`
}

type shelfSize struct {
	Width int `json:"Width,omitzero"`
}

// A tagged model is what cfn generate writes for one with free-form values.
type tagged struct {
	Count *int64 `json:"Count,omitzero"`
	Free  any    `json:"Free,omitzero"`
}

func (m *tagged) UnmarshalJSON(text []byte) error {
	type plain tagged
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	return decoder.Decode((*plain)(m))
}

// A union keeps the JSON that it was given.
type union struct{ text string }

func (u *union) UnmarshalJSON(text []byte) error { u.text = string(text); return nil }

func TestTargetIsReadIntoGoTypes(t *testing.T) {
	now := time.Date(1999, 2, 19, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name, target string
		want         shelf
	}{
		{"strings", `{"Whole":"9007199254740993","Small":"-128","Natural":"65535","Number":"1.5","Short":"2","Truth":"TRUE","Width":"7","Plain":"8"}`,
			shelf{Whole: ptr[int64](9007199254740993), Small: -128, Natural: 65535, Number: ptr(1.5), Short: 2, Truth: ptr(true), shelfSize: shelfSize{7}, Plain: 8}},
		{"values for strings", `{"Text":5,"Pair":[true,1.50]}`, shelf{Text: ptr("5"), Pair: [2]string{"true", "1.50"}}},
		{"whole numbers with a fraction", `{"Whole":5.0,"Small":"5e0"}`, shelf{Whole: ptr[int64](5), Small: 5}},
		{"as they are", `{"Text":"5","Whole":5,"Number":5,"Truth":false}`, shelf{Text: ptr("5"), Whole: ptr[int64](5), Number: ptr(5.0), Truth: ptr(false)}},
		{"inside", `{"List":["1",null,2],"Map":{"a":"1"},"Below":{"Below":{"Whole":"1"}},"Above":[{"Count":"1","Free":"1"}]}`,
			shelf{List: []*int64{ptr[int64](1), nil, ptr[int64](2)}, Map: map[string]float64{"a": 1}, Below: &shelf{Below: &shelf{Whole: ptr[int64](1)}},
				Above: []tagged{{Count: ptr[int64](1), Free: "1"}}}},
		{"types with a form of their own", `{"Free":"5","Bytes":"AQ==","Exact":"5","Time":"1999-02-19T00:00:00Z","Union":"5","Quoted":"5","Hidden":"5"}`,
			shelf{Free: "5", Bytes: []byte{1}, Exact: "5", Time: now, Union: union{`"5"`}, Quoted: 5}},
		{"nulls", `{"Whole":null,"Below":null}`, shelf{}},
		{"nothing", `null`, shelf{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var desired, previous shelf
			req := hookRequest{TargetModel: fmt.Appendf(nil, `{"resourceProperties":%s,"previousResourceProperties":%[1]s}`, test.target)}
			if err := req.Target(&desired, &previous); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(desired, test.want) || !reflect.DeepEqual(previous, test.want) {
				t.Errorf("got  %+v\nand  %+v\nwant %+v", desired, previous, test.want)
			}
		})
	}
}

func TestTargetThatDoesNotFit(t *testing.T) {
	for _, test := range []struct{ target, want string }{
		{`[]`, "#: expected type: Object, found: Array"},
		{`{"Whole":"secret"}`, "#/Whole: expected type: Integer, found: String"},
		{`{"Whole":"1.5"}`, "#/Whole: expected type: Integer, found: String"},
		{`{"Number":1e309}`, "#/Number: must be at most 1.7976931348623157e+308"},
		{`{"Number":1e999}`, "#/Number: is a number out of bounds"},
		{`{"Natural":-1}`, "#/Natural: must be at least 0"},
		{`{"Natural":"65536"}`, "#/Natural: must be at most 65535"},
		{`{"Truth":1}`, "#/Truth: expected type: Boolean, found: Integer"},
		{`{"List":[1,null,{}]}`, "#/List/2: expected type: Integer, found: Object"},
		{`{"Map":{"a/b":[]}}`, "#/Map/a~1b: expected type: Number, found: Array"},
		{`{"Above":[{"Count":"x"}]}`, "#/Above/0/Count: expected type: Integer, found: String"},
		{`{"Below":{"whole":"x"}}`, "#/Below/Whole: does not fit the model"},
		{`{"Time":"now"}`, "the model cannot be read"},
	} {
		req := hookRequest{TargetModel: fmt.Appendf(nil, `{"resourceProperties":%s}`, test.target)}
		if err := req.Target(&shelf{}, nil); err == nil || err.Error() != "Invalid request provided: the target model: "+test.want {
			t.Errorf("%s: got %v, want %s", test.target, err, test.want)
		}
	}
}
