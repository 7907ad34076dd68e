package local_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// filled makes a store with n types, each with one version and a schema of 4 KB.
func filled(b *testing.B, n int) serverOptions {
	b.Helper()
	o := serverOptions{Dir: filepath.Join(b.TempDir(), "data")}
	mustStart(b, o).terminate(b)
	s, err := store.Open(b.Context(), store.Config{Dir: o.Dir})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	schema := `{"typeName":"Acme::Load::Thing","description":"` + strings.Repeat("What it is good for. ", 180) + `","properties":{"A":{"type":"string"}},"primaryIdentifier":["/properties/A"],"additionalProperties":false}`
	err = s.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
		for i := range n {
			id := fmt.Sprintf("load-%06d", i)
			_, err := store.Exec(ctx, tx, "INSERT INTO types (id, account, region, kind, type_name, default_version, next_version, deprecated, created_at, updated_at, row_version)\n\t\t\t\tVALUES (?, ?, ?, 'RESOURCE', ?, 1, 2, ?, 1, 1, 1)",
				id, account, region, fmt.Sprintf("Acme::Load::T%05d", i), false)
			if err != nil {
				return err
			}
			_, err = store.Exec(ctx, tx, "INSERT INTO type_versions (id, type_id, version, deprecated, package_hash, package_url, runtime, entrypoint, description, source_url, documentation_url,\n\t\t\t\tprovisioning_type, execution_role, log_group, log_role, required_types, test_status, test_status_description, public_version, created_at, updated_at, row_version,\n\t\t\t\tconfiguration_schema, settings, schema) VALUES (?, ?, 1, ?, ?, '', '', '', 'A thing', '', '', 'FULLY_MUTABLE', '', '', '', '', 'NOT_TESTED', '', '', 1, 1, 1, '', '', ?)",
				id, id, false, fmt.Sprintf("%064d", i), schema)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return o
}

// A caller is a client that costs little: one connection, requests as they go over the
// wire, answers as far as they are needed.
type caller struct {
	conn net.Conn
	in   *bufio.Reader
	text *textproto.Reader
	body []byte // of the latest answer
}

func newCaller(url string) (*caller, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(conn, 64<<10)
	return &caller{conn: conn, in: in, text: textproto.NewReader(in)}, nil
}

// call sends one request of the Query protocol. Any answer but 200 is an error.
func (c *caller) call(body string) error {
	if _, err := io.WriteString(c.conn, form("", body)); err != nil {
		return err
	}
	status, err := c.text.ReadLine()
	if err != nil {
		return err
	}
	header, err := c.text.ReadMIMEHeader()
	if err != nil {
		return err
	}
	length, err := strconv.Atoi(header.Get("Content-Length"))
	if err != nil {
		return err
	}
	c.body = slices.Grow(c.body[:0], length)[:length]
	if _, err := io.ReadFull(c.in, c.body); err != nil {
		return err
	}
	if status != "HTTP/1.1 200 OK" {
		return fmt.Errorf("%s: %s", status, c.body)
	}
	return nil
}

// BenchmarkLoad has 100 clients describe and list types beside a stream of registrations.
// An operation is one request; what the clients themselves cost is told as well.
//
//	go test -run '^$' -bench Load -benchtime 30s ./local
func BenchmarkLoad(b *testing.B) {
	const clients, kinds = 100, 1000
	server := mustStart(b, filled(b, kinds))
	registering, stop := context.WithCancel(b.Context())
	var registered atomic.Int64
	var stream sync.WaitGroup
	stream.Go(func() { registerOn(registering, b, server.url, &registered) })
	b.Cleanup(func() { stop(); stream.Wait() })

	var left, failed atomic.Int64
	times := make([][]time.Duration, clients)
	callers := make([]*caller, clients)
	for i := range callers {
		var err error
		if callers[i], err = newCaller(server.url); err != nil {
			b.Fatal(err)
		}
		defer callers[i].conn.Close()
	}
	left.Store(int64(b.N))
	ownCPU, serverCPU := cpuOf(b, "self"), cpuOf(b, strconv.Itoa(server.cmd.Process.Pid))
	var busy sync.WaitGroup
	b.ResetTimer()
	for i, c := range callers {
		chances := rand.New(rand.NewPCG(uint64(i), 4))
		busy.Go(func() {
			for left.Add(-1) >= 0 {
				request := "Version=2010-05-15&Action="
				switch chances.IntN(10) {
				case 0, 1, 2:
					request += "ListTypes&Visibility=PRIVATE&MaxResults=50"
				case 3, 4:
					request += fmt.Sprintf("ListTypeVersions&Type=RESOURCE&TypeName=Acme::Load::T%05d", chances.IntN(kinds))
				default:
					request += fmt.Sprintf("DescribeType&Type=RESOURCE&TypeName=Acme::Load::T%05d", chances.IntN(kinds))
				}
				started := time.Now()
				if err := c.call(request); err != nil {
					if failed.Add(1) == 1 {
						b.Error(err)
					}
					return
				}
				times[i] = append(times[i], time.Since(started))
			}
		})
	}
	busy.Wait()
	b.StopTimer()
	all := slices.Concat(times...)
	slices.Sort(all)
	if len(all) == 0 {
		b.Fatal("nothing was answered")
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(all[len(all)/2]), "p50-ms")
	b.ReportMetric(ms(all[len(all)*99/100]), "p99-ms")
	b.ReportMetric(ms(all[len(all)-1]), "max-ms")
	b.ReportMetric(float64(failed.Load()), "errors")
	b.ReportMetric(float64(registered.Load()), "registrations")
	own, its := cpuOf(b, "self")-ownCPU, cpuOf(b, strconv.Itoa(server.cmd.Process.Pid))-serverCPU
	b.ReportMetric(100*own.Seconds()/(own+its).Seconds(), "client-cpu-%")
	b.ReportMetric(float64(its.Microseconds())/float64(len(all)), "server-cpu-µs/op")
	b.ReportMetric(memoryOf(b, server, "VmRSS"), "rss-MB")
}

// registerOn registers versions one after the other: mostly of a module, which costs the
// server alone, and now and then of a resource whose handler is started.
func registerOn(ctx context.Context, b *testing.B, url string, done *atomic.Int64) {
	c := newClients(b, url)
	if _, err := c.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(shelf), CreateBucketConfiguration: here}); err != nil {
		if ctx.Err() == nil {
			b.Error(err)
		}
		return
	}
	for i := 0; ctx.Err() == nil; i++ {
		kind, name := types.RegistryTypeModule, fmt.Sprintf("Acme::Stream%d::Part::MODULE", i/40)
		data := func() []byte {
			return extension(b, "localstack-testing-testmodule-module", "LocalStack::Testing::TestModule::MODULE", name, nil)
		}
		if i%40 == 39 {
			kind, name = types.RegistryTypeResource, fmt.Sprintf("Acme::Stream%d::Thing", i/40)
			data = func() []byte { return resource(b, name) }
		}
		_, err := c.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(shelf), Key: &name, Body: bytes.NewReader(data())})
		var out *cloudformation.RegisterTypeOutput
		if err == nil {
			out, err = c.RegisterType(ctx, &cloudformation.RegisterTypeInput{Type: kind, TypeName: &name, SchemaHandlerPackage: aws.String("s3://" + shelf + "/" + name)})
		}
		for err == nil {
			var how *cloudformation.DescribeTypeRegistrationOutput
			how, err = c.DescribeTypeRegistration(ctx, &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: out.RegistrationToken})
			if err == nil && how.ProgressStatus == types.RegistrationStatusFailed {
				err = fmt.Errorf("%s: %s", name, aws.ToString(how.Description))
			}
			if err == nil && how.ProgressStatus == types.RegistrationStatusComplete {
				done.Add(1)
				break
			}
			letRun(10 * time.Millisecond)
		}
		if err != nil && ctx.Err() == nil {
			b.Error(err)
			return
		}
	}
}

