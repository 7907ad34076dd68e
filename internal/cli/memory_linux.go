package cli

import "os"

func machineMemory() int64 { return linuxMemory(os.DirFS("/")) }
