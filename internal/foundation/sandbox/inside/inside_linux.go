package inside

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		syscall.Exit(run())
	}
}

// mostOrders bounds the orders in bytes: an environment and a list of mounts.
const mostOrders = 32 << 20

// hostRoot is where the machine's files are while the view is built.
const hostRoot = "/.machine"

// A problem is what went wrong, and where.
type problem struct {
	at  string
	err error
}

// run is the life of the first process. The result is its exit code.
func run() int {
	// Neither the pipes nor what this program has inherited is for the process: a folder of the
	// machine that is open leads out of any root.
	if err := unix.CloseRange(ReportFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		report(Failed, number(err), "close files: "+err.Error())
		return 2
	}
	var orders Orders
	for _, stage := range [][]func(*Orders) *problem{{loopback, newRoot, processFiles, devices, mounts, ready}, {temporaryFiles, mounts, texts, sockets, closeRoot, limits, dropPrivileges}} {
		var ok bool
		if orders, ok = readOrders(); !ok {
			return 2
		}
		for _, step := range stage {
			if p := step(&orders); p != nil {
				report(Failed, number(p.err), p.at+": "+p.err.Error())
				return 2
			}
		}
	}
	if orders.NoProcesses {
		report(Ended, 0, "0")
		return 0
	}
	pid, err := syscall.ForkExec(orders.Path, orders.Args, &syscall.ProcAttr{
		Dir: orders.Dir, Env: orders.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		report(Refused, number(err), err.Error())
		return 2
	}
	report(Started, uint32(pid), "")
	for fd := range 3 { // the end of the output is that of the process
		_ = syscall.Close(fd)
	}
	go followOrders()
	return wait(pid)
}

// followOrders makes the sockets that the program asks for that gave the orders, and ends the
// sandbox with it. The kernel does that as well, when the thread ends that started this process.
func followOrders() {
	var b [1]byte
	for {
		n, err := syscall.Read(OrdersFD, b[:])
		switch {
		case n == 0 && err != syscall.EINTR:
			syscall.Exit(128 + int(syscall.SIGKILL))
		case n == 1 && b[0] == DialRequest:
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			_ = pass([]int{fd}, []error{err}) // the program that asked may be gone: then this process ends soon
		}
	}
}

// wait waits for the process, and for all that have lost their parents. What is left when it has
// ended, ends with this process.
func wait(pid int) int {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 2
		case ended == pid:
			report(Ended, uint32(status), itoa(left()))
			if status.Signaled() {
				return 128 + int(status.Signal())
			}
			return status.ExitStatus()
		}
	}
}

// left is how many processes run here beside this one.
func left() int {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	names, _ := dir.Readdirnames(-1) // what was read is counted
	n := 0
	for _, name := range names {
		if pid := atoi(name); pid <= 1 {
			continue
		}
		text, err := os.ReadFile("/proc/" + name + "/stat")
		if err == nil && !zombie(text) {
			n++
		}
	}
	return n
}

// zombie reports whether the text of /proc/PID/stat is that of a process that has ended.
func zombie(stat []byte) bool {
	for i := len(stat) - 1; i >= 0; i-- {
		if stat[i] == ')' {
			return i+2 < len(stat) && (stat[i+2] == 'Z' || stat[i+2] == 'X')
		}
	}
	return true
}

// ready reports that the first orders were carried out.
func ready(*Orders) *problem {
	report(Ready, 0, "")
	return nil
}

