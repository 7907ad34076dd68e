package local

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseProgram gives the pages of this program's file back that are in memory: code and constants,
// which the system reads again when they are needed, mostly from its cache of the file. Pages
// that are not as in the file stay.
func releaseProgram() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	var found mapping
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if next, ok := mappingOf(lines.Text()); ok {
			found = next
			continue
		}
		if found.file != program || found.writable || strings.Join(strings.Fields(lines.Text()), " ") != "Anonymous: 0 kB" {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, found.start, found.end-found.start, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("release the pages of %s: %w", program, errno)
		}
	}
	return lines.Err()
}

// A mapping is a part of the memory of this process.
type mapping struct {
	start, end uintptr
	writable   bool
	file       string
}

// mappingOf reads the first line of a mapping in /proc/PID/smaps: addresses, rights, offset, device, inode,
// and the name of the file.
func mappingOf(line string) (m mapping, ok bool) {
	var rights, offset, device, inode string
	if n, _ := fmt.Sscanf(line, "%x-%x %s %s %s %s", &m.start, &m.end, &rights, &offset, &device, &inode); n < 6 || len(rights) != 4 {
		return m, false
	}
	m.writable = strings.ContainsAny(rights, "ws") // a shared one is not ours alone
	if _, name, found := strings.Cut(line, " "+inode+" "); found {
		m.file = strings.TrimLeft(name, " ")
	}
	return m, true
}
