package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox/inside"
)

const tunDevice = "/dev/net/tun"

// hasTun reports whether this user can make interfaces that lead to other machines.
var hasTun = sync.OnceValue(func() bool {
	file, err := os.OpenFile(tunDevice, os.O_RDWR, 0)
	return err == nil && file.Close() == nil
})

// receive reads a message of the first process with files, nil for those that are missing.
func (f *first) receive(n int) ([]*os.File, error) {
	if err := f.order.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	raw, err := f.order.SyscallConn()
	if err != nil {
		return nil, err
	}
	marks, with := make([]byte, n+1), make([]byte, unix.CmsgSpace(4*n))
	var got, gotWith, flags int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		for failed = unix.EINTR; failed == unix.EINTR; {
			got, gotWith, flags, _, failed = unix.Recvmsg(int(fd), marks, with, unix.MSG_CMSG_CLOEXEC)
		}
		return failed != unix.EAGAIN
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("receive sockets: %w", err)
	}
	received, err := rights(with[:gotWith])
	made := 0
	for _, mark := range marks[:got] {
		if mark == inside.Made {
			made++
		}
	}
	if err != nil || flags&unix.MSG_CTRUNC != 0 || got != n || made != len(received) {
		for _, fd := range received {
			_ = unix.Close(fd) // nobody uses it
		}
		return nil, errors.Join(errors.New("receive sockets: the message is incomplete"), err)
	}
	files := make([]*os.File, n)
	for i, mark := range marks[:n] {
		if mark == inside.Made {
			files[i] = os.NewFile(uintptr(received[0]), "socket")
			received = received[1:]
		}
	}
	return files, nil
}

// rights are the files in control messages.
func rights(with []byte) (files []int, err error) {
	messages, err := unix.ParseSocketControlMessage(with)
	for i := range messages {
		more, parseErr := unix.ParseUnixRights(&messages[i])
		files, err = append(files, more...), errors.Join(err, parseErr)
	}
	return files, err
}

// Dial connects to a port of a process in the sandbox.
func (s *Session) Dial(ctx context.Context, port int) (net.Conn, error) {
	file, err := s.newSocket()
	if err != nil {
		return nil, fmt.Errorf("connect to port %d of the sandbox: %w", port, err)
	}
	defer func() { _ = file.Close() }() // the connection has a copy
	if err := connect(ctx, file, port); err != nil {
		return nil, fmt.Errorf("connect to port %d of the sandbox: %w", port, err)
	}
	return net.FileConn(file)
}

// newSocket has the first process make a socket.
func (s *Session) newSocket() (*os.File, error) {
	s.dialing.Lock()
	defer s.dialing.Unlock()
	if _, err := s.first.order.Write([]byte{inside.DialRequest}); err != nil {
		return nil, err
	}
	files, err := s.first.receive(1)
	if err != nil {
		return nil, err
	}
	if files[0] == nil {
		return nil, errors.New("the sandbox makes no socket")
	}
	return files[0], nil
}

// connect connects a socket to a port of loopback.
func connect(ctx context.Context, file *os.File, port int) error {
	if until, ok := ctx.Deadline(); ok {
		if err := file.SetWriteDeadline(until); err != nil {
			return err
		}
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	begun := false
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		if !begun {
			begun = true
			failed = unix.Connect(int(fd), &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
			return failed != unix.EINPROGRESS && failed != unix.EINTR //nolint:errorlint // the plain number of a system call
		}
		var number int
		if number, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR); failed == nil && number != 0 {
			failed = syscall.Errno(number)
		}
		if failed != nil {
			return true
		}
		_, unconnected := unix.Getpeername(int(fd))
		return unconnected == nil
	})
	return errors.Join(err, failed)
}
