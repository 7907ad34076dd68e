package local_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// TestKill kills a server at random moments while clients register, test, configure and
// deregister types, and store objects, parameters, secrets and resources of Cloud Control, and looks after each restart whether everything is there that had been
// answered. FORMWORK_KILLS says how often (5), FORMWORK_UNTIL until when, FORMWORK_SEED how the
// chances fall.
func TestKill(t *testing.T) {
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("skipped: what is left of a killed server is looked for in /proc")
	}
	t.Parallel()
	kills, asked := number(t, "FORMWORK_KILLS", 5)
	seed, _ := number(t, "FORMWORK_SEED", int(rand.Uint32()))
	eachPlace(t, func(t *testing.T, o serverOptions) {
		if o.Database != "" && !asked {
			t.Skip("skipped: each restart on PostgreSQL waits for the lease of the dead; FORMWORK_KILLS=n does it")
		}
		t.Parallel()
		t.Logf("FORMWORK_SEED=%d", seed)
		kills := kills
		if o.Database != "" {
			kills = max(1, kills/5)
		}
		k := &killing{t: t, options: o, rand: rand.New(rand.NewPCG(uint64(seed), 1)), objects: map[string][32]byte{}, parameters: map[string]*parameter{}, secrets: map[string]*secretValue{}, resources: map[string]string{}}
		for round := range rounds(t, kills) {
			k.round(round)
			if t.Failed() {
				t.Fatalf("round %d of seed %d; the server says: %s", round, seed, k.server.stderr.String())
			}
		}
		k.end()
	})
}

// rounds yields 0 to n-1, as far as the time goes: FORMWORK_UNTIL is when the last round may begin,
// in seconds since 1970. There is always one.
func rounds(t *testing.T, n int) iter.Seq[int] {
	until, limited := number(t, "FORMWORK_UNTIL", 0)
	return func(yield func(int) bool) {
		for round := range n {
			if limited && round > 0 && time.Now().Unix() > int64(until) {
				t.Logf("round %d of %s does not begin any more: the time is up", round, t.Name())
				return
			}
			if testing.Verbose() {
				t.Logf("round %d of %d of %s", round, n, t.Name())
			}
			if !yield(round) {
				return
			}
		}
	}
}

// number reads a variable.
func number(t *testing.T, name string, otherwise int) (n int, given bool) {
	text := os.Getenv(name)
	if text == "" {
		return otherwise, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n, true
}

// killing is the test, and what it was told by the servers that it killed.
type killing struct {
	t       *testing.T
	options serverOptions
	rand    *rand.Rand
	server  *process
	clients clients

	subjects   []*subject
	recent     []*subject // those that clients work on
	mu         sync.Mutex
	objects    map[string][32]byte // by key
	parameters map[string]*parameter
	secrets    map[string]*secretValue
	resources  map[string]string // names, by the tokens of their requests
	answers    int               // of calls that changed something
}

// A parameter has the value that was answered last, or the one that was not answered.
type parameter struct {
	value, maybe string
	version      int64
}

const shelf = "packages" // the bucket

// round takes up a server, checks what the last one had answered, and kills it.
func (k *killing) round(n int) {
	k.start()
	if n == 0 {
		if _, err := k.clients.s3.CreateBucket(k.t.Context(), &s3.CreateBucketInput{Bucket: aws.String(shelf), CreateBucketConfiguration: here}); err != nil {
			k.t.Fatal(err)
		}
	}
	started := time.Now()
	k.check()
	if testing.Verbose() {
		k.t.Logf("round %d was ready after %s, checked in %s", n, k.server.took.Round(time.Millisecond), time.Since(started).Round(time.Millisecond))
	}
	if n%4 == 0 {
		k.newSubjects(n)
	}
	life, end := context.WithCancel(k.t.Context())
	defer end()
	var busy sync.WaitGroup
	for _, s := range k.recent {
		chances := rand.New(rand.NewPCG(k.rand.Uint64(), 2))
		busy.Go(func() { s.use(life, k, chances) })
	}
	for i := range 2 {
		chances := rand.New(rand.NewPCG(k.rand.Uint64(), 3))
		busy.Go(func() { k.putObjects(life, fmt.Sprintf("objects/%d/%d", n, i), chances) })
		busy.Go(func() { k.putParameters(life, fmt.Sprintf("/kill/%d", i)) })
	}
	busy.Go(func() { k.putSecrets(life, n) })
	busy.Go(func() { k.putResources(life, n) })
	letRun(time.Duration(100+k.rand.IntN(1200)) * time.Millisecond)
	k.server.kill()
	end()
	busy.Wait()
	k.noOrphans()
}

func (k *killing) start() {
	k.t.Helper()
	k.server = mustStart(k.t, k.options)
	k.clients = newClients(k.t, k.server.url)
}

// noOrphans waits for the end of the handlers of a server that was killed.
func (k *killing) noOrphans() {
	k.t.Helper()
	var left map[int]string
	if !fixtures.Happens(fixtures.Patience, func() bool {
		left = processesOf(k.options.Dir)
		return len(left) == 0
	}) {
		k.t.Errorf("the handlers of the server that was killed still run: %v", left)
	}
}

// lost notes a call that was not answered as it should. Only the end of the server excuses.
func (k *killing) lost(ctx context.Context, what string, err error) {
	if codeOf(err) != "" || ctx.Err() == nil && k.alive() {
		k.t.Errorf("%s: %v", what, err)
	}
}

func (k *killing) alive() bool {
	select {
	case <-k.server.ended:
		return false
	case <-time.After(time.Second): // the connection may break before the process is gone
		return true
	}
}

func (k *killing) answered() {
	k.mu.Lock()
	k.answers++
	k.mu.Unlock()
}

func (k *killing) putObjects(ctx context.Context, prefix string, chances *rand.Rand) {
	for i := 0; ctx.Err() == nil; i++ {
		key := fmt.Sprintf("%s/%d", prefix, i)
		body := make([]byte, 1+chances.IntN(300_000))
		for j := range body {
			body[j] = byte(chances.Uint32())
		}
		if _, err := k.clients.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(shelf), Key: &key, Body: bytes.NewReader(body)}); err != nil {
			k.lost(ctx, "PutObject", err)
			return
		}
		k.answered()
		k.mu.Lock()
		k.objects[key] = sha256.Sum256(body)
		k.mu.Unlock()
	}
}

