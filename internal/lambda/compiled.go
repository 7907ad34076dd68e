package lambda

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"
)

// compiledPath is where the runtime for Python sends the modules that it has compiled, in the Runtime API of this
// program. The function itself only reads the folder with them, which so has a size that it cannot exceed.
const compiledPath = "/formwork/compiled"

// Limits of Config.Cache. A module that does not fit is compiled at each start.
const (
	mostCompiledBytes = 128 << 20
	mostCompiledFiles = 20_000
	mostCompiledPath  = 1024
)

// errFull reports that a folder has as many compiled modules as it may have.
var errFull = errors.New("the folder for compiled modules is full")

// compiling is held while the size of a folder is known.
var compiling sync.Mutex

// serveCompiled stores compiled modules: for each of them a line with the lengths of its path and of itself, its
// path below the folder, and itself.
func (p *process) serveCompiled(w http.ResponseWriter, r *http.Request) {
	body := bufio.NewReader(http.MaxBytesReader(w, r.Body, 2*mostCompiledBytes))
	if err := keepCompiled(p.config.Cache, body); err != nil {
		p.config.Logger.Debug("compiled modules are not kept", "function", p.config.Name, "error", err)
		refuse(w, http.StatusInsufficientStorage, "NotKept", err.Error())
		return
	}
	accepted(w)
}

// keepCompiled stores the modules of a body in a folder, each whole or not at all.
func keepCompiled(dir string, body *bufio.Reader) error {
	compiling.Lock()
	defer compiling.Unlock()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // files are closed by themselves
	size, count, err := measure(root)
	if err != nil {
		return err
	}
	for {
		name, data, err := readCompiled(body)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if info, err := root.Lstat(name); err == nil {
			size, count = size-info.Size(), count-1
		}
		if size, count = size+int64(len(data)), count+1; size > mostCompiledBytes || count > mostCompiledFiles {
			return errFull
		}
		if err := place(root, name, data); err != nil {
			return err
		}
	}
}

// readCompiled reads one module; io.EOF is the end of all.
func readCompiled(body *bufio.Reader) (name string, data []byte, err error) {
	line, err := body.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return "", nil, io.EOF
	}
	var nameSize, dataSize int
	if _, scanErr := fmt.Sscanf(string(line), "%d %d\n", &nameSize, &dataSize); err != nil || scanErr != nil ||
		nameSize < 1 || nameSize > mostCompiledPath || dataSize < 0 || dataSize > mostCompiledBytes {
		return "", nil, errors.New("expected the lengths of a path and a module")
	}
	text := make([]byte, nameSize)
	if _, err := io.ReadFull(body, text); err != nil {
		return "", nil, errors.New("the path of a module is incomplete")
	}
	name = string(text)
	if !filepath.IsLocal(name) || path.Ext(name) != ".pyc" {
		return "", nil, fmt.Errorf("%q is not the path of a compiled module", name)
	}
	// As it comes: a length alone takes no memory.
	data, err = io.ReadAll(io.LimitReader(body, int64(dataSize)))
	if err == nil && len(data) < dataSize {
		err = errors.New("a module is incomplete")
	}
	return filepath.Clean(name), data, err
}

// measure returns the size of all files below a folder, and how many files and folders there are.
func measure(root *os.Root) (size int64, count int, err error) {
	err = fs.WalkDir(root.FS(), ".", func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if count++; entry.Type().IsRegular() {
			info, err := entry.Info()
			if err != nil {
				return err
			}
			size += info.Size()
		}
		if count > 2*mostCompiledFiles {
			return errFull
		}
		return nil
	})
	return size, count, err
}

// place writes a file by rename. Another process may read it meanwhile.
func place(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	temporary := name + "." + strconv.Itoa(os.Getpid())
	err := root.WriteFile(temporary, data, 0o644)
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		err = errors.Join(err, root.Remove(temporary))
	}
	return err
}
