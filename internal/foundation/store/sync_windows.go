package store

// syncFolder does nothing: NTFS keeps the names of a folder in a journal, and has no call to
// sync it.
func syncFolder(string) error { return nil }
