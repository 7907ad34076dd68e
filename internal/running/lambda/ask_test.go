//go:build unix

package lambda_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A question is a request that a handler makes over HTTP: at its Runtime API if no address is given.
type question struct{ Method, Address, Path, Host, Origin string }

// ask answers an invocation with the status and the body of the answer, or the error.
func ask(_ string, payload []byte) {
	var q question
	if err := json.Unmarshal(payload, &q); err != nil {
		q.Address = err.Error()
	}
	answer := func() string {
		request, err := http.NewRequest(q.Method, "http://"+cmp.Or(q.Address, os.Getenv("AWS_LAMBDA_RUNTIME_API"))+q.Path, nil)
		if err != nil {
			return err.Error()
		}
		request.Host, request.Close = q.Host, true
		if q.Origin != "" {
			request.Header.Set("Origin", q.Origin)
		}
		client := http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext}}
		response, err := client.Do(request)
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body) // what there is of it
		return fmt.Sprint(response.StatusCode, " ", string(body))
	}()
	text, _ := json.Marshal(answer) // a string
	reply(text)
}

// byChild has another program talk to the Runtime API, as shells do with curl.
func byChild() {
	for {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), handlerVar+"=one-round")
		if text, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v: %s\n", err, text)
			os.Exit(1)
		}
	}
}

// waitForDebugger answers the first connection to the address in DEBUGGER, and then invocations.
func waitForDebugger() {
	listener, err := net.Listen("tcp", os.Getenv("DEBUGGER"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "waiting for a debugger")
	conn, err := listener.Accept()
	if err != nil {
		os.Exit(1)
	}
	text, _ := io.ReadAll(conn) // until the other end is closed
	fmt.Fprint(conn, strings.ToUpper(string(text)))
	conn.Close()
	serve(func(_ string, payload []byte) { reply(payload) })
}
