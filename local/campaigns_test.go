package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/formwork-dev/formwork/internal/fixtures"
	"github.com/formwork-dev/formwork/local"
)

const (
	otherAccount = "210987654321"
	otherID      = "AKIDEXAMPLE2"
	otherSecret  = "another-secret-of-this-test"
)

// twoKeys are a key for each of two accounts.
var twoKeys = fmt.Appendf(nil, "%s %s %s\n%s %s %s\n", keyID, secret, account, otherID, otherSecret, otherAccount)

// signer is what clients of a key need. They do not try again.
func signer(url, id, secret string) aws.Config {
	return aws.Config{Region: region, BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider(id, secret, ""), RetryMaxAttempts: 1}
}

// flapping passes connections on to a database, and breaks all of them at once again and again.
type flapping struct {
	network string // of the database
	address string
	down    atomic.Bool
	mu      sync.Mutex
	open    map[net.Conn]bool
}

// flap starts the proxy for a database and returns the URL of the database behind it.
func flap(t *testing.T, dsn string) (*flapping, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	f := &flapping{network: "tcp", address: u.Host, open: map[net.Conn]bool{}}
	query := u.Query()
	if folder := query.Get("host"); folder != "" { // of the socket
		port := query.Get("port")
		if port == "" {
			port = "5432"
		}
		f.network, f.address = "unix", filepath.Join(folder, ".s.PGSQL."+port)
	}
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	u.RawQuery = query.Encode()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { f.pass(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		f.cut()
		running.Wait()
	})
	u.Host = listener.Addr().String()
	return f, u.String()
}

func (f *flapping) pass(conn net.Conn) {
	defer conn.Close()
	if f.down.Load() {
		return
	}
	database, err := net.Dial(f.network, f.address)
	if err != nil {
		return
	}
	defer database.Close()
	f.mu.Lock()
	f.open[conn], f.open[database] = true, true
	f.mu.Unlock()
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{conn: database, database: conn} {
		both.Go(func() {
			_, _ = io.Copy(to, from) // broken on purpose
			conn.Close()
			database.Close()
		})
	}
	both.Wait()
	f.mu.Lock()
	delete(f.open, conn)
	delete(f.open, database)
	f.mu.Unlock()
}

// cut breaks every connection.
func (f *flapping) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for conn := range f.open {
		conn.Close()
	}
}

// TestFlappingDatabase: while the connections to the database break again and again, no account
// sees what another one stored, every refusal is one that SDKs try again after, and whatever was
// acknowledged is there afterwards.
func TestFlappingDatabase(t *testing.T) {
	proxy, dsn := flap(t, fixtures.NeedPostgres(t))
	url := serving(t, local.ServerConfig{Config: local.Config{Dir: t.TempDir(), Database: dsn, Keys: twoKeys}}).URL()
	life := 4 * time.Second
	if os.Getenv("FORMWORK_TORTURE") != "" {
		life = 10 * time.Second
	}
	ctx, end := context.WithTimeout(t.Context(), life)
	defer end()
	var busy sync.WaitGroup
	var answers, refusals atomic.Int64
	type stored struct {
		client *ssm.Client
		name   string
		last   int // of the last acknowledged value
	}
	var all []*stored
	for _, key := range [][2]string{{keyID, secret}, {otherID, otherSecret}} {
		client := ssm.NewFromConfig(signer(url, key[0], key[1]))
		for i := range 3 {
			s := &stored{client, fmt.Sprintf("/flap/%d", i), -1} // both accounts have the same names
			all = append(all, s)
			busy.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					_, err := client.PutParameter(ctx, &ssm.PutParameterInput{Name: &s.name, Value: aws.String(fmt.Sprintf("%s %d", key[0], n)), Type: ssmtypes.ParameterTypeString, Overwrite: aws.Bool(true)})
					if err == nil {
						s.last = n
						answers.Add(1)
					}
					got, readErr := client.GetParameter(ctx, &ssm.GetParameterInput{Name: &s.name})
					if readErr == nil && !strings.HasPrefix(*got.Parameter.Value, key[0]+" ") {
						t.Errorf("%s reads %q", key[0], *got.Parameter.Value)
						return
					}
					for _, err := range []error{err, readErr} {
						if err == nil || ctx.Err() != nil || s.last < 0 && codeOf(err) == "ParameterNotFound" {
							continue
						}
						refusals.Add(1)
						if !strings.Contains(err.Error(), "StatusCode: 50") {
							t.Errorf("refused with %v, want a status of 5xx", err)
							return
						}
					}
				}
			})
		}
	}
	busy.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(150 * time.Millisecond)
			proxy.down.Store(true)
			proxy.cut()
			time.Sleep(70 * time.Millisecond)
			proxy.down.Store(false)
		}
	})
	busy.Wait()
	proxy.down.Store(false)
	t.Logf("%d answers, %d refusals", answers.Load(), refusals.Load())
	if answers.Load() == 0 || refusals.Load() == 0 {
		t.Error("the database did not flap while there were answers")
	}
	for _, s := range all {
		eventually(t, 20*time.Second, "the server answers again", func() bool {
			out, err := s.client.GetParameter(t.Context(), &ssm.GetParameterInput{Name: &s.name})
			if err != nil {
				return false
			}
			id, n := "", 0
			if _, err := fmt.Sscanf(*out.Parameter.Value, "%s %d", &id, &n); err != nil || n < s.last {
				t.Errorf("%s is %q, but %d was acknowledged", s.name, *out.Parameter.Value, s.last)
			}
			return true
		})
	}
}

