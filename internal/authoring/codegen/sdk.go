package codegen

import (
	_ "embed"
	"strings"
)

//go:generate go test -run ^TestSDKArchiveIsCurrent$ -update .

// sdkArchive holds the SDK for handlers, without its tests, as "-- name --" lines with the
// file below each (the txtar format).
//
//go:embed sdk.txtar
var sdkArchive string

// sdkCopy is the SDK as the files of .formwork/sdk. Each is marked as generated, so that the
// next "cfn generate" may replace it.
func sdkCopy() []File {
	var files []File
	for part := range strings.SplitSeq("\n"+sdkArchive, "\n-- ") {
		name, data, found := strings.Cut(part, " --\n")
		if !found {
			continue
		}
		if data != "" && !strings.HasSuffix(data, "\n") {
			data += "\n"
		}
		files = append(files, File{Path: ".formwork/sdk/" + name, Data: []byte("// " + marker + "\n\n" + data), Mode: Generated})
	}
	return files
}
