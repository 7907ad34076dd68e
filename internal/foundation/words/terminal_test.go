package words

import (
	"testing"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain ä 漢\tx\n":        "plain ä 漢\tx\n",
		"\x1b]0;title\x07":      `\u001b]0;title\u0007`,
		"\u009b2J":              `\u009b2J`,
		"100%\rdone":            `100%\u000ddone`,
		"line\r\nline\r\n":      "line\r\nline\r\n",
		"a\u202egnp.exe\u2066b": `a\u202egnp.exe\u2066b`,
		"\x9b2J\xff":            "\uFFFD2J\uFFFD",
		"back\x08\x7f":          `back\u0008\u007f`,
		`{"a": "` + "\u009b\"}": `{"a": "\u009b"}`,
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
