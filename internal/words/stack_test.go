package words

import "testing"

func TestUnfoldStacks(t *testing.T) {
	for given, want := range map[string]string{
		"plain\n": "plain\n",
		`{"msg":"panic","stack":["a.go:1 f","b.go:2 g"],"type":"A::B::C"}` + "\nnext": `{"msg":"panic","type":"A::B::C"}` + "\n    a.go:1 f\n    b.go:2 g\nnext",
		`{"msg":"panic","stack":["a.go:1 f"]}`:                                        `{"msg":"panic"}` + "\n    a.go:1 f",
		`{"msg":"panic","stack":[]}`:                                                  `{"msg":"panic"}`,
		`{"msg":"cut off","stack":["a.go:1`:                                           `{"msg":"cut off","stack":["a.go:1`,
		`{"msg":"numbers","stack":[1]}`:                                               `{"msg":"numbers","stack":[1]}`,
		`prefix {"msg":"panic","stack":["a.go"]}`:                                     `prefix {"msg":"panic","stack":["a.go"]}`,
	} {
		if got := UnfoldStacks(given); got != want {
			t.Errorf("%s\nbecame %q\nwant   %q", given, got, want)
		}
	}
}
