package lambda_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A machine is where TestNetwork runs in a network of its own, which has the address of a cloud's metadata and one of
// other machines.
const (
	machineUser = "TEST_MACHINE_USER" // who runs the test there
	machineTun  = "TEST_MACHINE_TUN"  // there is a device for interfaces
	metadataIP  = "169.254.169.254"
	machineIP   = "192.0.2.1"
)

func init() { handlers["machine"] = func() { fmt.Fprintln(os.Stderr, beMachine()); os.Exit(1) } }

// TestNetworkOfAMachine runs TestNetwork and TestNetworksEnd on a machine with an address of metadata, as root and as
// a user.
func TestNetworkOfAMachine(t *testing.T) {
	confined(t, "")
	if os.Getenv(machineUser) != "" {
		t.Skip("SKIPPED: this is the machine")
	}
	users := []int{os.Getuid()}
	if os.Getuid() == 0 {
		users = append(users, 65534)
	}
	for _, uid := range users {
		t.Run("user "+strconv.Itoa(uid), func(t *testing.T) {
			dir, err := os.MkdirTemp("", "machine") // that of the test is closed to other users
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			program := filepath.Join(dir, "test")
			if err := errors.Join(copyProgram(program), os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o700), os.Chown(filepath.Join(dir, "tmp"), uid, -1)); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program)
			cmd.Env = append(os.Environ(), handlerVar+"=machine", fmt.Sprintf("%s=%d", machineUser, uid), "TMPDIR="+filepath.Join(dir, "tmp"), "HOME="+filepath.Join(dir, "tmp"), "FORMWORK_TORTURE=")
			cmd.Dir = dir
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
			if os.Getuid() != 0 {
				cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
				cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
				cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
				cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN}
			}
			out, err := cmd.CombinedOutput()
			if err != nil && cmd.ProcessState == nil {
				t.Skip("SKIPPED: this user makes no networks: ", err)
			}
			for _, test := range []string{"TestNetwork", "TestNetworksEnd"} {
				if !strings.Contains(string(out), "--- PASS: "+test+" ") {
					t.Errorf("%s did not pass", test)
				}
			}
			if err != nil || t.Failed() {
				t.Errorf("%v\n%s", err, out)
			}
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "interface") {
					t.Log(strings.TrimSpace(line)) // the network open was not tried
				}
			}
		})
	}
}

func copyProgram(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}

// beMachine gives this process its addresses and a device for interfaces, and becomes the test. It returns why it cannot.
func beMachine() error {
	uid, err := strconv.Atoi(os.Getenv(machineUser))
	if err != nil {
		return err
	}
	if err := addresses(); err != nil {
		return fmt.Errorf("addresses: %w", err)
	}
	// Any user may serve at port 80, as the metadata service of a cloud does.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0); err != nil {
		return err
	}
	if os.Getuid() == 0 { // else the one that there is must do
		err = errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("tmpfs", "/dev/net", "tmpfs", 0, "mode=755"),
			unix.Mknod("/dev/net/tun", unix.S_IFCHR|0o666, int(unix.Mkdev(10, 200))), os.Chmod("/dev/net/tun", 0o666))
		if err == nil {
			err = os.Setenv(machineTun, "yes")
		}
		if err != nil {
			fmt.Println("no device for interfaces:", err)
		}
	}
	if uid != os.Getuid() {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setresgid(uid, uid, uid), syscall.Setresuid(uid, uid, uid)); err != nil {
			return err
		}
	}
	if err := os.Unsetenv(handlerVar); err != nil {
		return err
	}
	return syscall.Exec(os.Args[0], []string{os.Args[0], "-test.v", "-test.run=^(TestNetwork|TestNetworksEnd)$"}, os.Environ())
}

// addresses gives the loopback interface those of the machine.
func addresses() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	up, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, up); err != nil {
		return err
	}
	for name, ip := range map[string][]byte{"lo:0": {169, 254, 169, 254}, "lo:1": {192, 0, 2, 1}} {
		for _, setting := range []struct {
			request uint
			value   []byte
		}{{unix.SIOCSIFADDR, ip}, {unix.SIOCSIFNETMASK, []byte{255, 255, 255, 255}}} {
			request, err := unix.NewIfreq(name)
			if err == nil {
				err = request.SetInet4Addr(setting.value)
			}
			if err == nil {
				err = unix.IoctlIfreq(fd, setting.request, request)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
