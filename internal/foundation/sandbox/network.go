package sandbox

import (
	"fmt"
	"os"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox/inside"
)

// A Network is what processes in a sandbox reach of the network.
type Network string

// The networks. The zero value is Named.
const (
	Open  Network = "open"  // other machines, and what is named of this one
	Named Network = "named" // what is named
	Host  Network = "host"  // what this machine reaches, and all that listens on it
)

// Networks are all of them.
func Networks() []Network { return []Network{Open, Named, Host} }

// ParseNetwork reads a network.
func ParseNetwork(text string) (Network, error) {
	for _, n := range Networks() {
		if text == string(n) {
			return n, nil
		}
	}
	return "", fmt.Errorf("expected open, named or host but got %q", text)
}

// Isolated reports whether processes have a network of their own.
func (s *Settings) Isolated() bool { return s.Mode.Active() && s.Network != Host }

// Outbound reports whether processes reach other machines by a network of their own.
func (s *Settings) Outbound() bool { return s.Isolated() && s.Network == Open && hasTun() }

// MissingNetwork is a sentence about what the network does not let handlers do here, "" if it is as
// it should be.
func (s *Settings) MissingNetwork() string {
	if s.Isolated() && s.Network == Open && !hasTun() {
		return "handlers reach only what is named: this machine has no " + tunDevice + " that this user can open; pass --reach HOST:PORT for what they need, or --network host"
	}
	return ""
}

// A Socket is made in the network of a sandbox; see Process.
type Socket = inside.Socket

// TCP listens at a port: of 127.0.0.1 and, if it is that, of ::1, where there is IPv6.
func TCP(ip string, port int) []Socket {
	sockets := []Socket{{Kind: inside.TCP4, IP: ip, Port: port}}
	if ip == Loopback {
		sockets = append(sockets, Socket{Kind: inside.TCP6, Port: port})
	}
	return sockets
}

// Loopback is the address of a sandbox itself, and NameServer that of what answers its questions
// about names.
const (
	Loopback   = "127.0.0.1"
	NameServer = "127.0.0.53"
)

// UDP receives packets.
func UDP(ip string, port int) Socket { return Socket{Kind: inside.UDP4, IP: ip, Port: port} }

// Tun is the other end of an interface that leads to other machines. It is missing where the system does not make one.
func Tun() Socket { return Socket{Kind: inside.Tun} }

// MaxSockets bounds the sockets of one sandbox, and TunMTU the packets of its interface.
const (
	MaxSockets = inside.MaxSockets
	TunMTU     = inside.TunMTU
)

// names are the files that tell programs where hosts are.
func (p *Process) names() []inside.Text {
	hosts := "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
	for _, line := range p.Names {
		hosts += line + "\n"
	}
	own, _ := readSetting("/etc/hosts")    // a machine may have none
	theirs, _ := readSetting(resolverFile) // likewise
	resolver := "nameserver " + NameServer + "\n"
	for line := range strings.Lines(theirs) {
		if field, _, _ := strings.Cut(line, " "); field == "search" || field == "domain" || field == "options" {
			resolver += strings.TrimRight(line, "\n") + "\n"
		}
	}
	return []inside.Text{{Path: "/etc/hosts", Content: hosts + own}, {Path: resolverFile, Content: resolver}}
}

const resolverFile = "/etc/resolv.conf"

// maxSetting bounds the files of settings that are read.
const maxSetting = 1 << 20

func readSetting(path string) (string, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxSetting {
		return "", err
	}
	text, err := os.ReadFile(path)
	return strings.ReplaceAll(string(text), "\x00", ""), err
}
