package lambda_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// probes are ways to a secret that something on this machine tells everybody who asks. The first word is the way.
func init() { handlers["probe"] = func() { serve(probe) } }

// probe answers with what each of the ways leads to.
func probe(_ string, payload []byte) {
	var ways []string
	_ = json.Unmarshal(payload, &ways) // no ways, no answers
	answers := map[string]string{}
	for _, way := range ways {
		kind, address, _ := strings.Cut(way, " ")
		answer, err := follow(kind, address)
		if err != nil {
			answer = "error: " + err.Error()
		}
		answers[way] = answer
	}
	text, _ := json.Marshal(answers) // texts
	reply(text)
}

// follow reads from what listens at an address.
func follow(kind, address string) (string, error) {
	switch kind {
	case "tcp", "unix":
		conn, err := net.DialTimeout(kind, address, 5*time.Second)
		if err != nil {
			return "", err
		}
		return hear(conn)
	case "udp":
		conn, err := net.Dial(kind, address)
		if err != nil {
			return "", err
		}
		if _, err := conn.Write([]byte("?")); err != nil {
			return "", err
		}
		return hear(conn)
	case "name":
		addresses, err := net.LookupHost(address)
		return strings.Join(addresses, " "), err
	}
	at, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return "", err
	}
	protocol := 0
	if kind == "mptcp" {
		protocol = unix.IPPROTO_MPTCP
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	to := &unix.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}
	if kind == "fastopen" {
		err = unix.Sendto(fd, []byte("?"), unix.MSG_FASTOPEN, to)
	} else {
		err = unix.Connect(fd, to)
	}
	if err != nil {
		return "", err
	}
	buffer := make([]byte, 100)
	n, err := unix.Read(fd, buffer)
	return string(buffer[:max(n, 0)]), err
}

func hear(conn net.Conn) (string, error) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	buffer := make([]byte, 100)
	n, err := conn.Read(buffer)
	if n > 0 {
		err = nil
	}
	return string(buffer[:n]), err
}

// tell has a listener send a text to all who connect, for as long as the test runs.
func tell(t *testing.T, network, address, text string) string {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Skip("SKIPPED: no ", network, " at ", address, ": ", err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, text) // the client may have left
			conn.Close()
		}
	}()
	return listener.Addr().String()
}

// tellPackets is tell for packets.
func tellPackets(t *testing.T, text string) string {
	t.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { packets.Close() })
	go func() {
		for buffer := make([]byte, 10); ; {
			_, from, err := packets.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = packets.WriteTo([]byte(text), from) // the client may have left
		}
	}()
	return packets.LocalAddr().String()
}

// ownAddress is one of this machine that is not loopback, "" if it has none.
func ownAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.To4() != nil && !network.IP.IsLoopback() && !network.IP.IsLinkLocalUnicast() {
			return network.IP.String()
		}
	}
	return ""
}

