package jsonata

import (
	"strings"
	"testing"
)

// Expressions of published resource schemas, each with a model that it applies to.
var transforms = []struct {
	name, source string
	model        map[string]any
}{
	{"lowercase", `$lowercase(Name)`, map[string]any{"Name": "MyQueue-01", "Size": 5.0}},
	{"join", `$join(["^", $replace($replace(Version, ".", "\\."), "x", "[0-9]+"), "$"])`, map[string]any{"Version": "1.27.x"}},
	{"split", `$split(LayerName, ":")[-1]`, map[string]any{"LayerName": "arn:aws:lambda:eu-west-1:123456789012:layer:tools"}},
	{"merge", `$merge([{"Sid": StatementId}, Statement])`, map[string]any{
		"StatementId": "s1", "Statement": map[string]any{"Effect": "Allow", "Action": "s3:*"}}},
	{"lookup", `($m := $lookup({'1': 'icmp','6': 'tcp','17': 'udp','58': 'icmpv6'}, IpProtocol);` +
		`$p := $m ? $m : $lowercase(IpProtocol);$p in ['imcp', 'tcp', 'udp', 'imcp'] ? FromPort : -1)`,
		map[string]any{"IpProtocol": "6", "FromPort": 80.0}},
	{"regex", `$lookup($match(Arn,/(arn:(aws[a-zA-Z-]*)?:lambda:)?([a-z]{2}(-gov)?-[a-z]+-[0-9]{1}:)?([0-9]{12}:)?` +
		`(function:)?([a-zA-Z0-9-_]+)(:((?![0-9]+)[0-9a-zA-Z-_]+))?/)['groups'], 'groups')[6]`,
		map[string]any{"Arn": "arn:aws:lambda:us-east-1:123456789012:function:my-function:prod"}},
}

func BenchmarkEval(b *testing.B) {
	for _, t := range transforms {
		expr, err := Compile(t.source, Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(t.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := expr.Eval(b.Context(), t.model); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, t := range transforms {
		b.Run(t.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile(t.source, Config{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLarge joins the orders of a document of about 400 kB with its products.
func BenchmarkLarge(b *testing.B) {
	var text strings.Builder
	text.WriteString(`{"orders":[`)
	for i := range 2000 {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(`{"id":"order","product":{"name":"a product with a name","price":` + strings.Repeat("1", i%7+1) +
			`,"tags":["one","two","three"],"description":"` + strings.Repeat("word ", 15) + `"}}`)
	}
	text.WriteString(`]}`)
	input, err := DecodeInput([]byte(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	expr, err := Compile(`orders[product.price > 100]^(>product.price).{"name": product.name, "tags": $join(product.tags, "/")}`, Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := expr.Eval(b.Context(), input); err != nil {
			b.Fatal(err)
		}
	}
}