func (k *killing) putParameters(ctx context.Context, name string) {
	k.mu.Lock()
	p := k.parameters[name]
	if p == nil {
		p = &parameter{}
		k.parameters[name] = p
	}
	k.mu.Unlock()
	for i := 0; ctx.Err() == nil; i++ {
		value := fmt.Sprintf("%d of %p", i, ctx)
		p.maybe = value
		out, err := k.clients.ssm.PutParameter(ctx, &ssm.PutParameterInput{Name: &name, Value: &value, Type: ssmtypes.ParameterTypeSecureString, Overwrite: aws.Bool(true)})
		if err != nil {
			k.lost(ctx, "PutParameter", err)
			return
		}
		k.answered()
		if out.Version != p.version+1 {
			k.t.Errorf("version %d of parameter %s follows %d", out.Version, name, p.version)
		}
		p.value, p.maybe, p.version = value, "", out.Version
	}
}

// check looks whether everything is there that was answered.
func (k *killing) check() {
	var checks sync.WaitGroup
	for _, s := range k.recent {
		checks.Go(func() { s.check(k) })
	}
	checks.Wait()
	k.checkObjects()
	k.checkServices()
	for name, p := range k.parameters {
		out, err := k.clients.ssm.GetParameter(k.t.Context(), &ssm.GetParameterInput{Name: &name, WithDecryption: aws.Bool(true)})
		if codeOf(err) == "ParameterNotFound" && p.version == 0 {
			continue
		}
		if err != nil {
			k.t.Errorf("parameter %s: %v", name, err)
			continue
		}
		got, at := aws.ToString(out.Parameter.Value), out.Parameter.Version
		if !(got == p.value && at == p.version) && !(p.maybe != "" && got == p.maybe && at == p.version+1) {
			k.t.Errorf("parameter %s is %q in version %d, want %q in version %d (or %q)", name, got, at, p.value, p.version, p.maybe)
		}
		p.value, p.maybe, p.version = got, "", at
	}
}

func (k *killing) checkObjects() {
	for key, want := range k.objects {
		out, err := k.clients.s3.GetObject(k.t.Context(), &s3.GetObjectInput{Bucket: aws.String(shelf), Key: &key})
		if err != nil {
			k.t.Errorf("object %s: %v", key, err)
			continue
		}
		body, err := io.ReadAll(out.Body)
		out.Body.Close()
		if got := sha256.Sum256(body); err != nil || got != want {
			k.t.Errorf("object %s: %d bytes of other content, %v", key, len(body), err)
		}
	}
	clear(k.objects) // those of the next round are other ones
}

