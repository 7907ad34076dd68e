package lsp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/lint"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// newTestServer is a server without a client.
func newTestServer(t testing.TB, cfg Config) *server {
	s := &server{
		cfg: cfg.withDefaults(), out: newOutbox(), ctx: t.Context(), encoding: utf16Encoding,
		open: map[string]*openDocument{}, cancels: map[string]context.CancelFunc{}, loaded: map[string]*snapshot{}, slots: make(chan struct{}, maxParallel),
	}
	s.workspace = &workspace{server: s}
	s.client.TextDocument.Completion.CompletionItem.SnippetSupport = true
	s.client.TextDocument.DocumentSymbol.Hierarchical = true
	s.client.TextDocument.PublishDiagnostics.RelatedInformation = true
	return s
}

// answerAll asks everything that can be asked about one place.
func (s *server) answerAll(t testing.TB, uri, text string, offset int) {
	d := s.newSnapshot(uri, nil, text)
	p := documentParams{Position: d.lines.position(offset, s.encoding)}
	p.Range = d.lines.span(0, len(text), s.encoding)
	for method, ask := range queries {
		if d.role() == unknownRole {
			continue
		}
		var refused *responseError
		if _, err := ask(s, t.Context(), d, p); err != nil && (!errors.As(err, &refused) || refused.Code != codeRequestFailed) {
			t.Fatalf("%s at %d of %q: %v", method, offset, text, err)
		}
	}
	s.judge(d)
}

// corpus returns the text of the AWS schema of median size and that of the largest one.
func corpus(b *testing.B) map[string]string {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(b, "schemas/aws"), "*.json"))
	if err != nil || len(files) == 0 {
		b.Fatal("there are no schemas: ", err)
	}
	texts := make([]string, len(files))
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		texts[i] = string(data)
	}
	sort.Slice(texts, func(i, j int) bool { return len(texts[i]) < len(texts[j]) })
	return map[string]string{"typical": texts[len(texts)/2], "large": texts[len(texts)*99/100], "largest": texts[len(texts)-1]}
}

func withLint() Config {
	return Config{Lint: func(s *schema.Schema, found diag.List) diag.List {
		return append(found, lint.Run(s, lint.Config{})...)
	}}
}

// thousandLines is a template of 1,000 lines with references, conditions and functions.
func thousandLines() string {
	var b strings.Builder
	b.WriteString("Parameters:\n  Stage: {Type: String, Default: dev, AllowedValues: [dev, prod]}\nConditions:\n  Prod: !Equals [!Ref Stage, prod]\nResources:\n")
	for i := range 66 {
		fmt.Fprintf(&b, `  Queue%d:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !Sub "${Stage}-orders-%d"
      FifoQueue: false
      DelaySeconds: !If [Prod, 10, 0]
      Tags:
        - Key: Stage
          Value: !Ref Stage
  Host%d:
    Type: Acme::Net::Host
    Properties:
      Name: host%d
      Ports: [{Number: 443, Protocol: tcp}]
      Password: !GetAtt Queue%d.Arn
`, i, i, i, i, i)
	}
	return b.String() + "Outputs:\n  Url: {Value: !Ref Queue0}\n  Arn: {Value: !GetAtt Queue1.Arn}\n"
}

// BenchmarkTemplate is what follows a keystroke in a template of 1,000 lines.
func BenchmarkTemplate(b *testing.B) {
	text := thousandLines()
	s := newTestServer(b, Config{Templates: testTemplates(b)})
	if found, _ := s.judge(s.newSnapshot("file:///x.yaml", nil, text)); len(found) > 0 {
		b.Fatalf("%+v", found)
	}
	b.Run("diagnose", func(b *testing.B) {
		for b.Loop() {
			s.judge(s.newSnapshot("file:///x.yaml", nil, text))
		}
	})
	offset := strings.LastIndex(text, "      Ports:")
	broken := text[:offset] + "      Si\n" + text[offset:]
	b.Run("complete", func(b *testing.B) {
		for b.Loop() {
			d := s.newSnapshot("file:///x.yaml", nil, broken)
			if _, err := s.completion(b.Context(), d, documentParams{Position: d.lines.position(offset+8, utf16Encoding)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkKeystroke is what follows a keystroke: the new text, its diagnosis, and
// proposals at the place.
func BenchmarkKeystroke(b *testing.B) {
	for name, text := range corpus(b) {
		offset := strings.LastIndex(text, `"type"`)
		broken := text[:offset] + `"ty` + text[offset:]
		s := newTestServer(b, withLint())
		b.Run("diagnose/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.judge(s.newSnapshot("file:///x.json", nil, text))
			}
		})
		b.Run("complete/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(broken)))
			for b.Loop() {
				d := s.newSnapshot("file:///x.json", nil, broken)
				if _, err := s.completion(b.Context(), d, documentParams{Position: d.lines.position(offset+3, utf16Encoding)}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("edit/"+name, func(b *testing.B) {
			l := newLines(text)
			at := l.position(offset, utf16Encoding)
			for b.Loop() {
				newLines(l.replace(span{at, at}, "x", utf16Encoding))
			}
		})
	}
}
