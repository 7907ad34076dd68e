package inside

import (
	"reflect"
	"strings"
	"testing"
)

func TestOrdersSurviveTheirEncoding(t *testing.T) {
	want := Orders{
		Path: "/bin/sh", Args: []string{"sh", "", "a b\n"}, Env: []string{"A=", "B=x=y"}, Dir: "/dir",
		Mounts: []Mount{{BindRO, "/usr", "/usr"}, {Empty, "", "/data"}},
		Home:   "/home/handler", TmpBytes: 512 << 20, Processes: 1024, OpenFiles: 1000, NoProcesses: true,
		Network: true, Sockets: []Socket{{TCP4, "127.0.0.1", 9001}, {Tun, "", 0}}, Texts: []Text{{"/etc/hosts", "127.0.0.1 localhost\n"}},
	}
	encoded := want.Encode()
	got, ok := decode(encoded)
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, ok)
	}
	for n := range len(encoded) {
		if _, ok := decode(encoded[:n]); ok {
			t.Errorf("%d of %d bytes are complete orders", n, len(encoded))
		}
	}
	if _, ok := decode([]byte("/bin/sh\x0099999999999999999999\x00" + strings.Repeat("\x00", 10))); ok {
		t.Error("a wrong number is accepted")
	}
}