// end checks everything once more, with nothing under way, and then the files and rows.
func (k *killing) end() {
	// What half-done unpacking has left may be of another server that shares the folder,
	// until it is old.
	for _, path := range litterOf(k.options.Dir) {
		old := time.Now().Add(-2 * time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			k.t.Fatal(err)
		}
	}
	k.start()
	k.check()
	var checks sync.WaitGroup
	for _, s := range k.subjects {
		checks.Go(func() { s.check(k); s.awaitTests(k) })
	}
	checks.Wait()
	k.server.terminate(k.t)
	k.noOrphans()

	db, err := store.Open(k.t.Context(), store.Config{Dir: k.options.Dir, DSN: k.options.Database})
	if err != nil {
		k.t.Fatal(err)
	}
	defer db.Close()
	for what, query := range map[string]string{
		"a version without a schema":                 `SELECT count(*) FROM type_versions WHERE schema = '' OR package_hash = ''`,
		"a version without its type":                 `SELECT count(*) FROM type_versions v WHERE NOT EXISTS (SELECT 1 FROM types t WHERE t.id = v.type_id)`,
		"a default version that is not there":        `SELECT count(*) FROM types t WHERE default_version IS NOT NULL AND NOT EXISTS (SELECT 1 FROM type_versions v WHERE v.type_id = t.id AND v.version = t.default_version)`,
		"a version that no registration made":        `SELECT count(*) FROM type_versions v WHERE NOT EXISTS (SELECT 1 FROM registrations r WHERE r.type_id = v.type_id AND r.version = v.version AND r.status = 'COMPLETE')`,
		"a completed registration without a version": `SELECT count(*) FROM registrations r WHERE r.status = 'COMPLETE' AND NOT EXISTS (SELECT 1 FROM type_versions v WHERE r.type_id = v.type_id AND r.version = v.version)`,
		"a registration that does not end":           `SELECT count(*) FROM registrations WHERE status = 'IN_PROGRESS'`,
		"a failed registration without a reason":     `SELECT count(*) FROM registrations WHERE status = 'FAILED' AND description = ''`,
		"a test that does not end":                   `SELECT count(*) FROM test_runs WHERE status = 'IN_PROGRESS'`,
		"a wake-up for nothing":                      `SELECT count(*) FROM wakeups WHERE kind IN ('registration', 'test')`,
	} {
		var n int
		if err := store.Query(k.t.Context(), db.Read(), &n, query); err != nil {
			k.t.Fatalf("%s: %v", what, err)
		}
		if n != 0 {
			k.t.Errorf("%s: %d", what, n)
		}
	}
	var hashes []string
	err = store.Query(k.t.Context(), db.Read(), &hashes, "SELECT package_hash FROM type_versions UNION SELECT report_hash FROM test_runs WHERE report_hash <> '' UNION SELECT hash FROM s3_segments")
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		k.t.Fatal(err)
	}
	for _, hash := range hashes {
		if has, err := db.Blobs().Has(k.t.Context(), hash); err != nil || !has {
			k.t.Errorf("the blob %s is missing: %v", hash, err)
		}
	}
	var versions, runs int
	_ = store.Query(k.t.Context(), db.Read(), &versions, "SELECT count(*) FROM type_versions")
	_ = store.Query(k.t.Context(), db.Read(), &runs, "SELECT count(*) FROM test_runs")
	litter := litterOf(k.options.Dir)
	k.t.Logf("%d answers, %d versions, %d tests, %d blobs; left over: %v", k.answers, versions, runs, len(hashes), litter)
	if len(litter) > 0 {
		k.t.Errorf("left over after an orderly end: %v", litter)
	}
}

// litterOf lists what interrupted work has left in the folder of a server.
func litterOf(dir string) []string {
	var litter []string
	for _, pattern := range []string{dir + "/blobs/incoming/*", dir + "/handlers/packages/.*", dir + "-tmp/*"} {
		found, _ := filepath.Glob(pattern)
		litter = append(litter, found...)
	}
	return litter
}

// invoke calls the handler of a version.
func (k *killing) invoke(typeName, version string) error {
	out, err := k.clients.lambda.Invoke(k.t.Context(), &awslambda.InvokeInput{
		FunctionName: aws.String(strings.ReplaceAll(typeName, "::", "-")), Qualifier: &version, Payload: []byte(`{"action": "CREATE"}`),
	})
	if err == nil && (out.FunctionError != nil || !bytes.Contains(out.Payload, []byte("SUCCESS"))) {
		err = fmt.Errorf("it answers %s", out.Payload)
	}
	return err
}
