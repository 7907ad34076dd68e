package submit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

func TestParseReference(t *testing.T) {
	for _, test := range []struct {
		text string
		kind types.RegistryType
		want Reference // the zero one is a refusal
	}{
		{"Acme::Foo::Bar", "", Reference{Name: "Acme::Foo::Bar"}},
		{"Acme::Foo::Bar", "HOOK", Reference{Name: "Acme::Foo::Bar", Kind: "HOOK"}},
		{"Acme::Foo::Bar::MODULE", "", Reference{Name: "Acme::Foo::Bar::MODULE", Kind: "MODULE"}},
		{"Acme::Foo::Bar::MODULE", "HOOK", Reference{}},
		{"Acme::Foo::Bar", "MODULE", Reference{}},
		{"Acme::Foo", "", Reference{}},
		{"", "", Reference{}},
		{"arn:aws:cloudformation:eu-west-1:123456789012:type/resource/Acme-Foo-Bar", "", Reference{Name: "Acme::Foo::Bar", Kind: "RESOURCE"}},
		{"arn:aws:cloudformation:eu-west-1:123456789012:type/resource/Acme-Foo-Bar", "HOOK", Reference{}},
		{"arn:aws-cn:cloudformation:cn-north-1:123456789012:type/hook/Acme-Foo-Bar/00000002", "", Reference{Name: "Acme::Foo::Bar", Kind: "HOOK", VersionID: "00000002"}},
		{"arn:aws:cloudformation:eu-west-1:123456789012:type/module/Acme-Foo-Bar-MODULE/00000001", "", Reference{Name: "Acme::Foo::Bar::MODULE", Kind: "MODULE", VersionID: "00000001"}},
		{"arn:aws:cloudformation:eu-west-1::type/resource/0123456789abcdef0123456789abcdef01234567/Acme-Foo-Bar", "",
			Reference{Name: "Acme::Foo::Bar", Kind: "RESOURCE", Publisher: "0123456789abcdef0123456789abcdef01234567"}},
		{"arn:aws:cloudformation:eu-west-1::type/resource/AWS-S3-Bucket", "", Reference{Name: "AWS::S3::Bucket", Kind: "RESOURCE"}},
		{"arn:aws:s3:::bucket", "", Reference{}},
	} {
		got, err := ParseReference(test.text, test.kind)
		if strings.HasPrefix(test.text, "arn:") && test.want != (Reference{}) {
			test.want.ARN = test.text
		}
		if got != test.want || (err == nil) != (test.want != Reference{}) {
			t.Errorf("%q as %q: %+v, %v", test.text, test.kind, got, err)
		}
	}
}

func FuzzParseReference(f *testing.F) {
	f.Add("Acme::Foo::Bar")
	f.Add("arn:aws:cloudformation:eu-west-1::type/resource/0123456789abcdef0123456789abcdef01234567/Acme-Foo-Bar/00000001")
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := ParseReference(text, "")
		if err == nil && (ref.Name == "" || strings.Contains(ref.Name, "-")) {
			t.Errorf("%q is %+v", text, ref)
		}
	})
}

func TestDescribeLooksForBothKinds(t *testing.T) {
	a := fixtures.NewAWS(t)
	a.Type("eu-west-1", "HOOK", "Acme::Foo::Bar", 1)
	r := open(t, a)
	ref := Reference{Name: "Acme::Foo::Bar"}
	if out, err := r.Describe(t.Context(), &ref, ""); err != nil || out.Type != "HOOK" || ref.Kind != "HOOK" {
		t.Errorf("%+v, %v", ref, err)
	}
	ref = Reference{Name: "Acme::Foo::Baz"}
	if err := r.Find(t.Context(), &ref); Explain(err).Code != "TypeNotFoundException" || !strings.Contains(Explain(err).Hint, "--type") {
		t.Errorf("%+v, %v", ref, err)
	}
}