// canary is what another account must never see.
const canary = "canary-of-the-first-account"

// TestIsolation calls every operation of every service from one account with the names and the
// ARNs of what another account has. No answer holds anything of it, and nothing of it changes.
func TestIsolation(t *testing.T) {
	url := serving(t, local.ServerConfig{Config: local.Config{Dir: t.TempDir(), Keys: twoKeys}}).URL()
	mine, theirs := signer(url, keyID, secret), signer(url, otherID, otherSecret)
	names := possessions(t, url, mine)
	before := belongings(t, mine, names)
	served := 0
	pathStyle := func(o *s3.Options) { o.UsePathStyle = true }
	for service, client := range map[string]any{
		"cloudformation": cloudformation.NewFromConfig(theirs), "ssm": ssm.NewFromConfig(theirs), "secretsmanager": secretsmanager.NewFromConfig(theirs),
		"logs": cloudwatchlogs.NewFromConfig(theirs), "s3": s3.NewFromConfig(theirs, pathStyle), "lambda": lambda.NewFromConfig(theirs), "sts": sts.NewFromConfig(theirs),
	} {
		methods := reflect.TypeOf(client)
		for i := range methods.NumMethod() {
			method := methods.Method(i)
			if method.Type.NumIn() != 4 || method.Type.NumOut() != 2 || !strings.HasSuffix(method.Type.In(2).String(), "."+method.Name+"Input") {
				continue
			}
			for _, byARN := range []bool{false, true} {
				input := reflect.New(method.Type.In(2).Elem())
				fill(input.Elem(), names, byARN)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				out := method.Func.Call([]reflect.Value{reflect.ValueOf(client), reflect.ValueOf(ctx), input})
				answer := fmt.Sprint(out[1])
				if out[1].IsNil() {
					served++
					answer = textOf(out[0].Interface())
				}
				cancel()
				if strings.Contains(answer, canary) {
					t.Errorf("%s %s (by ARN: %t) answers another account with %.500s", service, method.Name, byARN, answer)
				}
			}
		}
	}
	t.Logf("%d calls succeeded", served)
	if served < 20 {
		t.Errorf("only %d calls succeeded: the inputs are wrong", served)
	}
	if after := belongings(t, mine, names); after != before {
		t.Errorf("another account has changed\n%s\ninto\n%s", before, after)
	}
}

// possessions makes one of everything for the account, and returns names by the member of inputs
// that takes them, or with "ARN " before it their ARNs.
func possessions(t *testing.T, url string, config aws.Config) map[string]string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	arn := func(service, name string) string {
		return "arn:aws:" + service + ":" + region + ":" + account + ":" + name
	}
	names := map[string]string{
		"Bucket": "owned", "Key": "owned-key", "Name": "owned", "ARN Name": arn("ssm", "parameter/owned"), "SecretId": "owned-secret",
		"LogGroupName": "/owned/group", "LogStreamName": "stream", "ARN LogGroupName": arn("logs", "log-group:/owned/group"),
		"FunctionName": "Acme-Spy-Thing", "ARN FunctionName": arn("lambda", "function:Acme-Spy-Thing"),
		"TypeName": spyType, "Type": "RESOURCE", "ARN Arn": arn("cloudformation", "type/resource/Acme-Spy-Thing"), "ARN TypeArn": arn("cloudformation", "type/resource/Acme-Spy-Thing"),
		"StackName": "owned", "VersionId": "00000001", "CopySource": "owned/owned-key", "Path": "/", "ResourceId": "owned",
		"RoleArn": "arn:aws:iam::" + account + ":role/Runner", "RoleSessionName": "session", "AccessKeyId": keyID, "UploadId": "upload", "Value": "mine now", "SecretString": "mine now",
	}
	parameters, vault, logs := ssm.NewFromConfig(config), secretsmanager.NewFromConfig(config), cloudwatchlogs.NewFromConfig(config)
	_, err := parameters.PutParameter(t.Context(), &ssm.PutParameterInput{Name: aws.String("owned"), Value: aws.String(canary), Description: aws.String(canary), Type: ssmtypes.ParameterTypeSecureString})
	must(err)
	made, err := vault.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: aws.String("owned-secret"), SecretString: aws.String(canary), Description: aws.String(canary)})
	must(err)
	names["ARN SecretId"] = *made.ARN
	_, err = logs.CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: aws.String("/owned/group")})
	must(err)
	_, err = logs.CreateLogStream(t.Context(), &cloudwatchlogs.CreateLogStreamInput{LogGroupName: aws.String("/owned/group"), LogStreamName: aws.String("stream")})
	must(err)
	_, err = logs.PutLogEvents(t.Context(), &cloudwatchlogs.PutLogEventsInput{LogGroupName: aws.String("/owned/group"), LogStreamName: aws.String("stream"),
		LogEvents: []logstypes.InputLogEvent{{Message: aws.String(canary), Timestamp: aws.Int64(time.Now().UnixMilli())}}})
	must(err)
	c := keyedClients(t, url, keyID, secret)
	_, err = c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("owned"), CreateBucketConfiguration: here})
	must(err)
	_, err = c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("owned"), Key: aws.String("owned-key"), Body: strings.NewReader(canary), Metadata: map[string]string{"note": canary}})
	must(err)
	token := registerSpy(t, c, spyPackage(t, t.TempDir()+"/notes", `"Do": {"type": "string", "description": "`+canary+`"}`, 0))
	registered(t, c, token, time.Minute)
	names["RegistrationToken"], names["ARN RegistrationToken"] = token, token
	stack, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("owned"), TemplateBody: aws.String(`{"Description": "` + canary + `", "Resources": {"W": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`)})
	must(err)
	names["ARN StackName"] = *stack.StackId
	eventually(t, time.Minute, "the stack is there", func() bool {
		out, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: stack.StackId})
		must(err)
		return out.Stacks[0].StackStatus == "CREATE_COMPLETE"
	})
	return names
}

