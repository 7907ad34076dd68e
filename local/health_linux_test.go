package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"golang.org/x/sys/unix"

	"github.com/formwork-dev/formwork/local"
)

// TestHealthOfAFullDisk: /healthz reports when nothing can be stored, and when it can again.
func TestHealthOfAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("skipped: a file system can be mounted by root only: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	url := serving(t, local.ServerConfig{Config: local.Config{Dir: dir}}).URL()
	health := func() (int, string) {
		t.Helper()
		answer, err := http.Get(url + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var state struct{ Status string }
		if err := json.NewDecoder(answer.Body).Decode(&state); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, state.Status
	}
	if status, state := health(); status != http.StatusOK {
		t.Fatalf("at first: %d %s", status, state)
	}
	full := filepath.Join(dir, "full")
	file, err := os.Create(full)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, zeros{}); err == nil {
		t.Fatal("the disk is not full")
	}
	file.Close()
	c := newClients(t, url)
	put := func() error {
		_, err := c.ssm.PutParameter(t.Context(), &ssm.PutParameterInput{Name: aws.String("kept"), Value: aws.String("after"), Type: ssmtypes.ParameterTypeString, Overwrite: aws.Bool(true)})
		return err
	}
	for range 200 { // what the file of the database has room for is taken
		if err = put(); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "StatusCode: 50") {
		t.Errorf("a change on a full disk: %v, want a status of 5xx", err)
	}
	eventually(t, time.Minute, "the full disk is seen", func() bool {
		status, state := health()
		return status == http.StatusServiceUnavailable && strings.Contains(state, "full")
	})
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the room is seen", func() bool { status, _ := health(); return status == http.StatusOK })
	if err := put(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// TestFileLimit: a server that may open no more files refuses with 5xx or not at all, takes nobody
// for somebody else, and works again when others have gone; what it acknowledged is there.
func TestFileLimit(t *testing.T) {
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	if err := os.WriteFile(keys, twoKeys, 0o600); err != nil {
		t.Fatal(err)
	}
	server := mustStart(t, serverOptions{Dir: filepath.Join(dir, "data"), Auth: keys})
	pid := server.cmd.Process.Pid
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	var before unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(len(open)) + 6, Max: 4096}, &before); err != nil {
		t.Skip("skipped: the limit cannot be set:", err)
	}
	var busy sync.WaitGroup
	var answers, refusals atomic.Int64
	kept := make([]int, 20)
	client := func(i int) (*ssm.Client, string) {
		key := [][2]string{{keyID, secret}, {otherID, otherSecret}}[i%2]
		config := signer(server.url, key[0], key[1])
		config.HTTPClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
		return ssm.NewFromConfig(config), key[0]
	}
	ctx, end := context.WithTimeout(t.Context(), 3*time.Second)
	defer end()
	for i := range kept {
		busy.Go(func() {
			c, who := client(i)
			name := aws.String(fmt.Sprint("/limit/", i/2))
			for n := 1; ctx.Err() == nil; n++ {
				_, err := c.PutParameter(ctx, &ssm.PutParameterInput{Name: name, Value: aws.String(fmt.Sprintf("%s %d", who, n)), Type: ssmtypes.ParameterTypeString, Overwrite: aws.Bool(true)})
				if err == nil {
					kept[i] = n
					answers.Add(1)
				} else {
					refusals.Add(1)
					if strings.Contains(err.Error(), "StatusCode: 4") {
						t.Errorf("refused with %v", err)
						return
					}
				}
			}
		})
	}
	busy.Wait()
	t.Logf("%d answers, %d refusals", answers.Load(), refusals.Load())
	if refusals.Load() == 0 {
		t.Error("the limit was not met")
	}
	eventually(t, time.Minute, "the server answers again", func() bool {
		c, _ := client(0)
		_, err := c.PutParameter(t.Context(), &ssm.PutParameterInput{Name: aws.String("again"), Value: aws.String("x"), Type: ssmtypes.ParameterTypeString, Overwrite: aws.Bool(true)})
		return err == nil
	})
	for i, n := range kept {
		c, who := client(i)
		out, err := c.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String(fmt.Sprint("/limit/", i/2))})
		if err != nil {
			if n > 0 {
				t.Errorf("%d was acknowledged to %s: %v", n, who, err)
			}
			continue
		}
		id, got := "", 0
		if _, err := fmt.Sscanf(*out.Parameter.Value, "%s %d", &id, &got); err != nil || id != who || got < n {
			t.Errorf("%s has %q, but %d was acknowledged", who, *out.Parameter.Value, n)
		}
	}
	server.terminate(t)
}
