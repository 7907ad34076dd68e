package inside

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The interface beside loopback. Its address is one of the networks for measurements, which no machine should have.
const (
	tunName    = "tun0"
	tunAddress = "198.18.37.1"
)

// loopback makes the network of this machine alone available, if it is its own.
func loopback(o *Orders) *problem {
	if !o.Network {
		return nil
	}
	return failed("start the loopback interface", control(func(fd int) error { return up(fd, "lo") }))
}

// control runs a function with a socket for settings of the network.
func control(f func(fd int) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // it was only used for settings
	return f(fd)
}

func up(fd int, name string) error {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// address gives an interface an address that no other one of its network has.
func address(fd int, name string, ip [4]byte) error {
	for _, setting := range []struct {
		request uint
		value   [4]byte
	}{{unix.SIOCSIFADDR, ip}, {unix.SIOCSIFNETMASK, [4]byte{255, 255, 255, 255}}} {
		request, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		if err := request.SetInet4Addr(setting.value[:]); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(fd, setting.request, request); err != nil {
			return err
		}
	}
	return nil
}

// texts writes files in place of those of the machine.
func texts(o *Orders) *problem {
	for _, t := range o.Texts {
		if err := replace(t.Path, t.Content); err != nil {
			return failed("write "+t.Path, err)
		}
	}
	return nil
}

// replace mounts a file on another one of the view. That one is left alone: with a mount that the user has granted, it
// can be the machine's.
func replace(path, content string) error {
	source := "/." + path[len(parent(path))+1:] // in the root, which is the sandbox's own
	fd, err := unix.Open(source, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(content))
	if closed := unix.Close(fd); err == nil {
		err = closed
	}
	if err == nil {
		err = mountPoint(false, path)
	}
	if err == nil {
		err = unix.Mount(source, path, "", unix.MS_BIND, "")
	}
	if err == nil {
		err = unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV})
	}
	if err == nil {
		err = os.Remove(source) // the mount keeps it
	}
	return err
}

// sockets makes the sockets of the orders, passes them out, and keeps none. The interface and IPv6 may be
// missing on this machine. Nothing else may.
func sockets(o *Orders) *problem {
	if len(o.Sockets) == 0 {
		return nil
	}
	files, errs := make([]int, len(o.Sockets)), make([]error, len(o.Sockets))
	var unusable *problem
	aliases := 0
	for i, s := range o.Sockets {
		files[i], errs[i] = -1, unix.ECANCELED
		if unusable != nil {
			continue
		}
		switch ip, ok := parseIP(s.IP); {
		case s.Kind == Tun:
			files[i], errs[i] = openTun()
		case s.Kind == TCP6:
			files[i], errs[i] = listen(unix.AF_INET6, unix.SOCK_STREAM, &unix.SockaddrInet6{Port: s.Port, Addr: [16]byte{15: 1}})
		case !ok:
			unusable = failed("listen at "+s.IP, unix.EINVAL)
		default:
			kind := unix.SOCK_STREAM
			if s.Kind == UDP4 {
				kind = unix.SOCK_DGRAM
			}
			at := &unix.SockaddrInet4{Port: s.Port, Addr: ip}
			if files[i], errs[i] = listen(unix.AF_INET, kind, at); errs[i] == unix.EADDRNOTAVAIL { //nolint:errorlint // the plain number of a system call
				aliases++ // the address of another machine
				if errs[i] = control(func(fd int) error { return address(fd, "lo:"+itoa(aliases), ip) }); errs[i] == nil {
					files[i], errs[i] = listen(unix.AF_INET, kind, at)
				}
			}
			unusable = failed("listen at "+s.IP+":"+itoa(s.Port), errs[i])
		}
	}
	err := pass(files, errs)
	if unusable != nil {
		return unusable
	}
	return failed("pass the sockets", err)
}

// listen makes a socket that listens or receives at an address.
func listen(family, kind int, at unix.Sockaddr) (int, error) {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	if family == unix.AF_INET6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	if err == nil {
		err = unix.Bind(fd, at)
	}
	if err == nil && kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, 128)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// pass sends files to the program that gave the orders, and closes them. An error marks one that is missing.
func pass(files []int, errs []error) error {
	marks := make([]byte, len(files))
	var rights []int
	for i, err := range errs {
		if marks[i] = Missing; err == nil {
			marks[i] = Made
			rights = append(rights, files[i])
		}
	}
	var with []byte
	if len(rights) > 0 {
		with = unix.UnixRights(rights...)
	}
	err := unix.Sendmsg(OrdersFD, marks, with, nil, unix.MSG_NOSIGNAL)
	for err == unix.EINTR {
		err = unix.Sendmsg(OrdersFD, marks, with, nil, unix.MSG_NOSIGNAL)
	}
	for _, fd := range rights {
		_ = unix.Close(fd)
	}
	return err
}

// openTun makes the interface to other machines. What it sends is read from the file.
func openTun() (int, error) {
	fd, err := unix.Open(hostRoot+"/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	request, err := unix.NewIfreq(tunName)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err == nil {
		err = control(func(s int) error {
			mtu, err := unix.NewIfreq(tunName)
			if err != nil {
				return err
			}
			mtu.SetUint32(TunMTU)
			if err := unix.IoctlIfreq(s, unix.SIOCSIFMTU, mtu); err != nil {
				return err
			}
			ip, _ := parseIP(tunAddress)
			if err := address(s, tunName, ip); err != nil {
				return err
			}
			if err := up(s, tunName); err != nil {
				return err
			}
			return defaultRoute(s, tunName)
		})
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// defaultRoute leads to all addresses through an interface.
func defaultRoute(fd int, name string) error {
	device, err := unix.ByteSliceFromString(name)
	if err != nil {
		return err
	}
	every := [16]byte{0: unix.AF_INET} // low byte first, as on all systems of releases
	route := struct {                  // struct rtentry
		_                    uintptr
		dst, gateway, mask   [16]byte
		flags                uint16
		_                    int16
		_                    uintptr
		_                    uintptr
		metric               int16
		device               *byte
		mtu, window          uintptr
		initialRoundTripTime uint16
	}{dst: every, gateway: every, mask: every, flags: unix.RTF_UP, device: &device[0]}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), unix.SIOCADDRT, uintptr(unsafe.Pointer(&route))); errno != 0 {
		return errno
	}
	return nil
}

// parseIP reads an IPv4 address.
func parseIP(text string) (ip [4]byte, ok bool) {
	part, digits := 0, 0
	for _, c := range []byte(text) {
		switch {
		case c == '.' && digits > 0 && part < 3:
			part, digits = part+1, 0
		case c >= '0' && c <= '9' && digits < 3 && int(ip[part])*10+int(c-'0') <= 255:
			ip[part], digits = ip[part]*10+c-'0', digits+1
		default:
			return ip, false
		}
	}
	return ip, part == 3 && digits > 0
}
