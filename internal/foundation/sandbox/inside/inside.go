// Package inside is the part of package sandbox that runs within: as the first process of a new
// user, mount, process, IPC and network namespace, it builds the view of the machine that a process of a
// function has, starts the process, and ends with it.
//
// That first process is this same program, which is why the package has an init function: a
// program that starts functions is ready to be such a process before the rest of it is
// initialized, which would take longer than the start itself. The Go runtime initializes packages
// as soon as what they import is initialized, so this package imports little.
package inside

// Name is the name under which a program is started to be the first process of a sandbox. It does
// nothing else then.
const Name = "formwork-sandbox"

// The file descriptors of the first process, beside the standard ones.
const (
	// ReportFD is where the first process reports how the process ended.
	ReportFD = 3
	// OrdersFD is the socket where it reads its orders from; its end is the end of the sandbox.
	OrdersFD = 4
)

// The first process gets orders twice. The first ones are the same for all processes: the mounts of
// the system. It reports Ready then, and may wait for long. The second ones are those of the process,
// and come with the file for its output.

// The reports, each followed by a number of 4 bytes and a text with its length of 4 bytes before
// it.
const (
	Failed  = 'F' // the sandbox cannot be built: an error number, and where
	Ready   = 'W' // the mounts of the system are there
	Refused = 'R' // the system did not start the program: an error number
	Started = 'S' // the program runs: its ID within the sandbox
	Ended   = 'E' // it has ended: its wait status; the text is how many processes it left, in digits
)

// Kinds of mounts.
const (
	BindRO   = "ro"     // what is at Source, read-only
	BindRW   = "rw"     // what is at Source
	Device   = "device" // the device at Source
	Empty    = "empty"  // an empty folder, for mounts below it
	Masked   = "masked" // an empty folder that cannot be entered
	Blank    = "blank"  // an empty file
	Link     = "link"   // a symbolic link to Source
	Contents = "file"   // a copy of the file at Source
)

// Kinds of sockets.
const (
	TCP4 = "tcp4" // listens at an IPv4 address
	TCP6 = "tcp6" // listens at ::1
	UDP4 = "udp4" // receives at an IPv4 address
	Tun  = "tun"  // the other end of the only interface beside loopback
)

// A Socket is made in the network of the sandbox, and passed out to the program that gave the orders.
type Socket struct {
	Kind string
	IP   string // an IPv4 address with dots, for TCP4 and UDP4
	Port int
}

// DialRequest is what that program sends, after the orders, for one more socket that is not
// connected. The answer is as that to the orders: a byte for each socket, Made or Missing, with
// those that were made.
const (
	DialRequest = 'D'
	Made        = '1'
	Missing     = '0'
)

// TunMTU is the size of the largest packet of the interface.
const TunMTU = 16 << 10

// MaxSockets bounds the sockets of one sandbox: a message has at most 253 files.
const MaxSockets = 200

// A Text is a file that is written in the view, in place of another one.
type Text struct{ Path, Content string }

// A Mount is one part of the view. Those below others come after them.
type Mount struct {
	Kind   string
	Source string // no link is in the path
	Target string
}

// Orders say what the first process does.
type Orders struct {
	Path        string
	Args, Env   []string
	Dir         string
	Mounts      []Mount
	Home        string // a folder of the process
	TmpBytes    int    // of /tmp and Home together
	Processes   int    // most processes and threads
	OpenFiles   int    // of each process
	NoProcesses bool   // only build the view, and report Ended
	Network     bool   // it has a network of its own
	Sockets     []Socket
	Texts       []Text
}

// Encode writes orders as texts that each end with a zero byte.
func (o *Orders) Encode() []byte {
	var b []byte
	text := func(s string) { b = append(append(b, s...), 0) }
	list := func(l []string) {
		text(itoa(len(l)))
		for _, s := range l {
			text(s)
		}
	}
	text(o.Path)
	list(o.Args)
	list(o.Env)
	text(o.Dir)
	text(itoa(len(o.Mounts)))
	for _, m := range o.Mounts {
		text(m.Kind)
		text(m.Source)
		text(m.Target)
	}
	text(o.Home)
	for _, n := range []int{o.TmpBytes, o.Processes, o.OpenFiles} {
		text(itoa(n))
	}
	for _, b := range []bool{o.NoProcesses, o.Network} {
		text(map[bool]string{true: "1", false: "0"}[b])
	}
	text(itoa(len(o.Sockets)))
	for _, s := range o.Sockets {
		text(s.Kind)
		text(s.IP)
		text(itoa(s.Port))
	}
	text(itoa(len(o.Texts)))
	for _, t := range o.Texts {
		text(t.Path)
		text(t.Content)
	}
	text("end")
	return b
}

// decode reads orders, and reports whether they are complete.
func decode(b []byte) (o Orders, ok bool) {
	text := func() string {
		for i, c := range b {
			if c == 0 {
				s := string(b[:i])
				b = b[i+1:]
				return s
			}
		}
		return ""
	}
	list := func() []string {
		n := atoi(text())
		l := make([]string, 0, min(n, len(b)))
		for range min(n, len(b)) {
			l = append(l, text())
		}
		return l
	}
	o.Path = text()
	o.Args, o.Env = list(), list()
	o.Dir = text()
	for range min(atoi(text()), len(b)) {
		o.Mounts = append(o.Mounts, Mount{text(), text(), text()})
	}
	o.Home = text()
	o.TmpBytes, o.Processes, o.OpenFiles = atoi(text()), atoi(text()), atoi(text())
	o.NoProcesses, o.Network = text() == "1", text() == "1"
	for range min(atoi(text()), len(b)) {
		o.Sockets = append(o.Sockets, Socket{text(), text(), atoi(text())})
	}
	for range min(atoi(text()), len(b)) {
		o.Texts = append(o.Texts, Text{text(), text()})
	}
	return o, text() == "end"
}

// itoa and atoi are those of strconv for numbers that are not negative.
func itoa(n int) string {
	if n >= 10 {
		return itoa(n/10) + string(rune('0'+n%10))
	}
	return string(rune('0' + n))
}

func atoi(s string) int {
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' || n > 1<<50 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}
