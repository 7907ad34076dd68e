//go:build unix

package store

import "os"

// syncFolder makes the names in a folder survive the loss of power.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
