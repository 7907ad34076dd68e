package files

import "os"

// A Temporary is a file that ends with the process, however that ends: it never has a name where the system
// can do without (Linux), and else loses it at once, or with Close where an open file keeps it (Windows).
type Temporary struct {
	*os.File

	named bool
}

// OpenTemporary opens a new file for reading and writing in a folder, that of the system if dir is empty. The
// pattern is that of [os.CreateTemp], whose errors it returns. Close removes it.
func OpenTemporary(dir, pattern string) (*Temporary, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if file := openNameless(dir); file != nil {
		return &Temporary{File: file}, nil
	}
	file, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return &Temporary{File: file, named: os.Remove(file.Name()) != nil}, nil
}

// Close closes the file, and removes it.
func (t *Temporary) Close() error {
	err := t.File.Close()
	if t.named {
		_ = os.Remove(t.Name())
	}
	return err
}
