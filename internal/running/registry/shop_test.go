package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A shop is a rig whose resource types run: each of its types keeps things in a map.
type shop struct {
	*rig
	buckets *buckets

	mu    sync.Mutex
	calls int
	block chan struct{} // if set, calls wait until it is closed

	blockOn string  // only calls of this action wait; "" for all
	shared  *keeper // the handler of all versions, if set

	hanging string // the account whose handlers block means, "" for all

	wrong bool   // handlers forget what they made
	say   string // what a wrong handler says
	specs []bundle.Spec
}

var (
	reader  = awswire.Caller{Place: awswire.Place{Account: "210987654321", Region: "eu-west-1"}, AccessKeyID: "AKIDOTHER", RequestID: "r"}
	faraway = awswire.Caller{Place: awswire.Place{Account: "210987654321", Region: "us-east-1"}, AccessKeyID: "AKIDOTHER", RequestID: "r"}
)

func eachShop(t *testing.T, test func(t *testing.T, s *shop)) {
	eachStore(t, func(t *testing.T, g *rig) {
		s := &shop{rig: g, buckets: &buckets{content: map[string][]byte{}}}
		s.stock()
		s.work()
		test(t, s)
	})
}

// stock gives the registry what the shop has.
func (s *shop) stock() {
	s.config.Functions, s.config.Deliver = s, s.buckets.Deliver
}

func (s *shop) reopen() {
	s.t.Helper()
	if err := s.store.Close(); err != nil {
		s.t.Log("close:", err)
	}
	s.open()
	s.stock()
	s.work()
}

func (s *shop) Function(_ context.Context, spec bundle.Spec) (invoke.Function, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.specs = append(s.specs, spec)
	if s.shared != nil {
		return s.shared, nil
	}
	return &keeper{shop: s, account: spec.Account, things: map[string]map[string]any{}}, nil
}

// A keeper is the handler of a type with the properties Name, Size and Secret. It does one
// thing at a time.
type keeper struct {
	shop    *shop
	account string

	mu     sync.Mutex
	things map[string]map[string]any
	cut    bool // a call that waited was cut short: the next ones do not wait

	waiting atomic.Bool // a call has waited
}

func (k *keeper) Call(ctx context.Context, payload []byte) ([]byte, error) {
	k.shop.mu.Lock()
	k.shop.calls++
	block, wrong, say := k.shop.block, k.shop.wrong, k.shop.say
	if k.shop.hanging != "" && k.shop.hanging != k.account {
		block = nil
	}
	if k.shop.blockOn != "" && !bytes.Contains(payload, []byte(`"action":"`+k.shop.blockOn+`"`)) {
		block = nil
	}
	k.shop.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if block != nil && !k.cut {
		k.waiting.Store(true)
		select {
		case <-block:
		case <-ctx.Done():
			k.cut = true
			return nil, ctx.Err()
		}
	}
	var request struct {
		Action      string
		RequestData struct{ ResourceProperties map[string]any }
	}
	if err := json.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	return json.Marshal(k.answer(request.Action, request.RequestData.ResourceProperties, wrong, say))
}

func (k *keeper) answer(action string, model map[string]any, wrong bool, say string) map[string]any {
	name, _ := model["Name"].(string)
	_, there := k.things[name]
	event := map[string]any{"status": "SUCCESS"}
	fail := func(code string) map[string]any {
		return map[string]any{"status": "FAILED", "errorCode": code, "message": "the thing: " + code + say}
	}
	switch action {
	case "CREATE", "UPDATE":
		if there != (action == "UPDATE") {
			return fail(map[bool]string{true: "AlreadyExists", false: "NotFound"}[there])
		}
		kept := maps.Clone(model)
		delete(kept, "Secret")
		if !wrong {
			k.things[name] = kept
		}
		event["resourceModel"] = kept
	case "READ", "DELETE":
		if !there {
			return fail("NotFound")
		}
		if action == "READ" {
			event["resourceModel"] = k.things[name]
		} else {
			delete(k.things, name)
		}
	case "LIST":
		models := []any{}
		for _, thing := range k.things {
			models = append(models, thing)
		}
		event["resourceModels"] = models
	}
	return event
}

// things is a package of a resource type that a keeper keeps; no two are the same.
func (s *shop) things(typeName, description string) string {
	url := "s3://packages/" + strings.ReplaceAll(typeName, "::", "-") + "-" + description + ".zip"
	s.packages.put(url, resourcePackage(s.t, typeName, func(document map[string]any) {
		document["description"] = description
		document["properties"] = map[string]any{
			"Name": map[string]any{"type": "string", "pattern": "^[a-z]{8,20}$"}, "Size": map[string]any{"type": "integer"},
			"Secret": map[string]any{"type": "string", "pattern": "^[A-Z]{12,20}$"},
		}
		document["required"] = []string{"Name", "Size", "Secret"}
		document["writeOnlyProperties"] = []string{"/properties/Secret"}
		document["typeConfiguration"] = map[string]any{
			"additionalProperties": false, "properties": map[string]any{"Key": map[string]any{"type": "string"}},
		}
	}))
	return url
}

