package cfnlog

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/files"
)

func newLogger(t *testing.T, path string, config Config) (*slog.Logger, *Log) {
	t.Helper()
	log := New(config)
	log.Open(path)
	t.Cleanup(func() { log.Close() })
	return slog.New(log), log
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLineFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	log := New(Config{})
	log.Open(path)
	defer log.Close()
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("", 3600))
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		r := slog.NewRecord(at, level, "Finished validate", 0)
		r.AddAttrs(slog.Int("code", 0), slog.Any("cause", errors.New("none")))
		if err := log.WithGroup("g").WithAttrs([]slog.Attr{slog.Bool("b", true)}).Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	want := `[2026-01-02T02:04:05Z] DEBUG    - Finished validate g.b=true g.code=0 g.cause=none
[2026-01-02T02:04:05Z] INFO     - Finished validate g.b=true g.code=0 g.cause=none
[2026-01-02T02:04:05Z] WARNING  - Finished validate g.b=true g.code=0 g.cause=none
[2026-01-02T02:04:05Z] ERROR    - Finished validate g.b=true g.code=0 g.cause=none
`
	if got := read(t, path); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if log.Path() != path {
		t.Errorf("Path() = %q", log.Path())
	}
}

func TestConsoleGetsBareMessagesFromItsLevelUp(t *testing.T) {
	var console strings.Builder
	logger, _ := newLogger(t, filepath.Join(t.TempDir(), Name), Config{Console: &console, ConsoleLevel: slog.LevelInfo})
	logger.Debug("quiet")
	logger.Info("loud")
	if console.String() != "loud\n" {
		t.Errorf("console has %q", console.String())
	}
}

func TestNothingIsCreatedBeforeTheFirstRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	log := New(Config{})
	log.Open(path)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file exists: %v", err)
	}
}

func TestRecordsWaitForTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	log := New(Config{})
	defer log.Close()
	slog.New(log).Info("early", "password", "hunter22")
	log.Open(path)
	log.Open(path + ".other")
	slog.New(log).Info("late")
	got := read(t, path)
	if early, late := strings.Index(got, "early password=<hidden: by its name>"), strings.Index(got, "late"); early < 0 || late < early {
		t.Errorf("the log is\n%s", got)
	}
}

func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	logger, log := newLogger(t, path, Config{MaxBytes: 200})
	for range 20 {
		logger.Info(strings.Repeat("x", 40))
	}
	if log.Err() != nil {
		t.Fatal(log.Err())
	}
	for _, name := range []string{path, path + ".1"} {
		if size := len(read(t, name)); size == 0 || size > 200 {
			t.Errorf("%s has %d bytes, want 1 to 200", filepath.Base(name), size)
		}
	}
	if _, err := os.Stat(path + ".2"); !os.IsNotExist(err) {
		t.Error("there is a second backup")
	}
}

// A line longer than the limit must not rotate for ever nor get lost.
func TestRotationKeepsALongLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	logger, _ := newLogger(t, path, Config{MaxBytes: 50})
	logger.Info(strings.Repeat("y", 100))
	if !strings.Contains(read(t, path), strings.Repeat("y", 100)) {
		t.Error("the line is lost")
	}
}

