package handler

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func TestIdentifier(t *testing.T) {
	const arn = "arn:aws:cloudformation:us-east-1:123456789012:stack/my-very-very-very-long-stack/f449b250-b969-11e0-a185-5081d0136786"
	tests := []struct {
		name           string
		stack, logical string
		max            int
		want           string // XXX stands for the twelve characters of the token
	}{
		{"default length", "", "Orders", 0, "Orders-XXX"},
		{"logical ID is cut", "", strings.Repeat("a", 60), 0, strings.Repeat("a", 27) + "-XXX"},
		{"no room for a prefix", "", "Orders", 13, "XXX"},
		{"no logical ID", "", "", 40, "XXX"},
		{"both", "shop", "Orders", 40, "shop-Orders-XXX"},
		{"from the ARN, cut fairly", arn, "my-very-very-very-long-resource", 36, "my-very-ver-my-very-ver-XXX"},
		{"the short one leaves its share", "ab", "my-very-long-resource", 30, "ab-my-very-long-r-XXX"},
		{"the other short one too", "my-very-long-stack", "ab", 30, "my-very-long-s-ab-XXX"},
		{"18 has a separator", arn, "my-resource", 18, "my-my-XXX"},
		{"17 has none", arn, "my-resource", 17, "mymy-XXX"},
		{"16", arn, "my-resource", 16, "mmy-XXX"},
		{"15", arn, "my-resource", 15, "mm-XXX"},
		{"hyphens are tidied", "--a--b", "-C---D-", 40, "a-b-C-D-XXX"},
		{"only hyphens", "--", "-", 40, "XXX"},
		{"characters are not torn", "", "ää" + strings.Repeat("ö", 20), 16, "ä-XXX"},
	}
	suffix := regexp.MustCompile(`[a-z2-7]{12}$`)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			id := Identifier{StackID: test.stack, LogicalID: test.logical, Token: "token-1", MaxLength: test.max}
			got, err := id.Generate()
			if err != nil {
				t.Fatal(err)
			}
			if masked := suffix.ReplaceAllString(got, "XXX"); masked != test.want {
				t.Errorf("got %s, want %s", masked, test.want)
			}
			if test.max > 0 && len(got) > test.max {
				t.Errorf("%s is longer than %d", got, test.max)
			}
			if again, _ := id.Generate(); again != got {
				t.Errorf("%s, and then %s", got, again)
			}
			id.Token = "token-2"
			if other, _ := id.Generate(); other == got {
				t.Errorf("%s for both tokens", got)
			}
		})
	}
}

func TestIdentifierRefuses(t *testing.T) {
	for _, test := range []struct {
		id   Identifier
		want string
	}{
		{Identifier{LogicalID: "a"}, "generate identifier: the client request token is empty"},
		{Identifier{Token: "t", MaxLength: 11}, "generate identifier: maximum length 11 is under 12"},
		{Identifier{Token: "t", StackID: "s", MaxLength: 14}, "generate identifier: maximum length 14 is under 15"},
		{Identifier{Token: "t", StackID: "a_b"}, `generate identifier: stack name "a_b" has a character other than letters, digits and hyphens`},
		{Identifier{Token: "t", StackID: "arn:aws:s3:::bucket"}, `generate identifier: "arn:aws:s3:::bucket" is not the ARN of a stack`},
	} {
		if _, err := test.id.Generate(); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	req := widgetRequest{StackID: "shop", LogicalID: "Orders", Token: "t"}
	if got, err := req.Identifier(24); err != nil || !strings.HasPrefix(got, "shop-Orde") || len(got) > 24 {
		t.Errorf("%s %v", got, err)
	}
}

func TestTags(t *testing.T) {
	add, remove := DiffTags(map[string]string{"same": "1", "old": "1", "gone": "1", "also": ""}, map[string]string{"same": "1", "old": "2", "new": ""})
	if !reflect.DeepEqual(add, map[string]string{"old": "2", "new": ""}) || !reflect.DeepEqual(remove, []string{"also", "gone"}) {
		t.Errorf("add %v, remove %v", add, remove)
	}
	if add, remove := DiffTags(nil, nil); len(add)+len(remove) != 0 {
		t.Errorf("add %v, remove %v", add, remove)
	}
	for text, want := range map[string]string{
		`{"a":"b","n":5,"t":true,"f":false,"x":[],"z":null}`:                            "map[a:b f:false n:5 t:true]",
		`[{"Key":"a","Value":"b"},{"key":"c","value":"d"},{"Key":"e"},{"Value":"f"},5]`: "map[a:b c:d e:]",
		`"text"`: "map[]",
	} {
		tree, err := decodeTree([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(tagsOf(tree)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestTagPropertyOfTheSchema(t *testing.T) {
	s, err := parseSchema([]byte(`{"tagging":{"tagProperty":"/properties/Meta/Labels"}}`))
	if err != nil {
		t.Fatal(err)
	}
	f := &resourceFunction[widget, widgetConfig]{schema: s}
	tree, err := decodeTree([]byte(`{"Meta":{"Labels":{"a":"model"}},"Tags":{"b":"no"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(f.tags(tree, map[string]string{"a": "stack"})); got != "map[a:model]" {
		t.Error(got)
	}
}

func TestPartitions(t *testing.T) {
	for region, want := range map[string]string{"": "aws", "us-east-1": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov", "us-iso-east-1": "aws-iso", "us-isob-east-1": "aws-iso-b", "eusc-de-east-1": "aws-eusc"} {
		if got := partitionOf(region); got != want {
			t.Errorf("%s: got %s, want %s", region, got, want)
		}
	}
}