// readOrders reads orders. A file that comes with them becomes the standard output and error.
func readOrders() (Orders, bool) {
	var size [4]byte
	with := make([]byte, unix.CmsgSpace(4))
	n, withN, _, _, err := unix.Recvmsg(OrdersFD, size[:], with, unix.MSG_CMSG_CLOEXEC)
	for err == unix.EINTR {
		n, withN, _, _, err = unix.Recvmsg(OrdersFD, size[:], with, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil || n == 0 || !takeOutput(with[:withN]) || !readFull(size[n:]) {
		return Orders{}, false
	}
	return readText(size)
}

// takeOutput makes a file of a control message the standard output and error.
func takeOutput(control []byte) bool {
	if len(control) == 0 {
		return true
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		return false
	}
	files, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(files) != 1 {
		return false
	}
	return unix.Dup3(files[0], 1, 0) == nil && unix.Dup3(files[0], 2, 0) == nil && unix.Close(files[0]) == nil
}

func readText(size [4]byte) (Orders, bool) {
	n := int(size[0])<<24 | int(size[1])<<16 | int(size[2])<<8 | int(size[3])
	if n > mostOrders {
		return Orders{}, false
	}
	text := make([]byte, n)
	if !readFull(text) {
		return Orders{}, false
	}
	return decode(text)
}

func readFull(b []byte) bool {
	for len(b) > 0 {
		n, err := syscall.Read(OrdersFD, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// report writes one report. The reader may be gone: then this process ends soon.
func report(kind byte, n uint32, text string) {
	big := func(n uint32) []byte { return []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)} }
	message := append(append([]byte{kind}, big(n)...), big(uint32(len(text)))...)
	_, _ = syscall.Write(ReportFD, append(message, text...))
}

// number is that of a system error, 0 if it is another one.
func number(err error) uint32 {
	if e, ok := err.(syscall.Errno); ok { //nolint:errorlint // the plain number of a system call
		return uint32(e)
	}
	return 0
}

func failed(at string, err error) *problem {
	if err == nil {
		return nil
	}
	return &problem{at, err}
}

// newRoot makes an empty root, with the machine's at hostRoot. It is first mounted on /tmp, which
// is no longer that of the machine then.
func newRoot(*Orders) *problem {
	const at = "/tmp"
	// Mounts that the machine makes later must not appear here: they would be writable.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return failed("separate the mounts", err)
	}
	if err := unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=32m,nr_inodes=65536"); err != nil {
		return failed("mount a root", err)
	}
	if err := unix.Mkdir(at+hostRoot, 0o700); err != nil {
		return failed("make a folder in the root", err)
	}
	if err := unix.PivotRoot(at, at+hostRoot); err != nil {
		return failed("change the root", err)
	}
	return failed("enter the root", unix.Chdir("/"))
}

// processFiles mounts /proc for the processes of the sandbox. Nothing in it can be changed: with
// the number of root, a process could change settings of the machine there.
func processFiles(o *Orders) *problem {
	if err := unix.Mkdir("/proc", 0o555); err != nil {
		return failed("make /proc", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return failed("mount /proc", err)
	}
	// With another user namespace, a process would have privileges again, though only there.
	if err := write("/proc/sys/user/max_user_namespaces", "0", 0); err != nil {
		return failed("forbid more namespaces", err)
	}
	if o.Processes > 0 && ProcessesOfNamespace() {
		// Beside the limit of the user, which does not bind root. The first process has threads,
		// and the kernel does not use the lowest numbers twice.
		const unused, own = 300, 64
		_ = write("/proc/sys/kernel/pid_max", itoa(o.Processes+unused+own), 0) // the limit of the user remains
	}
	return readOnly("/proc")
}

// ProcessesOfNamespace reports whether the highest number of a process belongs to the namespace,
// since Linux 6.14. Before, it is that of the machine.
func ProcessesOfNamespace() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	release := unix.ByteSliceToString(name.Release[:])
	var version [2]int
	part := 0
	for _, c := range []byte(release) {
		if c == '.' && part == 0 {
			part = 1
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		version[part] = version[part]*10 + int(c-'0')
	}
	return version[0] > 6 || version[0] == 6 && version[1] >= 14
}

// temporaryFiles mounts /tmp and the home of the process, which share one limit.
func temporaryFiles(o *Orders) *problem {
	const both = "/.temporary"
	if err := unix.Mkdir(both, 0o700); err != nil {
		return failed("make a folder", err)
	}
	options := "mode=0755,nr_inodes=" + itoa(max(o.TmpBytes/4096, 1024)) + ",size=" + itoa(o.TmpBytes)
	if err := unix.Mount("tmpfs", both, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return failed("mount /tmp", err)
	}
	for _, dir := range []struct {
		name, at string
		mode     uint32
	}{{"/tmp", "/tmp", 0o1777}, {"/home", o.Home, 0o700}} {
		if err := unix.Mkdir(both+dir.name, dir.mode); err != nil {
			return failed("make "+dir.at, err)
		}
		if err := unix.Chmod(both+dir.name, dir.mode); err != nil { // whatever the mask for new files
			return failed("make "+dir.at, err)
		}
		if err := folder(dir.at); err != nil {
			return failed("make "+dir.at, err)
		}
		if err := unix.Mount(both+dir.name, dir.at, "", unix.MS_BIND, ""); err != nil {
			return failed("mount "+dir.at, err)
		}
	}
	if err := unix.Unmount(both, unix.MNT_DETACH); err != nil {
		return failed("unmount a folder", err)
	}
	_ = unix.Rmdir(both) // empty
	_ = folder("/var")
	return failed("link /var/tmp", unix.Symlink("/tmp", "/var/tmp"))
}

// devices makes /dev with what every program may use.
func devices(*Orders) *problem {
	machine, root, p := roots()
	if p != nil {
		return p
	}
	defer func() { _, _ = unix.Close(machine), unix.Close(root) }() // nothing was written
	for _, dir := range []string{"/dev", "/dev/shm"} {
		if err := folder(dir); err != nil {
			return failed("make "+dir, err)
		}
	}
	for _, name := range []string{"null", "zero", "random", "urandom"} {
		if p := mount(machine, root, Mount{Device, "/dev/" + name, "/dev/" + name}); p != nil {
			return p
		}
	}
	for name, target := range map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"} {
		if err := unix.Symlink("/proc/self/fd"+target, "/dev/"+name); err != nil {
			return failed("link /dev/"+name, err)
		}
	}
	return failed("mount /dev/shm", unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size=64m,nr_inodes=16384"))
}

func mounts(o *Orders) *problem {
	machine, root, p := roots()
	if p != nil {
		return p
	}
	defer func() { _, _ = unix.Close(machine), unix.Close(root) }() // nothing was written
	for _, m := range o.Mounts {
		if p := mount(machine, root, m); p != nil {
			return p
		}
	}
	return nil
}

// roots opens the roots of the machine and of the sandbox.
func roots() (machine, root int, p *problem) {
	machine, err := unix.Open(hostRoot, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, 0, failed("open the machine's files", err)
	}
	root, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(machine) // nothing was written
		return 0, 0, failed("open the root", err)
	}
	return machine, root, nil
}

// mount adds one part to the view. Paths are opened once, without links, and everything else is
// done with the descriptors: what is at a path later does not matter.
func mount(machine, root int, m Mount) *problem {
	at := "mount " + m.Target
	switch m.Kind {
	case Link:
		if err := folder(parent(m.Target)); err != nil {
			return failed(at, err)
		}
		return failed(at, unix.Symlink(m.Source, m.Target))
	case Contents:
		return failed(at, copyFile(machine, m.Source, m.Target))
	case Empty, Masked:
		return failed(at, mountEmpty(root, m))
	case Blank:
		if err := write(blank, "", unix.O_CREAT); err != nil {
			return failed(at, err)
		}
		return failed(at, bind(root, root, Mount{BindRO, blank, m.Target}))
	}
	err := bind(machine, root, m)
	if err == unix.ENOENT && m.Kind == Device { //nolint:errorlint // the plain number of a system call
		return nil // containers need not have all of them
	}
	if err == unix.ELOOP { //nolint:errorlint // the plain number of a system call
		at += ": a symbolic link has replaced it or a folder above it"
	}
	return failed(at, err)
}

// blank is an empty file in the root that hides others, until the root is closed.
const blank = "/.blank"

// bind mounts what is at the source of a mount, beneath the root from.
func bind(from, root int, m Mount) error {
	source, err := beneath(from, m.Source, unix.O_PATH)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(source) }() // nothing was written
	var info unix.Stat_t
	if err := unix.Fstat(source, &info); err != nil {
		return err
	}
	if err := mountPoint(info.Mode&unix.S_IFMT == unix.S_IFDIR, m.Target); err != nil {
		return err
	}
	tree, err := unix.OpenTree(source, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(tree) }() // it is mounted
	attributes := uint64(unix.MOUNT_ATTR_NOSUID)
	if m.Kind != BindRW { // a device can be written to on a read-only mount, but its permissions cannot be changed
		attributes |= unix.MOUNT_ATTR_RDONLY
	}
	if m.Kind != Device {
		attributes |= unix.MOUNT_ATTR_NODEV
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes}); err != nil {
		return err
	}
	target, err := beneath(root, m.Target, unix.O_PATH)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(target) }() // nothing was written
	return unix.MoveMount(tree, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// mountEmpty mounts an empty folder. A masked one cannot be entered; in the other one, mounts follow.
func mountEmpty(root int, m Mount) error {
	if err := mountPoint(true, m.Target); err != nil {
		return err
	}
	target, err := beneath(root, m.Target, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(target) }() // nothing was written
	flags, options := uintptr(unix.MS_NOSUID|unix.MS_NODEV), "mode=0755,size=1m,nr_inodes=4096"
	if m.Kind == Masked {
		flags, options = flags|unix.MS_RDONLY, "mode=0,size=4k,nr_inodes=2"
	}
	return unix.Mount("tmpfs", "/proc/self/fd/"+itoa(target), "tmpfs", flags, options)
}

// beneath opens a path below a folder, in which no part may be a link.
func beneath(root int, path string, flags uint64) (int, error) {
	for len(path) > 0 && path[0] == '/' {
		path = path[1:]
	}
	if path == "" {
		path = "."
	}
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	const attempts = 100 // while others rename folders of the path
	for try := 1; ; try++ {
		fd, err := unix.Openat2(root, path, &how)
		if (err == unix.EAGAIN || err == unix.EINTR) && try < attempts {
			continue
		}
		return fd, err
	}
}

func readOnly(path string) *problem {
	const attributes = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	return failed("make "+path+" read-only", unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_set: attributes}))
}