// BenchmarkListAll pages through 10,000 types over the API.
func BenchmarkListAll(b *testing.B) {
	const kinds = 10_000
	server := mustStart(b, filled(b, kinds))
	c, err := newCaller(server.url)
	if err != nil {
		b.Fatal(err)
	}
	defer c.conn.Close()
	for b.Loop() {
		found, next := 0, ""
		for {
			if err := c.call("Version=2010-05-15&Action=ListTypes&Visibility=PRIVATE&MaxResults=100" + next); err != nil {
				b.Fatal(err)
			}
			found += bytes.Count(c.body, []byte("<TypeArn>"))
			_, rest, more := bytes.Cut(c.body, []byte("<NextToken>"))
			if !more {
				break
			}
			token, _, _ := bytes.Cut(rest, []byte("<"))
			next = "&NextToken=" + string(token)
		}
		if found != kinds {
			b.Fatalf("%d types", found)
		}
	}
}

// BenchmarkReady starts a server until it listens, and looks how much memory it has then.
func BenchmarkReady(b *testing.B) {
	for name, fresh := range map[string]bool{"fresh": true, "existing": false} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			if !fresh {
				mustStart(b, serverOptions{Dir: dir}).terminate(b)
			}
			var took []time.Duration
			var memory float64
			for i := 0; b.Loop(); i++ {
				if fresh {
					dir = filepath.Join(b.TempDir(), strconv.Itoa(i))
				}
				server := mustStart(b, serverOptions{Dir: dir})
				took = append(took, server.took)
				memory = memoryOf(b, server, "VmRSS")
				server.terminate(b)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ready-ms")
			b.ReportMetric(memory, "rss-MB")
		})
	}
}

