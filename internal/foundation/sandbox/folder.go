package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// A Folder is where one process keeps its temporary files and its home. No other process has it.
type Folder struct {
	Tmp, Home string

	parent *programFolder
	name   string
}

// A programFolder is the folder of this program with those of its processes. The file lock in it is locked
// as long as the program runs.
type programFolder struct {
	dir  string
	lock *os.File
	uses int
}

const (
	folderPrefix = "program-"
	lockName     = "lock"
)

// unlocked is how old a program folder without a lock must be before it is removed: its program has not
// locked it yet, or was killed before it could.
const unlocked = time.Hour

var (
	folders    = map[string]*programFolder{} // by base
	foldersMu  sync.Mutex
	folderName = lazyregexp.New(`^` + folderPrefix + `[0-9]+$`)
)

// Base is where folders of processes are by default: below the folder for temporary files, and
// readable only for this user.
func Base() string { return filepath.Join(os.TempDir(), "formwork-"+user()) }

// NewFolder makes a folder below base; "" is Base. The first one of this program also removes
// what programs that were killed have left there. Remove it when the process has ended.
func NewFolder(base string) (*Folder, error) {
	if base == "" {
		base = Base()
	}
	foldersMu.Lock()
	defer foldersMu.Unlock()
	s := folders[base]
	if s == nil {
		var err error
		if s, err = newProgramFolder(base); err != nil {
			return nil, fmt.Errorf("make a folder for the process: %w", err)
		}
		folders[base] = s
	}
	dir, err := os.MkdirTemp(s.dir, "")
	if err == nil {
		f := &Folder{Tmp: filepath.Join(dir, "tmp"), Home: filepath.Join(dir, "home"), parent: s, name: filepath.Base(dir)}
		if err = errors.Join(os.Mkdir(f.Tmp, 0o700), os.Mkdir(f.Home, 0o700)); err == nil {
			s.uses++
			return f, nil
		}
		err = errors.Join(err, files.RemoveTemp(dir))
	}
	if s.uses == 0 {
		s.close(base)
	}
	return nil, fmt.Errorf("make a folder for the process: %w", err)
}

// Remove removes the folder and nothing else, whatever the process has done with it.
func (f *Folder) Remove() error {
	err := files.RemoveAll(f.parent.dir, f.name)
	foldersMu.Lock()
	defer foldersMu.Unlock()
	if f.parent.uses--; f.parent.uses == 0 {
		f.parent.close(filepath.Dir(f.parent.dir))
	}
	return err
}

// Environ is the variables that make the folder known to programs, as NAME=value.
func (f *Folder) Environ() []string {
	return environ(f.Tmp, f.Home)
}

// environ is the variables for two folders. The Java runtime knows only properties: the library
// of AWS empties java.io.tmpdir, and user.home is not taken from HOME.
func environ(tmp, home string) []string {
	list := []string{
		"TMPDIR=" + tmp, "TMP=" + tmp, "TEMP=" + tmp, "HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
		JavaOptions + "=" + JavaProperty("java.io.tmpdir", tmp) + " " + JavaProperty("user.home", home),
	}
	if runtime.GOOS == "windows" {
		list = append(list, "USERPROFILE="+home)
	}
	return list
}

// JavaOptions is the variable, as NAME=value, that makes the folder the one for temporary files of Java
// runtimes, besides other options. HOME stays: a tool of the user has its settings there.
func (f *Folder) JavaOptions(others string) string {
	return JavaOptions + "=" + strings.TrimSpace(others+" "+JavaProperty("java.io.tmpdir", f.Tmp))
}

// JavaOptions is the variable with options that every Java runtime takes.
const JavaOptions = "JAVA_TOOL_OPTIONS"

// JavaProperty is an option of the Java runtime, which splits the variable at spaces that are not
// quoted.
func JavaProperty(name, value string) string {
	option := "-D" + name + "=" + value
	if !strings.ContainsAny(option, " \t'\"") {
		return option
	}
	if strings.Contains(option, `"`) {
		return "'" + option + "'"
	}
	return `"` + option + `"`
}

// newProgramFolder makes the folder of this program and locks it.
func newProgramFolder(base string) (*programFolder, error) {
	for range 10 { // another program may remove the base meanwhile, because it is empty
		if err := ownFolder(base); err != nil {
			return nil, err
		}
		sweep(base)
		dir, err := os.MkdirTemp(base, folderPrefix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lock, err := lockProgramFolder(dir)
		if err != nil {
			return nil, errors.Join(err, files.RemoveTemp(dir))
		}
		return &programFolder{dir: dir, lock: lock}, nil
	}
	return nil, fmt.Errorf("%s does not last", base)
}

// lockProgramFolder creates the lock, which others see only when it is locked.
func lockProgramFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	file, err := createRenamable(path + ".new")
	if err != nil {
		return nil, err
	}
	if !lock(file) {
		_ = file.Close() // nothing was written
		return nil, fmt.Errorf("cannot lock %s", path)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return file, nil
}

// close removes an empty program folder, and the base if it is empty then. The caller holds foldersMu.
func (s *programFolder) close(base string) {
	delete(folders, base)
	_ = s.lock.Close()          // before the removal: Windows does not remove open files
	_ = files.RemoveTemp(s.dir) // the next program removes what is left
	_ = os.Remove(base)         // fails if it is not empty
}

// ownFolder makes the folder for this user alone. One that somebody else has made is refused:
// names below the folder for temporary files are nobody's.
func ownFolder(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() || !owned(info) {
		return &fs.PathError{Op: "use", Path: path, Err: errors.New("it does not belong to this user: remove it, or set TMPDIR to another folder")}
	}
	return nil
}

// sweep removes what programs have left that were killed. A program folder that cannot be removed stays.
func sweep(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if entry.IsDir() && folderName.MatchString(entry.Name()) && abandoned(filepath.Join(base, entry.Name())) {
			_ = files.RemoveAll(base, entry.Name()) // tried again by the next program
		}
	}
}

// abandoned reports whether the program of a program folder has ended.
func abandoned(dir string) bool {
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if err == nil {
		free := lock(file)
		_ = file.Close() // nothing was written
		return free
	}
	info, statErr := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist) && statErr == nil && time.Since(info.ModTime()) > unlocked
}

// user is the number of this user for names of files, "0" on systems without numbers.
func user() string { return strconv.Itoa(max(os.Getuid(), 0)) }