func TestListsArePaged(t *testing.T) {
	a := fixtures.NewAWS(t)
	for i := range 5 {
		a.Type("eu-west-1", "RESOURCE", fmt.Sprintf("Acme::Foo::Bar%d", i), 1)
	}
	r := open(t, a)
	var names []string
	for s, err := range r.Types(t.Context(), cloudformation.ListTypesInput{}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, *s.TypeName)
	}
	if len(names) != 5 || len(a.Calls("ListTypes")) != 3 {
		t.Errorf("%v in %d pages", names, len(a.Calls("ListTypes")))
	}
	for range r.Types(t.Context(), cloudformation.ListTypesInput{}) {
		break
	}
	if n := len(a.Calls("ListTypes")); n != 4 {
		t.Errorf("%d pages were read for one type", n-3)
	}
}

// TestListsThatDoNotEnd reads lists of services that never return their last page.
func TestListsThatDoNotEnd(t *testing.T) {
	for name, test := range map[string]struct {
		token func(page int) string
		asked int
		err   string
	}{
		"the same token":     {func(int) string { return "same" }, 2, "the list does not end: the service returned the same NextToken twice"},
		"alternating tokens": {func(n int) string { return []string{"a", "b"}[n%2] }, 3, "the list does not end: the service returned the same NextToken twice"},
		"ever new tokens":    {strconv.Itoa, maxPages, "the list does not end: the service returned more than 10000 pages"},
	} {
		asked, items := 0, 0
		var last error
		for _, err := range pages(func(*string) ([]int, *string, error) {
			next := test.token(asked)
			asked++
			return []int{asked}, &next, nil
		}) {
			if last = err; err == nil {
				items++
			}
		}
		if last == nil || last.Error() != test.err || asked != test.asked || items != asked {
			t.Errorf("%s: %d items in %d pages, %v", name, items, asked, last)
		}
	}
}

func TestDeregisterAll(t *testing.T) {
	a := fixtures.NewAWS(t)
	a.Type("eu-west-1", "RESOURCE", "Acme::Foo::Bar", 3)
	var gone []string
	err := open(t, a).DeregisterAll(t.Context(), Reference{Name: "Acme::Foo::Bar", Kind: "RESOURCE"}, func(v string) { gone = append(gone, v) })
	if err != nil || !slices.Equal(gone, []string{"00000002", "00000003", ""}) {
		t.Errorf("%q, %v", gone, err)
	}
}