// BenchmarkIdle submits a resource type and its handler 20 times, lists types 3,000 times, and looks how
// much memory the server has after the last request and when it has been quiet for a while: all of it,
// and what it allocated. The rest are pages of the program, which the system has to keep only once.
//
//	go test -run '^$' -bench Idle -benchtime 1x ./local
func BenchmarkIdle(b *testing.B) {
	const submits, lists = 20, 3000
	const quiet = 100 * time.Second // the server looks every 30 s, and at its connections once a minute
	server := mustStart(b, serverOptions{Dir: filepath.Join(b.TempDir(), "data")})
	c := newClients(b, server.url)
	b.ReportMetric(memoryOf(b, server, "VmRSS"), "started-MB")
	registerWaiter(b, c)
	data := waiterPackage(b)
	watch, err := newCaller(server.url)
	if err != nil {
		b.Fatal(err)
	}
	defer watch.conn.Close()
	for b.Loop() {
		for range submits {
			registerPackage(b, c, types.RegistryTypeResource, waiterType, data)
		}
		for range lists {
			if err := watch.call("Version=2010-05-15&Action=ListTypes&Visibility=PRIVATE&MaxResults=50"); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(memoryOf(b, server, "VmRSS"), "busy-MB")
		letRun(quiet)
		b.ReportMetric(memoryOf(b, server, "VmRSS"), "idle-MB")
		b.ReportMetric(memoryOf(b, server, "RssAnon"), "idle-allocated-MB")
		started := time.Now()
		if err := watch.call("Version=2010-05-15&Action=ListTypes&Visibility=PRIVATE&MaxResults=50"); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(started).Microseconds())/1000, "first-ms")
	}
}

// memoryOf is a line of /proc/PID/status in MB, 0 where /proc does not tell.
func memoryOf(b testing.TB, p *process, line string) float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(status), line+":")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kilobytes, err := strconv.Atoi(fields[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(kilobytes) / 1024
}

// cpuOf is the time that a process has had, 0 where /proc does not tell.
func cpuOf(b *testing.B, pid string) time.Duration {
	stat, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	var ticks int
	for _, field := range fields[11:13] { // utime, stime
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