// TestNetwork is what handlers reach, by way and network.
func TestNetwork(t *testing.T) {
	const secret = "of the machine"
	closed := tell(t, "tcp", "127.0.0.1:0", secret)
	named := tell(t, "tcp", "127.0.0.1:0", "named")
	lan := ownAddress(t)
	refused := []string{"tcp " + closed, "udp " + tellPackets(t, secret), "mptcp " + closed, "fastopen " + closed, "unix @" + filepath.Base(t.TempDir()) + "-secret"}
	tell(t, "unix", strings.TrimPrefix(refused[4], "unix "), secret)
	metadata := []string{"tcp " + metadataIP + ":80", "tcp 100.100.100.200:80"}
	if os.Getenv(machineUser) != "" { // see TestNetworkOfAMachine
		tell(t, "tcp", metadataIP+":80", secret)
		if lan != machineIP {
			t.Errorf("the address of the machine is %q", lan)
		}
	}
	if lan != "" {
		at := tell(t, "tcp", net.JoinHostPort(lan, "0"), secret)
		refused = append(refused, "tcp "+at, "mptcp "+at)
	}
	served, err := net.Listen("tcp", "127.0.0.1:0") // its port is free on this machine
	if err != nil {
		t.Fatal(err)
	}
	port := served.Addr().(*net.TCPAddr).Port
	served.Close()
	for _, network := range []sandbox.Network{"", sandbox.Named, sandbox.Open, sandbox.Host} {
		t.Run("network="+string(network), func(t *testing.T) {
			c := confined(t, "probe")
			c.Sandbox.Network, c.Sandbox.Reach = network, []string{named, "127.0.0.1:" + fmt.Sprint(port)}
			c.Network.Names = []string{"cfn.example"}
			c.Network.Served = []lambda.Served{{Port: port, Serve: func(l net.Listener) {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = io.WriteString(conn, "served") // the client may have left
					conn.Close()
				}
			}}}
			f := start(t, c)
			ask := func(ways ...string) map[string]string {
				t.Helper()
				payload, _ := json.Marshal(ways) // texts
				reply, err := f.Call(t.Context(), payload)
				var answers map[string]string
				if err != nil || json.Unmarshal(reply, &answers) != nil {
					t.Fatalf("%s, %v", reply, err)
				}
				return answers
			}
			if network == sandbox.Open && !c.Sandbox.Outbound() {
				if _, err := os.Stat("/dev/net/tun"); err == nil && os.Getuid() == 0 || os.Getenv(machineTun) != "" {
					t.Error("there is a device, and no interface")
				}
				t.Log("this user makes no interface: the network is as if it were named")
			}
			if network == sandbox.Host {
				if os.Getenv(machineUser) != "" {
					if answer := ask(metadata[0])[metadata[0]]; answer != secret {
						t.Errorf("%s: %s, want %s", metadata[0], answer, secret)
					}
				}
				for way, answer := range ask(refused[:4]...) {
					if answer != secret && !strings.HasPrefix(way, "fastopen") { // the system may forbid that
						t.Errorf("%s: %s, want %s", way, answer, secret)
					}
				}
				return
			}
			for way, answer := range ask(append(refused, metadata...)...) {
				if !strings.HasPrefix(answer, "error: ") {
					t.Errorf("%s is reached: %s", way, answer)
				}
			}
			for way, want := range map[string]string{
				"tcp " + named: "named", fmt.Sprintf("tcp 127.0.0.1:%d", port): "served", fmt.Sprintf("tcp cfn.example:%d", port): "served",
				"name cfn.example": "127.0.0.1", "name some.localhost": "127.0.0.1",
			} {
				if answer := ask(way)[way]; !strings.Contains(answer, want) {
					t.Errorf("%s: %s, want %s", way, answer, want)
				}
			}
			if answer := ask("name nowhere.invalid")["name nowhere.invalid"]; !strings.Contains(answer, "no such host") && network != sandbox.Open {
				t.Errorf("a name: %s", answer)
			}
		})
	}
}

// TestRuntimeAPIOfAnother: a process cannot take the invocations of another function, whatever their networks are.
func TestRuntimeAPIOfAnother(t *testing.T) {
	for _, own := range []sandbox.Settings{{Mode: sandbox.Off}, {Mode: sandbox.On, Network: sandbox.Host}, {Mode: sandbox.On, Network: sandbox.Named}} {
		for _, other := range []sandbox.Settings{{Mode: sandbox.Off}, {Mode: sandbox.On, Network: sandbox.Host}} {
			if own.Mode == sandbox.On {
				confined(t, "")
			}
			c := config(t, "env")
			c.Sandbox = other
			victim := start(t, c)
			reply, err := victim.Call(t.Context(), nil)
			var environ []string
			if err != nil || json.Unmarshal(reply, &environ) != nil {
				t.Fatal(string(reply), err)
			}
			address := ""
			for _, entry := range environ {
				if value, ok := strings.CutPrefix(entry, "AWS_LAMBDA_RUNTIME_API="); ok {
					address = value
				}
			}
			c = config(t, "ask")
			c.Sandbox = own
			spy := start(t, c)
			for _, q := range []question{{"GET", address, "/2018-06-01/runtime/invocation/next", "", ""}, {"POST", address, "/2018-06-01/runtime/init/error", "", ""}} {
				text, _ := json.Marshal(q) // texts
				answer, err := spy.Call(t.Context(), text)
				want := "is not one of a process of the function"
				if own.Isolated() {
					want = "connection refused"
				}
				if err != nil || !strings.Contains(string(answer), want) {
					t.Errorf("%+v from %+v: %s, %v", q, own, answer, err)
				}
			}
			if _, err := victim.Call(t.Context(), nil); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		}
	}
}

// TestRuntimeAPIByChild: programs that a process starts are its own.
func TestRuntimeAPIByChild(t *testing.T) {
	for _, settings := range []sandbox.Settings{{Mode: sandbox.Off}, {Mode: sandbox.On, Network: sandbox.Host}, {Mode: sandbox.On}} {
		c := config(t, "by-child")
		c.Sandbox = settings
		f := start(t, c)
		for _, payload := range []string{`"a"`, `"b"`} {
			if answer, err := f.Call(t.Context(), []byte(payload)); err != nil || string(answer) != payload {
				t.Errorf("%+v: %s, %v", settings, answer, err)
			}
		}
	}
}