func TestLogs(t *testing.T) {
	a := fixtures.NewAWS(t)
	r := open(t, a)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	q := LogQuery{Groups: []string{"g"}, Since: at}
	var none *NoLogsError
	if err := r.Logs(t.Context(), q, nil); !errors.As(err, &none) {
		t.Errorf("without a group: %v", err)
	}
	for i := range 5 {
		a.Log("g", fixtures.AWSLogEvent{ID: fmt.Sprint(i), Message: fmt.Sprint(i), Time: at.Add(time.Duration(i-1) * time.Second)})
	}
	read := func(ctx context.Context, q LogQuery, until int) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		out := ""
		err := r.Logs(ctx, q, func(e LogEvent) error {
			out += e.Message
			if len(out) == 4 && q.Follow { // one that comes late, and one of the future
				a.Log(q.Groups[0], fixtures.AWSLogEvent{ID: "5", Message: "5", Time: at.Add(-time.Nanosecond)}, fixtures.AWSLogEvent{ID: "6", Message: "6", Time: at.Add(time.Hour)})
			}
			if len(out) == until {
				cancel()
			}
			return nil
		})
		return out, err
	}
	if got, err := read(t.Context(), q, 0); got != "1234" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	q.Since, q.Follow = at.Add(-time.Second), true
	a.Fail(fixtures.AWSFailure{Operation: "FilterLogEvents", Times: 4, Code: "ThrottlingException", Message: "slow down"})
	if got, err := read(t.Context(), q, 7); !errors.Is(err, context.Canceled) || len(got) != 7 || strings.Count(got, "0") != 1 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLogGroups(t *testing.T) {
	for _, test := range []struct {
		product, typeName string
		group             string // of the registration
		want              string
		told              bool
	}{
		{"formwork", "Acme::Foo::Bar", "own", "[own]", true},
		{"formwork", "Acme::Foo::Bar", "", "[default of Acme::Foo::Bar]", false},
		{"formwork", "Mine::Foo::Bar", "", "[default of Acme::Foo::Original acme-foo-original-logs]", false},
		{"", "Acme::Foo::Bar", "own", "[own]", true},
		{"", "Acme::Foo::Bar", "", "[acme-foo-bar-logs]", false},
		{"", "Mine::Foo::Bar", "", "[acme-foo-original-logs]", false},
	} {
		a := fixtures.NewAWS(t)
		a.Product = test.product
		r := open(t, a)
		a.Activated(r.Region, "RESOURCE", "Mine::Foo::Bar", "Acme::Foo::Original")
		if test.group != "" {
			q := request()
			if _, err := r.Register(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			test.want = strings.ReplaceAll(test.want, "own", LogGroup(q.TypeName))
		} else {
			a.Type(r.Region, "RESOURCE", "Acme::Foo::Bar", 1)
		}
		groups, told, err := r.LogGroupsOf(t.Context(), &Reference{Name: test.typeName}, func(name string) string { return "default of " + name })
		if err != nil || fmt.Sprint(groups) != test.want || told != test.told {
			t.Errorf("%+v: %q, told %t, %v", test, groups, told, err)
		}
	}
}

// TestLogsOfTheFirstGroup reads the first group that exists, and says which it is.
func TestLogsOfTheFirstGroup(t *testing.T) {
	a := fixtures.NewAWS(t)
	r := open(t, a)
	now := time.Now()
	var read, said []string
	ctx, cancel := context.WithCancel(t.Context())
	q := LogQuery{Groups: []string{"first", "second"}, Since: now.Add(-time.Hour), Reading: func(group string) { said = append(said, group) }}
	each := func(e LogEvent) error {
		read = append(read, e.Message)
		switch e.Message {
		case "b": // the likelier one appears while the other is followed
			a.Log("first", fixtures.AWSLogEvent{ID: "2", Message: "a", Time: now})
		case "a":
			cancel()
		}
		return nil
	}
	var none *NoLogsError
	if err := r.Logs(t.Context(), q, each); !errors.As(err, &none) || err.Error() != "there is no log group first, and none second" || said != nil {
		t.Errorf("%v, said %q", err, said)
	}
	a.Log("second", fixtures.AWSLogEvent{ID: "1", Message: "b", Time: now})
	q.Follow = true
	if err := r.Logs(ctx, q, each); !errors.Is(err, context.Canceled) || !slices.Equal(read, []string{"b", "a"}) || !slices.Equal(said, []string{"second", "first"}) {
		t.Errorf("read %q of %q, %v", read, said, err)
	}
}

func TestFollowWaitsForTheGroup(t *testing.T) {
	a := fixtures.NewAWS(t)
	r := open(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		fixtures.Happens(fixtures.Patience, func() bool { return len(a.Calls("FilterLogEvents")) >= 2 })
		a.Log("g", fixtures.AWSLogEvent{ID: "1", Message: "here", Time: time.Now()})
	}()
	got := ""
	err := r.Logs(ctx, LogQuery{Groups: []string{"g"}, Since: time.Now().Add(-time.Hour), Follow: true}, func(e LogEvent) error {
		got = e.Message
		cancel()
		return nil
	})
	if got != "here" || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestExplainWithoutAnAnswer(t *testing.T) {
	a := fixtures.NewAWS(t)
	r := open(t, a, "AWS_MAX_ATTEMPTS=1")
	r.Endpoint = "http://127.0.0.1:1"
	r.connect()
	_, err := r.Registration(t.Context(), "token")
	e := Explain(err)
	if e.Code != "" || !strings.HasPrefix(e.Text, "DescribeTypeRegistration: ") || !strings.Contains(e.Text, "connection refused") || strings.Contains(e.Text, "maximum number of attempts") {
		t.Errorf("%+v", e)
	}
	if e := Explain(errors.New("other")); e.Text != "other" {
		t.Errorf("%+v", e)
	}
}
