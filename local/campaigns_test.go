package local_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
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
			letRun(150 * time.Millisecond)
			proxy.down.Store(true)
			proxy.cut()
			letRun(70 * time.Millisecond)
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
		eventually(t, time.Minute, "the server answers again", func() bool {
			out, err := s.client.GetParameter(t.Context(), &ssm.GetParameterInput{Name: &s.name})
			if s.last < 0 && codeOf(err) == "ParameterNotFound" {
				return true // on a busy machine, none of its values may have been stored
			}
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