// TestDebuggerOfSandbox: a debugger reaches the port of a process, and other handlers do not.
func TestDebuggerOfSandbox(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	c := confined(t, "debugger")
	c.Env = append(c.Env, "DEBUGGER="+address)
	listening := make(chan int, 1)
	c.Lazy, c.Debug = true, &lambda.Debug{Address: address, Listening: "waiting for a debugger", Started: func(pid int) { listening <- pid }}
	f := start(t, c)
	called := make(chan error, 1)
	go func() {
		_, err := f.Call(t.Context(), []byte("{}"))
		called <- err
	}()
	<-listening
	spy := start(t, confined(t, "probe"))
	payload, _ := json.Marshal([]string{"tcp " + address}) // a text
	if answer, err := spy.Call(t.Context(), payload); err != nil || !strings.Contains(string(answer), "refused") {
		t.Errorf("another handler: %s, %v", answer, err)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "continue"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(conn); err != nil || string(text) != "CONTINUE" {
		t.Errorf("the debugger hears %q, %v", text, err)
	}
	if err := <-called; err != nil {
		t.Error(err)
	}
}

// TestNetworksEnd: nothing of the networks of processes is left: no file, which would keep a network, and no process.
// FORMWORK_TORTURE starts 500.
func TestNetworksEnd(t *testing.T) {
	confined(t, "")
	starts := 20
	if os.Getenv("FORMWORK_TORTURE") != "" {
		starts = 500
	}
	count := func() (sockets, processes int) {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if target, err := os.Readlink("/proc/self/fd/" + name.Name()); err == nil && (strings.HasPrefix(target, "socket:") || strings.HasPrefix(target, "pipe:") || target == "/dev/net/tun") {
				sockets++
			}
		}
		threads, err := filepath.Glob("/proc/self/task/*/children")
		if err != nil || len(threads) == 0 {
			t.Fatal(threads, err)
		}
		for _, path := range threads {
			children, _ := os.ReadFile(path) // the thread may have ended
			processes += len(strings.Fields(string(children)))
		}
		return sockets, processes
	}
	before := 0
	for i := range starts {
		c := confined(t, "echo")
		c.Sandbox.Network, c.Sandbox.Reach = sandbox.Open, []string{"127.0.0.1:5432", "db.example:5432", "10.1.2.3:5432"}
		f, err := lambda.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if i == 1 { // what is kept for all is there
			before, _ = count()
		}
	}
	const spare = 4 // files: the next first process may be under way
	left := ""
	if !fixtures.Happens(fixtures.Patience, func() bool { // processes that were killed may not have been reaped
		sockets, processes := count()
		left = fmt.Sprintf("%d files, %d were before; %d processes", sockets, before, processes)
		return sockets <= before+spare && processes <= 1
	}) {
		t.Error("left over: ", left)
	}
}

// TestNetworkOrders: wrong addresses are refused before anything starts.
func TestNetworkOrders(t *testing.T) {
	for address, want := range map[string]string{
		"5432": "not of the form HOST:PORT", "127.0.0.1:": "not of the form", "127.0.0.1:0": "not of the form", "a b:1": "not of the form", "0.0.0.0:80": "names all addresses", "[2001:db8::1]:80": "is an IPv6 address",
	} {
		c := confined(t, "echo")
		c.Sandbox.Reach = []string{address}
		if _, err := lambda.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	got := lambda.Reached([]string{"AWS_ENDPOINT_URL=http://127.0.0.1:4566", "AWS_ENDPOINT_URL_EC2=https://localhost", "AWS_ENDPOINT_URL_S3=https://s3.example", "https_proxy=127.0.0.1:3128", "DATABASE_URL=postgres://127.0.0.1:5432"})
	if want := "127.0.0.1:4566 localhost:443 127.0.0.1:3128"; strings.Join(got, " ") != want {
		t.Errorf("the addresses in variables are %s, want %s", got, want)
	}
	// What a package or a template says is in Env, and names nothing.
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c := confined(t, "probe")
	c.Env = append(c.Env, "AWS_ENDPOINT_URL="+server.URL, "HTTPS_PROXY="+server.URL)
	way := "tcp " + strings.TrimPrefix(server.URL, "http://")
	payload, _ := json.Marshal([]string{way}) // a text
	if answer, err := start(t, c).Call(t.Context(), payload); err != nil || !strings.Contains(string(answer), "refused") {
		t.Errorf("an address in Env: %s, %v", answer, err)
	}
}