// thing registers a version of a resource type.
func (s *shop) thing(caller awswire.Caller, typeName, description string) (versionARN string) {
	s.t.Helper()
	out := s.register(caller, schema.Resource, typeName, s.things(typeName, description))
	if out.ProgressStatus != types.RegistrationStatusComplete {
		s.t.Fatalf("%s: %s", typeName, aws.ToString(out.Description))
	}
	return *out.TypeVersionArn
}

// tested tests a version and waits for the verdict.
func (s *shop) tested(caller awswire.Caller, versionARN string) *cloudformation.DescribeTypeOutput {
	s.t.Helper()
	if _, err := s.TestType(s.t.Context(), caller, &cloudformation.TestTypeInput{Arn: &versionARN}); err != nil {
		s.t.Fatal(err)
	}
	return s.verdict(caller, versionARN)
}

func (s *shop) verdict(caller awswire.Caller, versionARN string) *cloudformation.DescribeTypeOutput {
	s.t.Helper()
	var out *cloudformation.DescribeTypeOutput
	s.until("the test ends", func() bool {
		out = s.describe(caller, versionARN)
		return out.TypeTestsStatus != types.TypeTestsStatusInProgress
	})
	return out
}

// until waits until something holds that a worker brings about.
func (s *shop) until(what string, holds func() bool) {
	s.t.Helper()
	deadline := time.After(2 * time.Minute)
	for !holds() {
		select {
		case <-s.changed:
		case <-time.After(50 * time.Millisecond): // changes may be dropped
		case <-deadline:
			s.t.Fatalf("not in time: %s; log:\n%s", what, s.log.text())
		}
	}
}

func (s *shop) describe(caller awswire.Caller, arn string) *cloudformation.DescribeTypeOutput {
	s.t.Helper()
	out, err := s.DescribeType(s.t.Context(), caller, &cloudformation.DescribeTypeInput{Arn: &arn})
	if err != nil {
		s.t.Fatalf("%s: %v", arn, err)
	}
	return out
}

// publisher makes an account a publisher and returns its id.
func (s *shop) publisher(caller awswire.Caller) string {
	s.t.Helper()
	out, err := s.RegisterPublisher(s.t.Context(), caller, &cloudformation.RegisterPublisherInput{AcceptTermsAndConditions: aws.Bool(true)})
	if err != nil {
		s.t.Fatal(err)
	}
	return *out.PublisherId
}

// publish publishes a version, under a number unless that is "".
func (s *shop) publish(caller awswire.Caller, versionARN, number string) (publicARN string) {
	s.t.Helper()
	out, err := s.PublishType(s.t.Context(), caller, &cloudformation.PublishTypeInput{Arn: &versionARN, PublicVersionNumber: absent(number)})
	if err != nil {
		s.t.Fatal(err)
	}
	return *out.PublicTypeArn
}

// offer registers, tests and publishes a version.
func (s *shop) offer(caller awswire.Caller, typeName, description, number string) (publicARN string) {
	s.t.Helper()
	version := s.thing(caller, typeName, description)
	if out := s.tested(caller, version); out.TypeTestsStatus != types.TypeTestsStatusPassed {
		s.t.Fatalf("%s: %s: %s", version, out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
	}
	return s.publish(caller, version, number)
}

func (s *shop) activate(caller awswire.Caller, in *cloudformation.ActivateTypeInput) (arn string) {
	s.t.Helper()
	out, err := s.ActivateType(s.t.Context(), caller, in)
	if err != nil {
		s.t.Fatal(err)
	}
	return *out.Arn
}

// buckets take deliveries.
type buckets struct {
	mu      sync.Mutex
	content map[string][]byte // by bucket/key
	callers []awswire.Caller
}

func (b *buckets) Deliver(_ context.Context, caller awswire.Caller, bucket, key string, body io.ReadSeeker) error {
	content, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch bucket {
	case "missing-bucket":
		return awswire.Errorf("NoSuchBucket", 404, "The specified bucket does not exist")
	case "broken-bucket":
		return errors.New("the disk is full")
	}
	b.content[bucket+"/"+key] = content
	b.callers = append(b.callers, caller)
	return nil
}

func (b *buckets) delivered() map[string][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.content)
}

// names are the type names of summaries, each with what a test wants to see beside it.
func names(summaries []types.TypeSummary, also func(types.TypeSummary) string) []string {
	list := []string{}
	for _, s := range summaries {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s", aws.ToString(s.TypeName), also(s))))
	}
	return list
}