// closeRoot takes the machine's files out of reach, and makes the root read-only.
func closeRoot(o *Orders) *problem {
	if err := unix.Unmount(hostRoot, unix.MNT_DETACH); err != nil {
		return failed("leave the machine's files", err)
	}
	_ = unix.Rmdir(hostRoot) // empty
	_ = os.Remove(blank)     // what it hides stays hidden
	for _, m := range o.Mounts {
		if m.Kind == Empty {
			if p := readOnly(m.Target); p != nil {
				return p
			}
		}
	}
	return readOnly("/")
}

// limits sets those that all processes inherit.
func limits(o *Orders) *problem {
	for _, limit := range []struct {
		resource int
		n        int
	}{{unix.RLIMIT_NOFILE, o.OpenFiles}, {unix.RLIMIT_NPROC, o.Processes}, {unix.RLIMIT_CORE, -1}} {
		if limit.n == 0 {
			continue
		}
		n := uint64(max(limit.n, 0))
		var now syscall.Rlimit
		if syscall.Getrlimit(limit.resource, &now) == nil && now.Max < n {
			n = now.Max
		}
		// This one, not that of package unix: with it, the Go runtime leaves the limit of files alone.
		if err := syscall.Setrlimit(limit.resource, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			return failed("set limits", err)
		}
	}
	return nil
}