func TestUnwritableFolderBreaksNothing(t *testing.T) {
	dir := t.TempDir()
	blocker := filepath.Join(dir, "file")
	if err := os.WriteFile(blocker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var console strings.Builder
	logger, log := newLogger(t, filepath.Join(blocker, Name), Config{Console: &console, ConsoleLevel: slog.LevelInfo})
	logger.Info("still here")
	if console.String() != "still here\n" || log.Err() == nil || log.Path() != "" {
		t.Errorf("console %q, Err %v, Path %q", console.String(), log.Err(), log.Path())
	}
}

func TestSecretsStayOut(t *testing.T) {
	const secret = `p"w\d-value`
	payload := `{"requestData":{"callerCredentials":{"accessKeyId":"AKIAIOSFODNN7EXAMPLE","secretAccessKey":"wJalrXUtn","sessionToken":"FwoGZXIvYXdz"},"nextToken":"page-2"}}`
	hook := `{"requestData":{"callerCredentials":"{\"accessKeyId\":\"ASIAIOSFODNN7EXAMPLE\",\"secretAccessKey\":\"wJalrXUtn\"}","targetName":"T"}}`
	tests := []struct {
		name  string
		write func(*slog.Logger)
		keeps string
	}{
		{"by value", func(l *slog.Logger) { l.Debug("model " + secret) }, "model <hidden: planted>"},
		{"by value in JSON", func(l *slog.Logger) { l.Debug("m", "model", map[string]any{"Pass": secret}) }, `{"Pass":"<hidden: planted>"}`},
		{"longest value first", func(l *slog.Logger) { l.Debug("abcd abcdef") }, "<hidden: planted> <hidden: planted>"},
		{"by key", func(l *slog.Logger) { l.Debug("m", "AWS_SECRET_ACCESS_KEY", "wJalrXUtn") }, "AWS_SECRET_ACCESS_KEY=<hidden: by its name>"},
		{"by key of a group", func(l *slog.Logger) { l.WithGroup("credentials").Debug("m", "id", "wJalrXUtn") }, "credentials.id=<hidden: by its name>"},
		{"with attrs", func(l *slog.Logger) { l.With("sessionToken", "FwoGZXIvYXdz").Debug("m") }, "sessionToken=<hidden: by its name>"},
		{"member of a payload", func(l *slog.Logger) { l.Debug(payload) }, `"nextToken":"page-2"`},
		{"payload as bytes", func(l *slog.Logger) { l.Debug("m", "payload", []byte(payload)) }, `"nextToken":"page-2"`},
		{"JSON in JSON", func(l *slog.Logger) { l.Debug(hook) }, `"targetName":"T"`},
		{"JSON in an attribute", func(l *slog.Logger) { l.Debug("m", "payload", map[string]any{"inner": hook}) }, "targetName"},
		{"access key alone", func(l *slog.Logger) { l.Debug("using AKIAIOSFODNN7EXAMPLE now") }, "using <hidden: credentials> now"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), Name)
			logger, log := newLogger(t, path, Config{})
			log.Hide("planted", secret, "abcd", "abcdef", "x")
			test.write(logger)
			got := read(t, path)
			for _, bad := range []string{secret, `p\"w`, "abcd", "wJalrXUtn", "FwoGZXIvYXdz", "IOSFODNN7EXAMPLE"} {
				if strings.Contains(got, bad) {
					t.Errorf("the log holds %s:\n%s", bad, got)
				}
			}
			if !strings.Contains(got, test.keeps) {
				t.Errorf("the log lacks %s:\n%s", test.keeps, got)
			}
		})
	}
}

// What others add to the secrets, while the log is open, is hidden in all spellings.
func TestSecretsAreShared(t *testing.T) {
	const value = "PLANT\"ED<1>\nsecond line"
	path := filepath.Join(t.TempDir(), Name)
	var console strings.Builder
	logger, log := newLogger(t, path, Config{Console: &console})
	bound := logger.With("bound", value)
	log.Secrets().Add(value)
	model := map[string]any{value: []any{value}}
	inner, err := json.Marshal(model)
	if err != nil {
		t.Fatal(err)
	}
	bound.Info("raw "+value, "quoted", fmt.Sprintf("%q", value), "error", errors.New("-p"+value+"x"), "model", model,
		"json", string(inner), "outer", map[string]any{"message": string(inner)}, value, 1,
		"url", url.QueryEscape(value), "header", base64.StdEncoding.EncodeToString([]byte("user:"+value)))
	for where, text := range map[string]string{"the file": read(t, path), "the console": console.String()} {
		for _, bad := range []string{"PLANT", "ED", "second", "UExBTl"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %s:\n%s", where, bad, text)
			}
		}
		if strings.Count(text, "<hidden") < 9 {
			t.Errorf("%s lacks records:\n%s", where, text)
		}
	}
}

// A project may come from a stranger: its log is not written to wherever a link leads.
func TestLinksAreNotFollowed(t *testing.T) {
	for _, target := range []string{"there", "new"} {
		dir, outside := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(outside, "there"), []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, Name)
		if err := os.Symlink(filepath.Join(outside, target), path); err != nil {
			t.Skip("skipped: no links here: ", err)
		}
		logger, log := newLogger(t, path, Config{})
		logger.Info("secret plans")
		if !errors.Is(log.Err(), files.ErrIrregular) {
			t.Errorf("the error is %v", log.Err())
		}
		if got, _ := os.ReadFile(filepath.Join(outside, target)); strings.Contains(string(got), "plans") {
			t.Errorf("%s was written: %s", target, got)
		}
	}
}
