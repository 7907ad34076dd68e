package awswire

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
)

// sdkServices are the services whose every operation goes through the codec, there with
// the SDK's serializer and our decoder, back with our encoder and the SDK's deserializer.
var sdkServices = []struct {
	table  *Table
	client func(aws.Config) any
	// apart are operations that are no request and answer of one document each.
	apart []string
	least int // operations that there are at least: a rename of the SDK must not empty the test
}{
	{
		table: &Table{Service: "cloudformation", Protocol: Query, Version: "2010-05-15", Namespace: "http://cloudformation.amazonaws.com/doc/2010-05-15/",
			NoResult: []string{"CancelUpdateStack", "DeleteGeneratedTemplate", "DeleteStack", "ExecuteStackRefactor", "SetStackPolicy", "SignalResource"}},
		client: func(c aws.Config) any { return cloudformation.NewFromConfig(c) },
		least:  90,
	},
	{
		table: &Table{Service: "sts", Protocol: Query, Version: "2011-06-15", Namespace: "https://sts.amazonaws.com/doc/2011-06-15/",
			WireNames: map[string]string{"PolicyDescriptorType.Arn": "arn"}},
		client: func(c aws.Config) any { return sts.NewFromConfig(c) },
		least:  11,
	},
	{
		table:  &Table{Service: "cloudcontrolapi", Protocol: JSON10, TargetPrefix: "CloudApiService"},
		client: func(c aws.Config) any { return cloudcontrol.NewFromConfig(c) },
		least:  8,
	},
	{
		table: &Table{Service: "ssm", Protocol: JSON11, TargetPrefix: "AmazonSSM",
			WireNames: map[string]string{
				"AssociationFilter.Key": "key", "AssociationFilter.Value": "value",
				"CommandFilter.Key": "key", "CommandFilter.Value": "value",
				"DocumentFilter.Key": "key", "DocumentFilter.Value": "value",
				"InstanceInformationFilter.Key": "key", "InstanceInformationFilter.ValueSet": "valueSet",
				"InstancePropertyFilter.Key": "key", "InstancePropertyFilter.ValueSet": "valueSet",
				"SessionFilter.Key": "key", "SessionFilter.Value": "value",
			},
			Unions: []any{ssmtypes.CloudConnectorConfigurationMemberAzureConfiguration{}, &ssmtypes.ConfigurationTargetsMemberSubscriptions{},
				ssmtypes.ExecutionInputsMemberAutomation{}, ssmtypes.ExecutionPreviewMemberAutomation{}, ssmtypes.NodeTypeMemberInstance{}}},
		client: func(c aws.Config) any { return ssm.NewFromConfig(c) },
		least:  140,
	},
	{
		table:  &Table{Service: "secretsmanager", Protocol: JSON11, TargetPrefix: "secretsmanager"},
		client: func(c aws.Config) any { return secretsmanager.NewFromConfig(c) },
		least:  23,
	},
	{
		table: &Table{Service: "logs", Protocol: JSON11, TargetPrefix: "Logs_20140328", LowerFirst: true,
			WireNames: map[string]string{"DescribeDestinationsInput.DestinationNamePrefix": "DestinationNamePrefix"},
			Unions:    []any{logstypes.IntegrationDetailsMemberOpenSearchIntegrationDetails{}, logstypes.ResourceConfigMemberOpenSearchResourceConfig{}}},
		client: func(c aws.Config) any { return cloudwatchlogs.NewFromConfig(c) },
		apart:  []string{"StartLiveTail", "GetLogObject"}, // they answer a stream of events
		least:  105,
	},
}

