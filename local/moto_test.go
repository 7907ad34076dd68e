package local_test

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"testing"
	"time"
)

// startMoto starts moto's server and returns its URL.
func startMoto(t testing.TB) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().(*net.TCPAddr)
	free.Close()
	server := exec.Command("moto_server", "-H", "127.0.0.1", "-p", fmt.Sprint(address.Port))
	var output lockedBuffer
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Logf("moto_server: %s", output.String())
		}
	})
	url := "http://" + address.String()
	transport := &http.Transport{DisableKeepAlives: true}
	eventually(t, time.Minute, "moto listens", func() bool {
		response, err := (&http.Client{Transport: transport}).Get(url + "/moto-api/")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return url
}