// dropPrivileges gives up those that the user namespace gave, for this thread and what it starts.
// Other threads keep theirs, so the processes of the sandbox must not control this one.
func dropPrivileges(*Orders) *problem {
	_, _ = unix.KeyctlJoinSessionKeyring("")                      // the keys of the user; a kernel may have none
	const locked = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6 | 1<<7 // SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP, SECBIT_NO_CAP_AMBIENT_RAISE, and that they stay
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return failed("drop ambient capabilities", err)
	}
	for c := range uintptr(64) {
		if unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) == unix.EINVAL {
			break // the kernel has no more
		}
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, locked, 0, 0, 0); err != nil {
		return failed("forbid capabilities of root", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if _, _, errno := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0); errno != 0 {
		return failed("drop capabilities", errno)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return failed("forbid new privileges", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return failed("protect the first process", err)
	}
	return nil
}

// folder makes a folder and those above it.
func folder(path string) error {
	if path == "" || path == "/" {
		return nil
	}
	err := unix.Mkdir(path, 0o755)
	if err == unix.ENOENT { //nolint:errorlint // the plain number of a system call
		if err = folder(parent(path)); err == nil {
			err = unix.Mkdir(path, 0o755)
		}
	}
	if err == unix.EEXIST || err == unix.EROFS && exists(path) { //nolint:errorlint // the plain number of a system call
		return nil
	}
	return err
}

func exists(path string) bool { return unix.Access(path, unix.F_OK) == nil }

func parent(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return "/"
}

// mountPoint makes a folder or a file to mount something on, if there is none.
func mountPoint(isFolder bool, target string) error {
	if isFolder {
		return folder(target)
	}
	if err := folder(parent(target)); err != nil {
		return err
	}
	if exists(target) {
		return nil
	}
	return write(target, "", unix.O_CREAT|unix.O_EXCL)
}

// mostCopied bounds files that are copied: settings of the system.
const mostCopied = 2 << 20

// copyFile copies a small file of the machine. One that this user cannot read is left out.
func copyFile(machine int, source, target string) error {
	in, err := beneath(machine, source, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(in) }() // it was only read
	if err := folder(parent(target)); err != nil {
		return err
	}
	out, err := unix.Open(target, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(out) }() // a file in memory
	b := make([]byte, 64<<10)
	for total := 0; total < mostCopied; {
		n, err := unix.Read(in, b)
		if n <= 0 || err != nil {
			return nil
		}
		total += n
		if _, err := unix.Write(out, b[:n]); err != nil {
			return err
		}
	}
	return nil
}

// write writes to a file of the system, or makes one.
func write(path, text string, flags int) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC|flags, 0o644)
	if err != nil {
		return err
	}
	if text != "" {
		_, err = unix.Write(fd, []byte(text))
	}
	if closed := unix.Close(fd); err == nil {
		err = closed
	}
	return err
}
