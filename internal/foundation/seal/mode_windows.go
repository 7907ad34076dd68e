package seal

import "io/fs"

// othersMayRead is false: modes say nothing on Windows, where the folder's access list
// guards the file.
func othersMayRead(fs.FileInfo) bool { return false }

// worldMayRead is false, too.
func worldMayRead(fs.FileInfo) bool { return false }