// TestEveryOperationOfTheSDK sends random inputs of every operation through the SDK's
// client and answers with random outputs: both must arrive as they were sent.
func TestEveryOperationOfTheSDK(t *testing.T) {
	const rounds = 8
	for _, service := range sdkServices {
		t.Run(service.table.Service, func(t *testing.T) {
			var out any // what the server answers with
			var got any // what it was sent
			exchange := &exchange{table: service.table}
			config := aws.Config{
				Region:      "eu-west-1",
				Credentials: credentials.NewStaticCredentialsProvider("123456789012", "secret", ""),
				HTTPClient:  exchange,
				Retryer:     func() aws.Retryer { return aws.NopRetryer{} },
				APIOptions: []func(*middleware.Stack) error{func(s *middleware.Stack) error {
					s.Initialize.Remove("OperationInputValidation") // not every operation has it
					return nil
				}},
			}
			client := reflect.ValueOf(service.client(config))
			methods := operationsOf(client, service.apart)
			if len(methods) < service.least {
				t.Fatalf("%d operations, want at least %d", len(methods), service.least)
			}
			for name, method := range methods {
				service.table.Operations = append(service.table.Operations, Operation{
					Name: name,
					in:   method.Type().In(1).Elem(),
					out:  method.Type().Out(0).Elem(),
					call: func(_ context.Context, _ Caller, in any) (any, error) {
						got = in
						return out, nil
					},
				})
			}
			if err := service.table.Check(); err != nil {
				t.Fatal(err)
			}
			for _, name := range sortedKeys(methods) {
				hash := fnv.New64()
				hash.Write([]byte(name))
				random := generator{rand.New(rand.NewPCG(hash.Sum64(), 5)), service.table}
				for round := range rounds {
					in := random.structure(methods[name].Type().In(1).Elem())
					want := random.structure(methods[name].Type().Out(0).Elem())
					out = want.Interface()
					results := methods[name].Call([]reflect.Value{reflect.ValueOf(t.Context()), in})
					if err := results[1].Interface(); err != nil {
						t.Fatalf("%s, round %d: %v\nrequest: %s\nanswer: %s", name, round, err, exchange.request, exchange.answer)
					}
					if diff := cmp.Diff(plain(in), plain(reflect.ValueOf(got))); diff != "" {
						t.Fatalf("%s, round %d: the input arrived otherwise (-sent +received):\n%s\n%s", name, round, diff, exchange.request)
					}
					if diff := cmp.Diff(plain(want), plain(results[0])); diff != "" {
						t.Fatalf("%s, round %d: the output arrived otherwise (-sent +received):\n%s\n%s", name, round, diff, exchange.answer)
					}
				}
			}
		})
	}
}

// operationsOf are the methods of a client that are operations, by name.
func operationsOf(client reflect.Value, apart []string) map[string]reflect.Value {
	methods := map[string]reflect.Value{}
	for i := range client.NumMethod() {
		name := client.Type().Method(i).Name
		method := client.Method(i)
		typ := method.Type()
		if typ.NumIn() == 3 && typ.NumOut() == 2 && typ.In(1).Kind() == reflect.Pointer && strings.HasSuffix(typ.In(1).Elem().Name(), "Input") {
			methods[name] = method
		}
	}
	for _, name := range apart {
		delete(methods, name)
	}
	return methods
}

// exchange is an HTTP client whose server is a table.
type exchange struct {
	table           *Table
	request, answer string
}

func (e *exchange) Do(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	body, err := readBody(r, 1<<30)
	if err != nil {
		return nil, err
	}
	e.request = r.Header.Get("X-Amz-Target") + " " + string(body)
	r.Body = readCloser{strings.NewReader(string(body)), http.NoBody}
	w := httptest.NewRecorder()
	e.table.Serve(w, r, Caller{Place: Place{Account: "123456789012", Region: "eu-west-1"}, RequestID: "id"})
	e.answer = w.Body.String()
	return w.Result(), nil
}

// A generator makes random values of the SDK's types.
type generator struct {
	*rand.Rand
	table *Table
}

// structure makes a pointer to a structure of which every member may be there.
func (g generator) structure(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	g.fill(p.Elem(), 0)
	return p
}

