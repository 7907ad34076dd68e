package local_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

const thingType = "Formwork::Test::Thing"

// A ledger is the world outside of the servers: things, each of them a file, and a journal of
// every side effect on them. See testdata/ledger.
type ledger struct {
	dir string

	mu     sync.Mutex
	offset int64
	lines  []ledgerLine
}

// A ledgerLine is a line of the journal.
type ledgerLine struct {
	At                 int64 // nanoseconds
	Node               string
	Token, Action      string
	Stack, Logical, ID string
	Effect             string // begin, made, changed, deleted, end
	Status             string // of an end
	Note               string // of what was made or changed
}

// over reports whether the operation of a line has ended as far as its handler knows.
func (l ledgerLine) over() bool { return l.Effect == "end" && l.Status != "IN_PROGRESS" }

// buildLedger compiles the handler once.
var buildLedger = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "ledger")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./testdata/ledger")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	data, err := os.ReadFile(program)
	return string(data), errors.Join(err, os.RemoveAll(dir))
})

// newLedger makes a world without things. It returns the package of the type, too.
func newLedger(t testing.TB) (*ledger, []byte) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: a handler that a script of sh starts")
	}
	binary, err := buildLedger()
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{dir: filepath.Join(t.TempDir(), "ledger")}
	if err := os.MkdirAll(filepath.Join(l.dir, "things"), 0o700); err != nil {
		t.Fatal(err)
	}
	executable := filepath.Join(l.dir, "handler")
	if err := os.WriteFile(executable, []byte(binary), 0o700); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nLEDGER='%s' exec '%s'\n", l.dir, executable)
	return l, zipped(t,
		entry{name: ".rpdk-config", data: []byte(`{"artifact_type": "RESOURCE", "typeName": "` + thingType + `", "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0"}}`)},
		entry{name: "schema.json", data: []byte(`{"typeName": "` + thingType + `", "description": "A thing", "additionalProperties": false,
			"properties": {"Id": {"type": "string"}, "Name": {"type": "string"}, "Note": {"type": "string"}, "Trouble": {"type": "string"}},
			"primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"], "createOnlyProperties": ["/properties/Name"],
			"writeOnlyProperties": ["/properties/Trouble"], "tagging": {"taggable": false},
			"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}}}`)},
		entry{name: "ResourceProvider.zip", data: zipped(t, entry{name: "bootstrap", data: []byte(script)})},
	)
}

// A ledgerThing is a thing that exists.
type ledgerThing struct{ ID, Stack, Logical, Name, Note string }

// things are those of a stack and of the stacks nested in it.
func (l *ledger) things(t testing.TB, stackName string) []ledgerThing {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(l.dir, "things"))
	if err != nil {
		t.Error(err)
	}
	var found []ledgerThing
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(l.dir, "things", file.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var thing ledgerThing
		if err := errors.Join(err, json.Unmarshal(data, &thing)); err != nil {
			t.Errorf("%s: %v: %s", file.Name(), err, data)
		}
		if belongs(thing.Stack, stackName) {
			found = append(found, thing)
		}
	}
	return found
}

// belongs reports whether an ARN is that of a stack, or of one that is nested in it.
func belongs(arn, stackName string) bool {
	_, rest, _ := strings.Cut(arn, ":stack/")
	name, _, _ := strings.Cut(rest, "/")
	return name == stackName || strings.HasPrefix(name, stackName+"-")
}

// journal are the lines so far.
func (l *ledger) journal(t testing.TB) []ledgerLine {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.Open(filepath.Join(l.dir, "journal"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, l.offset, 1<<30))
	if err != nil {
		t.Error(err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	l.offset += int64(len(data))
	for text := range bytes.Lines(data) {
		var line ledgerLine
		if err := json.Unmarshal(text, &line); err != nil {
			t.Errorf("%v: %s", err, text)
		}
		l.lines = append(l.lines, line)
	}
	return l.lines[:len(l.lines):len(l.lines)]
}

// checkTwice looks for a token with which two things were made.
func (l *ledger) checkTwice(t testing.TB) {
	t.Helper()
	made := map[string]int{}
	for _, line := range l.journal(t) {
		if line.Effect == "made" {
			if made[line.Token]++; made[line.Token] == 2 {
				t.Errorf("%s of %s was made twice with the token %s", line.ID, line.Stack, line.Token)
			}
		}
	}
}

const templatesBucket = "templates"

// registerThings registers the type, and puts the template of the nested stacks into a bucket.
func registerThings(t testing.TB, c clients, data []byte, child string) {
	t.Helper()
	if _, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(templatesBucket), CreateBucketConfiguration: here}); err != nil {
		t.Fatal(err)
	}
	for key, body := range map[string][]byte{"thing.zip": data, "child.yaml": []byte(child)} {
		if _, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(templatesBucket), Key: &key, Body: bytes.NewReader(body)}); err != nil {
			t.Fatal(err)
		}
	}
	out, err := c.RegisterType(t.Context(), &cloudformation.RegisterTypeInput{
		Type: cfntypes.RegistryTypeResource, TypeName: aws.String(thingType), SchemaHandlerPackage: aws.String("s3://" + templatesBucket + "/thing.zip"),
	})
	if err != nil {
		t.Fatal(err)
	}
	registered(t, c, *out.RegistrationToken, time.Minute)
}