// belongings is what the account has, as it reads it.
func belongings(t *testing.T, config aws.Config, names map[string]string) string {
	t.Helper()
	var b strings.Builder
	add := func(out any, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(&b, "%s\n", textOf(out))
	}
	ctx := t.Context()
	parameter, err := ssm.NewFromConfig(config).GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("owned"), WithDecryption: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	add(parameter.Parameter, nil)
	value, err := secretsmanager.NewFromConfig(config).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: aws.String("owned-secret")})
	if err != nil {
		t.Fatal(err)
	}
	add([]*string{value.SecretString, value.VersionId}, nil)
	events, err := cloudwatchlogs.NewFromConfig(config).GetLogEvents(ctx, &cloudwatchlogs.GetLogEventsInput{LogGroupName: aws.String("/owned/group"), LogStreamName: aws.String("stream")})
	if err != nil {
		t.Fatal(err)
	}
	add(events.Events, nil)
	object, err := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true }).GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("owned"), Key: aws.String("owned-key")})
	if err != nil {
		t.Fatal(err)
	}
	add(object.Body, nil)
	cfn := cloudformation.NewFromConfig(config)
	kind, err := cfn.DescribeType(ctx, &cloudformation.DescribeTypeInput{Arn: aws.String(names["ARN Arn"])})
	if err != nil {
		t.Fatal(err)
	}
	add([]any{kind.Schema, kind.DefaultVersionId, kind.DeprecatedStatus, kind.ConfigurationSchema}, nil)
	stack, err := cfn.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(names["ARN StackName"])})
	if err != nil {
		t.Fatal(err)
	}
	add(stack.Stacks, nil)
	return b.String()
}

// textOf is everything that an output says, the bodies of objects included.
func textOf(out any) string {
	text, err := json.Marshal(out)
	if err != nil { // a stream among its members
		text = fmt.Appendf(nil, "%+v", out)
	}
	if body, is := out.(io.Reader); is {
		content, _ := io.ReadAll(io.LimitReader(body, 1<<20))
		return string(content)
	}
	if v := reflect.Indirect(reflect.ValueOf(out)); v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			field := v.Field(i)
			if !field.CanInterface() {
				continue
			}
			switch member := field.Interface().(type) {
			case io.ReadCloser:
				content, _ := io.ReadAll(io.LimitReader(member, 1<<20))
				member.Close()
				text = append(text, content...)
			case []byte:
				text = append(text, member...)
			}
		}
	}
	return string(text)
}

// fill gives the members of an input the names of what there is.
func fill(input reflect.Value, names map[string]string, byARN bool) {
	for i := range input.NumField() {
		member, field := input.Type().Field(i), input.Field(i)
		if !member.IsExported() {
			continue
		}
		one := strings.TrimSuffix(member.Name, "s")
		name, known := names[member.Name]
		if !known {
			name, known = names[one]
		}
		if arn, has := names["ARN "+member.Name]; has && (byARN || !known) {
			name, known = arn, true
		}
		switch {
		case field.Type() == reflect.TypeFor[io.Reader]():
			field.Set(reflect.ValueOf(io.Reader(strings.NewReader("mine now"))))
		case !known && member.Name == "WithDecryption", member.Name == "Recursive":
			if field.Type() == reflect.TypeFor[*bool]() {
				field.Set(reflect.ValueOf(aws.Bool(true)))
			}
		case !known:
		case field.Kind() == reflect.String:
			field.SetString(name)
		case field.Type() == reflect.TypeFor[*string]():
			field.Set(reflect.ValueOf(&name))
		case field.Type() == reflect.TypeFor[[]string]():
			field.Set(reflect.ValueOf([]string{name}))
		}
	}
}