func (g generator) fill(v reflect.Value, depth int) {
	some := false
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() || field.Name == "ResultMetadata" {
			continue
		}
		// Absent one time in four; but an empty structure does not travel in a form, so
		// the first member stays where it can.
		if some && g.IntN(4) == 0 {
			continue
		}
		g.value(v.Field(i), depth+1)
		some = some || !v.Field(i).IsZero()
	}
}

func (g generator) value(v reflect.Value, depth int) {
	switch t := v.Type(); {
	case t == timeType:
		// In eighths of a second where they travel as a number: the SDK truncates the rest.
		ms := g.Int64N(4e12)
		if g.table.Protocol != Query {
			ms -= ms % 125
		}
		v.Set(reflect.ValueOf(time.UnixMilli(ms).UTC()))
	case t == blobType:
		v.SetBytes([]byte(g.text()))
	case t.Kind() == reflect.Pointer:
		if depth > 6 && t.Elem().Kind() == reflect.Struct && t.Elem() != timeType {
			return
		}
		v.Set(reflect.New(t.Elem()))
		g.value(v.Elem(), depth)
	case t.Kind() == reflect.Struct:
		g.fill(v, depth)
	case t.Kind() == reflect.String:
		if values := enumValues(t); values != nil {
			v.SetString(values[g.IntN(len(values))])
		} else {
			v.SetString(g.text())
		}
	case t.Kind() == reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case v.CanInt():
		v.SetInt(g.Int64() >> (64 - t.Bits() + g.IntN(t.Bits())) * int64(g.IntN(3)-1))
	case v.CanFloat():
		v.SetFloat(float64(float32(g.NormFloat64() * 1e6)))
	case t.Kind() == reflect.Slice:
		if depth > 6 {
			return
		}
		v.Set(reflect.MakeSlice(t, g.IntN(3), 3))
		for i := range v.Len() {
			g.value(v.Index(i), depth+1)
		}
	case t.Kind() == reflect.Map:
		n := g.IntN(3)
		if depth > 6 {
			return
		}
		if g.table.Protocol == Query {
			n++ // the SDK sends no empty maps in forms
		}
		v.Set(reflect.MakeMap(t))
		for range n {
			key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			g.value(key, depth+1)
			g.value(value, depth+1)
			v.SetMapIndex(key, value)
		}
	case t.Kind() == reflect.Interface:
		for _, u := range g.table.Unions {
			member := reflect.TypeOf(u)
			if member.Kind() == reflect.Pointer {
				member = member.Elem()
			}
			if reflect.PointerTo(member).Implements(t) {
				p := reflect.New(member)
				g.value(p.Elem().FieldByName("Value"), depth+1)
				v.Set(p)
				return
			}
		}
		panic(fmt.Sprintf("no member of %s is listed", t))
	default:
		panic(fmt.Sprintf("no values of %s", t))
	}
}

// text is made of what wants escaping in one place or another.
func (g generator) text() string {
	const alphabet = "abcXYZ019 .-_~&=+%;/<>\"'\\{}[]\n\r\té語\U0001F40B\u2028\u00a0"
	runes := []rune(alphabet)
	b := make([]rune, g.IntN(12))
	for i := range b {
		b[i] = runes[g.IntN(len(runes))]
	}
	return string(b)
}

// plain is a value without its Go types, with the absent left out.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		if v.Kind() == reflect.Interface {
			return map[string]any{v.Elem().Type().String(): plain(v.Elem())}
		}
		return plain(v.Elem())
	case reflect.Struct:
		if at, ok := v.Interface().(time.Time); ok {
			return at.UTC().Format(time.RFC3339Nano)
		}
		members := map[string]any{}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() || field.Name == "ResultMetadata" {
				continue
			}
			if value := plain(v.Field(i)); value != nil {
				members[field.Name] = value
			}
		}
		return members
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	case reflect.Map:
		if v.IsNil() {
			return nil
		}
		m := map[string]any{}
		for _, k := range v.MapKeys() {
			m[k.String()] = plain(v.MapIndex(k))
		}
		return m
	default:
		return v.Interface()
	}
}
