package lambda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

const knowsOwners = true

// otherEnd is the socket at the other end of a connection on this machine, 0 if there is none.
func otherEnd(conn net.Conn) (uint32, error) {
	var ends [2]netip.AddrPort
	for i, address := range []net.Addr{conn.RemoteAddr(), conn.LocalAddr()} {
		tcp, ok := address.(*net.TCPAddr)
		if !ok {
			return 0, fmt.Errorf("the connection is not one of TCP: %s", address)
		}
		ends[i] = netip.AddrPortFrom(tcp.AddrPort().Addr().Unmap(), uint16(tcp.Port))
	}
	return socketInode(ends[0], ends[1])
}

// hasSocket reports whether a process of the group has a socket.
func (g *group) hasSocket(inode uint32) bool {
	name := "socket:[" + strconv.FormatUint(uint64(inode), 10) + "]"
	if hasFile(g.pid, name) {
		return true
	}
	budget := 2 * sandbox.MaxProcesses
	others := children(g.leader(), &budget)
	for _, pid := range g.mark.adopted() {
		others = append(append(others, pid), children(pid, &budget)...)
	}
	return slices.ContainsFunc(others, func(pid int) bool { return hasFile(pid, name) })
}

// hasFile reports whether a process has a file open. It is false for one that nobody may look into.
func hasFile(pid int, name string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	folder, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer func() { _ = folder.Close() }() // it was only read
	for {
		files, err := folder.Readdirnames(256)
		for _, file := range files {
			if target, err := os.Readlink(dir + "/" + file); err == nil && target == name {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
}

// Sizes and offsets of struct inet_diag_req_v2 and struct inet_diag_msg with their headers.
const (
	diagHeader  = 16
	diagRequest = diagHeader + 56
	diagAnswer  = diagHeader + 72
	diagByName  = 20 // SOCK_DIAG_BY_FAMILY
	established = 1
)

// socketInode asks the kernel for the socket at one end of a connection, whose own address is the first one.
// Zero is none.
func socketInode(own, other netip.AddrPort) (uint32, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, fmt.Errorf("the owner of a connection is not known: this system has no inet_diag: %w", err)
	}
	defer func() { _ = unix.Close(fd) }() // one question, one answer
	if !own.Addr().Is4() || !other.Addr().Is4() {
		return 0, errors.New("the owner of a connection is not known: it is not one of IPv4")
	}
	order := binary.NativeEndian
	request := make([]byte, diagRequest)
	order.PutUint32(request, diagRequest)
	order.PutUint16(request[4:], diagByName)
	order.PutUint16(request[6:], unix.NLM_F_REQUEST)
	body := request[diagHeader:]
	body[0], body[1] = unix.AF_INET, unix.IPPROTO_TCP
	order.PutUint32(body[4:], ^uint32(0)) // in all states
	id := body[8:]
	binary.BigEndian.PutUint16(id, own.Port())
	binary.BigEndian.PutUint16(id[2:], other.Port())
	from, to := own.Addr().As4(), other.Addr().As4()
	copy(id[4:], from[:])
	copy(id[20:], to[:])
	order.PutUint64(id[40:], ^uint64(0)) // no cookie
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("the owner of a connection is not known: %w", err)
	}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		return 0, err
	}
	answer := make([]byte, 4<<10)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	for err == unix.EINTR {
		n, _, err = unix.Recvfrom(fd, answer, 0)
	}
	if err != nil {
		return 0, fmt.Errorf("the owner of a connection is not known: %w", err)
	}
	answer = answer[:n]
	if len(answer) >= diagHeader+4 && order.Uint16(answer[4:]) == unix.NLMSG_ERROR {
		number := -int32(order.Uint32(answer[diagHeader:]))
		if syscall.Errno(number) == unix.ENOENT {
			return 0, nil // the connection has ended
		}
		return 0, fmt.Errorf("the owner of a connection is not known: %w", syscall.Errno(number))
	}
	if len(answer) < diagAnswer || order.Uint16(answer[4:]) != diagByName {
		return 0, errors.New("the owner of a connection is not known: the system gives no answer")
	}
	found := answer[diagHeader:]
	source, destination := found[8:12], found[24:28]
	if found[0] == unix.AF_INET6 { // a socket of both versions, such as those of Java, has mapped addresses
		source, destination = found[20:24], found[36:40]
	}
	if same := string(found[4:8]) == string(id[:4]) && string(source) == string(from[:]) && string(destination) == string(to[:]); !same || found[1] != established {
		return 0, nil // a socket that listens at the same port
	}
	return order.Uint32(found[68:]), nil
}
