package bundle_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/running/bundle"
)

const (
	settings = `{"artifact_type": "RESOURCE", "typeName": "Acme::Test::Thing", "language": "go", "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0"}}`

	thing = `{
  "typeName": "Acme::Test::Thing", "description": "A thing", "additionalProperties": false,
  "properties": {"Name": {"type": "string"}},
  "primaryIdentifier": ["/properties/Name"], "createOnlyProperties": ["/properties/Name"],
  "tagging": {"taggable": false}, "handlers": {"create": {"permissions": []}}
}`
)

// An item is one entry of a package under test.
type item struct {
	name, text string
	change     func(*zip.FileHeader) // before it is written
}

func pack(t testing.TB, items ...item) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, i := range items {
		header := &zip.FileHeader{Name: i.name, Method: zip.Deflate}
		if i.change != nil {
			i.change(header)
		}
		f, err := w.CreateHeader(header)
		if err == nil && !strings.HasSuffix(i.name, "/") {
			_, err = f.Write([]byte(i.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// raw writes an entry whose headers say what they want.
func raw(name string, data []byte, change func(*zip.FileHeader)) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	header := &zip.FileHeader{Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(data), CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data))}
	change(header)
	f, err := w.CreateRaw(header)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	return out.Bytes()
}

func deflated(data []byte) []byte {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestCompression)
	w.Write(data)
	w.Close()
	return out.Bytes()
}

// whole are the entries of a package without faults.
func whole(t testing.TB) []item {
	return []item{
		{name: ".rpdk-config", text: settings},
		{name: "schema.json", text: thing},
		{name: "ResourceProvider.zip", text: string(pack(t, item{name: "bootstrap", text: "#!/bin/sh\n"}))},
	}
}

// with replaces entries of a package without faults, or adds to them; one without text is
// left out.
func with(t testing.TB, changes ...item) []byte {
	t.Helper()
	items := whole(t)
	for _, c := range changes {
		at := slices.IndexFunc(items, func(i item) bool { return i.name == c.name })
		switch {
		case at >= 0 && c.text == "":
			items = slices.Delete(items, at, at+1)
		case at >= 0:
			items[at] = c
		default:
			items = append(items, c)
		}
	}
	return pack(t, items...)
}

func read(t testing.TB, data []byte, config bundle.Config) (*bundle.Bundle, diag.List) {
	t.Helper()
	b, problems, err := bundle.Read(t.Context(), bytes.NewReader(data), int64(len(data)), config)
	if err != nil {
		t.Fatal(err)
	}
	if (b == nil) != problems.HasErrors() {
		t.Fatalf("bundle %v with problems %v", b, problems)
	}
	return b, problems
}

func line(p diag.Problem) string { return fmt.Sprintf("%s %s %s", p.At, p.ID, p.Message) }

// TestRefuses reads packages with one fault each, and wants it named with its place.
func TestRefuses(t *testing.T) {
	link := func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }
	code := func(items ...item) item {
		return item{name: "ResourceProvider.zip", text: string(pack(t, items...))}
	}
	long := strings.Repeat("d/", 40) + "x"
	for name, test := range map[string]struct {
		data   []byte
		config bundle.Config
		want   string // the beginning of the first error
	}{
		"empty":          {nil, bundle.Config{}, "package.zip package/not-zip the file is empty"},
		"text":           {[]byte("hello"), bundle.Config{}, "package.zip package/not-zip the file is not a zip file"},
		"gzip":           {append([]byte{0x1f, 0x8b}, make([]byte, 100)...), bundle.Config{}, "package.zip package/not-zip the file is compressed with gzip"},
		"cut off":        {with(t)[:400], bundle.Config{}, "package.zip package/truncated the zip file is cut off"},
		"cut at the end": {with(t)[:len(with(t))-1], bundle.Config{}, "package.zip package/truncated the zip file is cut off"},
		"cut in front":   {with(t)[10:], bundle.Config{}, "package.zip package/damaged the directory of the archive lies outside of it"},
		"prefix":         {append([]byte("#!/bin/sh\n"), with(t)...), bundle.Config{}, "package.zip package/damaged 10 bytes stand before the archive"},
		"label":          {nil, bundle.Config{Label: "s3://b/k.zip"}, "s3://b/k.zip package/not-zip"},

		"absolute":      {with(t, item{name: "/etc/passwd", text: "x"}), bundle.Config{}, "package.zip!//etc/passwd package/name the name of the entry is an absolute path"},
		"parent":        {with(t, item{name: "a/../../x", text: "x"}), bundle.Config{}, `package.zip!/a/../../x package/name the name of the entry has empty parts or such as "." and ".."`},
		"dot":           {with(t, item{name: "./x", text: "x"}), bundle.Config{}, "package.zip!/./x package/name"},
		"two slashes":   {with(t, item{name: "a//x", text: "x"}), bundle.Config{}, "package.zip!/a//x package/name"},
		"backslash":     {with(t, item{name: `..\x`, text: "x"}), bundle.Config{}, `package.zip!/..\x package/name the name of the entry has a backslash`},
		"drive":         {with(t, item{name: "C:/x", text: "x"}), bundle.Config{}, "package.zip!/C:/x package/name the name of the entry is an absolute path"},
		"control":       {with(t, item{name: "a\x1b[2Jb", text: "x"}), bundle.Config{}, `package.zip!/"a\x1b[2Jb" package/name the name of the entry has control characters`},
		"nul":           {with(t, item{name: "schema.json\x00.txt", text: "x"}), bundle.Config{}, `package.zip!/"schema.json\x00.txt" package/name`},
		"not UTF-8":     {with(t, item{name: "caf\x82", text: "x"}), bundle.Config{}, `package.zip!/"caf\x82" package/name the name of the entry is not in UTF-8`},
		"deep":          {with(t, item{name: long, text: "x"}), bundle.Config{}, "package.zip!/" + long + " package/name the entry lies more than 32 folders deep"},
		"long part":     {with(t, item{name: strings.Repeat("n", 256), text: "x"}), bundle.Config{}, "package.zip!/" + strings.Repeat("n", 256) + " package/name the name of the entry has a part of 256 bytes"},
		"long name":     {with(t, item{name: strings.Repeat(strings.Repeat("n", 100)+"/", 31) + "x", text: "x"}), bundle.Config{}, `package.zip!/"` + strings.Repeat("n", 80) + `…" package/name the name of the entry has 3132 bytes, more than the limit of 3072`},
		"no name":       {with(t, item{name: "", text: "x"}), bundle.Config{}, "package.zip!/ package/name the name of the entry is empty"},
		"nested parent": {with(t, code(item{name: "../x", text: "x"})), bundle.Config{}, "package.zip!/ResourceProvider.zip!/../x package/name"},

		"twice":            {pack(t, append(whole(t), whole(t)[1])...), bundle.Config{}, `package.zip!/schema.json package/duplicate the archive has this file twice: the other one is "schema.json"`},
		"twice by case":    {with(t, item{name: "Schema.JSON", text: "{}"}), bundle.Config{}, `package.zip!/Schema.JSON package/duplicate the archive has this file twice: the other one is "schema.json"`},
		"twice by accents": {with(t, item{name: "src/é", text: "x"}, item{name: "src/e\u0301", text: "x"}), bundle.Config{}, "package.zip!/src/e\u0301 package/duplicate"},
		"file and folder":  {with(t, item{name: "a", text: "x"}, item{name: "A/b", text: "x"}), bundle.Config{}, `package.zip!/A/b package/duplicate "a" is both a file and a folder`},
		"folder and file":  {with(t, item{name: "a/b", text: "x"}, item{name: "A", text: "x"}), bundle.Config{}, `package.zip!/A package/duplicate this file is also a folder, in which "a/b" is`},

		"link":        {with(t, item{name: "l", text: "/etc/passwd", change: link}), bundle.Config{}, "package.zip!/l package/special-file the entry is a symbolic link"},
		"nested link": {with(t, code(item{name: "l", text: "/etc", change: link})), bundle.Config{}, "package.zip!/ResourceProvider.zip!/l package/special-file the entry is a symbolic link"},
		"device":      {with(t, item{name: "d", text: "x", change: func(h *zip.FileHeader) { h.SetMode(fs.ModeDevice) }}), bundle.Config{}, "package.zip!/d package/special-file the entry is neither a file nor a folder"},
		"fifo":        {with(t, item{name: "d", text: "x", change: func(h *zip.FileHeader) { h.SetMode(fs.ModeNamedPipe) }}), bundle.Config{}, "package.zip!/d package/special-file"},
		"encrypted":   {with(t, item{name: "e", text: "x", change: func(h *zip.FileHeader) { h.Flags |= 1 }}), bundle.Config{}, "package.zip!/e package/encrypted"},
		"method":      {raw("b", []byte("BZh"), func(h *zip.FileHeader) { h.Method = 12 }), bundle.Config{}, "package.zip!/b package/method the entry is compressed with method 12"},

		"checksum":          {raw("b", []byte("data"), func(h *zip.FileHeader) { h.CRC32++ }), bundle.Config{}, "package.zip!/b package/damaged the contents of the entry are not those that were packed"},
		"less than said":    {raw("b", deflated([]byte("data")), func(h *zip.FileHeader) { h.Method, h.UncompressedSize64 = zip.Deflate, 9 }), bundle.Config{}, "package.zip!/b package/damaged the entry has fewer bytes"},
		"more than said":    {raw("b", deflated(make([]byte, 1<<20)), func(h *zip.FileHeader) { h.Method, h.UncompressedSize64 = zip.Deflate, 9 }), bundle.Config{}, "package.zip!/b package/damaged the entry has more than the 9 bytes"},
		"stored lie":        {raw("b", []byte("data"), func(h *zip.FileHeader) { h.UncompressedSize64 = 9 }), bundle.Config{}, "package.zip!/b package/damaged the entry is stored as it is, and yet has 4 bytes for 9"},
		"not deflated":      {raw("b", []byte("\xff\xff\xff\xff"), func(h *zip.FileHeader) { h.Method = zip.Deflate }), bundle.Config{}, "package.zip!/b package/damaged the compressed data of the entry are damaged"},
		"descriptor lie":    {patched(with(t), descriptor, 12, 77), bundle.Config{}, "package.zip!/.rpdk-config package/damaged the entry and the directory of the archive disagree about its size"},
		"other name inside": {patched(with(t), local, 30, 'x'), bundle.Config{}, "package.zip!/.rpdk-config package/damaged the entry and the directory of the archive disagree about its name"},
		"other method":      {patched(with(t), local, 8, 0), bundle.Config{}, "package.zip!/.rpdk-config package/damaged the entry and the directory of the archive disagree about its name or its kind"},
		"no local header":   {patched(with(t), local, 0, 'Q'), bundle.Config{}, "package.zip!/.rpdk-config package/damaged the entry lies outside of the archive"},
		"overlap":           {overlapping(), bundle.Config{}, "package.zip!/a package/overlap entries of the archive overlap"},
		"volumes":           {patched(with(t), endRecord, 4, 1), bundle.Config{}, "package.zip package/damaged the archive is one of several volumes"},
		"count":             {patched(with(t), endRecord, 8, 2, 0, 2, 0), bundle.Config{}, "package.zip package/damaged the directory of the archive has more than its 2 entries"},
		"count too high":    {patched(with(t), endRecord, 8, 4, 0, 4, 0), bundle.Config{}, "package.zip package/damaged the directory of the archive has 181 bytes, which cannot be for 4 entries"},

		"packed":    {with(t), bundle.Config{Limits: bundle.Limits{Packed: 100}}, "package.zip package/too-large the package has"},
		"unpacked":  {with(t), bundle.Config{Limits: bundle.Limits{Unpacked: 600}}, "package.zip package/too-large the package unpacks to more than the limit"},
		"nested":    {with(t, code(item{name: "bootstrap", text: strings.Repeat("ab", 500)})), bundle.Config{Limits: bundle.Limits{Unpacked: 1500}}, "package.zip!/ResourceProvider.zip package/too-large"},
		"entries":   {with(t), bundle.Config{Limits: bundle.Limits{Entries: 2}}, "package.zip package/too-many-entries the archive has 3 entries, more than the limit of 2"},
		"entries 2": {with(t, code(item{name: "bootstrap", text: "x"}, item{name: "b", text: "x"})), bundle.Config{Limits: bundle.Limits{Entries: 4}}, "package.zip!/ResourceProvider.zip package/too-many-entries the archive has 2 entries, more than the limit of 1"},
		"ratio":     {with(t, item{name: "zeros", text: strings.Repeat("\x00", 8<<20)}), bundle.Config{}, "package.zip package/ratio the archive unpacks to"},
		"ratio 2":   {with(t, code(item{name: "bootstrap", text: strings.Repeat("\x00", 8<<20)})), bundle.Config{}, "package.zip!/ResourceProvider.zip package/ratio"},

		"no settings":    {with(t, item{name: ".rpdk-config"}), bundle.Config{}, "package.zip package/missing-file there is no .rpdk-config"},
		"no schema":      {with(t, item{name: "schema.json"}), bundle.Config{}, "package.zip package/missing-file there is no schema.json"},
		"no code":        {with(t, item{name: "ResourceProvider.zip"}), bundle.Config{}, "package.zip package/missing-file there is no ResourceProvider.zip"},
		"two codes":      {with(t, item{name: "handler.zip", text: "x"}), bundle.Config{}, "package.zip package/handler-code the package has several archives"},
		"code no zip":    {with(t, item{name: "ResourceProvider.zip", text: "x"}), bundle.Config{}, "package.zip!/ResourceProvider.zip package/not-zip"},
		"code empty":     {with(t, code()), bundle.Config{}, "package.zip!/ResourceProvider.zip package/handler-code the archive with the code of the handlers is empty"},
		"no bootstrap":   {with(t, code(item{name: "bin/bootstrap", text: "x"})), bundle.Config{}, "package.zip!/ResourceProvider.zip package/handler-code bootstrap is missing; the runtime provided.al2023 runs it"},
		"settings":       {with(t, item{name: ".rpdk-config", text: `{"runtime": 3, "entrypoint": "x"}`}), bundle.Config{}, "package.zip!/.rpdk-config:1:13 project/wrong-type runtime is of type number"},
		"settings text":  {with(t, item{name: ".rpdk-config", text: "{"}), bundle.Config{}, "package.zip!/.rpdk-config:1:2 document/syntax"},
		"schema text":    {with(t, item{name: "schema.json", text: "{\n  \"typeName\": \"Acme::Test::Thing\",\n}"}), bundle.Config{}, "package.zip!/schema.json:"},
		"schema fault":   {with(t, item{name: "schema.json", text: strings.Replace(thing, `"string"`, `"text"`, 1)}), bundle.Config{}, "package.zip!/schema.json:3:35 schema/not-allowed"},
		"schema file":    {with(t, item{name: "schema.json", text: strings.Replace(thing, `{"type": "string"}`, `{"$ref": "../../../../etc/hostname"}`, 1)}), bundle.Config{}, "package.zip!/schema.json:3:35 schema/"},
		"type name":      {with(t), bundle.Config{TypeName: "Acme::Test::Other"}, "package.zip!/schema.json:2:15 package/type-name the schema describes Acme::Test::Thing but is registered as Acme::Test::Other"},
		"bad type name":  {with(t, item{name: "schema.json", text: strings.Replace(thing, "Acme::Test::Thing", "Acme::Test::Thing::MODULE", 1)}), bundle.Config{Kind: schema.Resource}, "package.zip!/schema.json:2:15 "},
		"kind":           {with(t), bundle.Config{Kind: schema.Hook}, "package.zip!/.rpdk-config:1:19 package/kind the package is a RESOURCE but is registered as a HOOK"},
		"large document": {with(t, item{name: "schema.json", text: thing + strings.Repeat(" ", 9<<20)}), bundle.Config{Limits: bundle.Limits{Ratio: 1 << 20}}, "package.zip!/schema.json package/too-large the file is larger than 8 MiB"},
		"configuration":  {with(t, item{name: "configuration-schema.json", text: `{"properties": 1}`}), bundle.Config{}, "package.zip!/configuration-schema.json:1:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := read(t, test.data, test.config)
			for _, p := range problems {
				if p.Severity == diag.Error {
					if got := line(p); !strings.HasPrefix(got, test.want) {
						t.Errorf("got  %s\nwant %s", got, test.want)
					}
					return
				}
			}
			t.Error("it was taken")
		})
	}
}

// The signatures of records.
const (
	local      = "PK\x03\x04"
	descriptor = "PK\x07\x08"
	endRecord  = "PK\x05\x06"
)

// patched changes bytes at an offset from the first record of a kind.
func patched(data []byte, signature string, at int, values ...byte) []byte {
	data = bytes.Clone(data)
	copy(data[bytes.Index(data, []byte(signature))+at:], values)
	return data
}

// overlapping makes what zip bombs are made of: two entries over the same data.
func overlapping() []byte {
	inner := raw("b", bytes.Repeat([]byte("x"), 100), func(*zip.FileHeader) {})
	end := bytes.Index(inner, []byte("PK\x01\x02"))
	outer := raw("a", inner[:end], func(*zip.FileHeader) {})
	directory := bytes.Index(outer, []byte("PK\x01\x02"))
	stop := bytes.Index(outer, []byte(endRecord))
	second := bytes.Clone(inner[end:bytes.Index(inner, []byte(endRecord))])
	binary.LittleEndian.PutUint32(second[42:], 31) // in the middle of the data of a
	out := slices.Concat(outer[:stop], second, outer[stop:])
	tail := out[len(out)-22:]
	binary.LittleEndian.PutUint16(tail[8:], 2)
	binary.LittleEndian.PutUint16(tail[10:], 2)
	binary.LittleEndian.PutUint32(tail[12:], uint32(stop-directory+len(second)))
	return out
}

// TestTellsAll wants all faults of a package in one list.
func TestTellsAll(t *testing.T) {
	_, problems := read(t, with(t,
		item{name: ".rpdk-config", text: `{"artifact_type": "RESOURCE", "runtime": 1, "entrypoint": "x", "settings": {"protocolVersion": "3"}}`},
		item{name: "schema.json", text: strings.Replace(thing, `"string"`, `"text"`, 1)},
		item{name: "ResourceProvider.zip"},
	), bundle.Config{TypeName: "Acme::Test::Other"})
	var ids []string
	for _, p := range problems {
		if p.Severity == diag.Error {
			ids = append(ids, p.ID)
		}
	}
	for _, want := range []string{"package/missing-file", "project/wrong-type", "project/protocol-version", "package/type-name"} {
		if !slices.Contains(ids, want) {
			t.Errorf("no %s in %v", want, ids)
		}
	}
	var many []item
	for i := range 200 {
		many = append(many, item{name: fmt.Sprintf("../%d", i), text: "x"})
	}
	_, problems = read(t, with(t, many...), bundle.Config{})
	if n := len(problems); n != 51 || !strings.Contains(line(problems[0]), "150 more entries of the archive are invalid") {
		t.Errorf("%d problems, the first %s", n, line(problems[0]))
	}
}

// TestReadsOthers reads what other programs have written.
func TestReadsOthers(t *testing.T) {
	files, err := filepath.Glob("testdata/*.zip")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b, problems := read(t, data, bundle.Config{Kind: schema.Resource, TypeName: "Acme::Test::Thing"})
		if b == nil {
			t.Errorf("%s: %v", file, problems.Err())
			continue
		}
		if b.Handler.Files != 2 || b.Handler.Archive != "ResourceProvider.zip" || b.Settings.Runtime != "python3.9" {
			t.Errorf("%s: %+v", file, b.Handler)
		}
		input, err := fs.ReadFile(b.Files, "inputs/inputs_1_create.json")
		if err != nil || string(input) != "{\"Name\": \"x\"}\n" {
			t.Errorf("%s: %q %v", file, input, err)
		}
		if _, err := fs.ReadFile(b.Files, "schema.json"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestConfigurationSchema is that of the package, or made from the schema.
func TestConfigurationSchema(t *testing.T) {
	configured := strings.Replace(thing, `"tagging"`, `"typeConfiguration": {"properties": {"T": {"$ref": "#/definitions/T"}}, "additionalProperties": false}, "definitions": {"T": {"type": "string"}}, "tagging"`, 1)
	b, problems := read(t, with(t, item{name: "schema.json", text: configured}), bundle.Config{})
	if b == nil {
		t.Fatal(problems.Err())
	}
	const want = `{"properties":{"T":{"$ref":"#/definitions/T"}},"additionalProperties":false,"definitions":{"T":{"type":"string"}},"typeName":"Acme::Test::Thing"}`
	if got := strings.Join(strings.Fields(string(b.ConfigurationSchema)), ""); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	own := `{"properties": {}, "additionalProperties": false}`
	b, problems = read(t, with(t, item{name: "schema.json", text: configured}, item{name: "configuration-schema.json", text: own}), bundle.Config{})
	if b == nil || string(b.ConfigurationSchema) != own {
		t.Error(problems.Err())
	}
	if b, _ := read(t, with(t), bundle.Config{}); b.ConfigurationSchema != nil {
		t.Errorf("a configuration of nothing: %s", b.ConfigurationSchema)
	}
}

// TestCode finds the code where the plug-ins of the official tool put it.
func TestCode(t *testing.T) {
	java := strings.NewReplacer("provided.al2023", "java17", `"bootstrap"`, `"com.acme.HandlerWrapper::handleRequest"`).Replace(settings)
	code := string(pack(t, item{name: "bootstrap", text: "x"}))
	plain := strings.Replace(thing, `, "handlers": {"create": {"permissions": []}}`, "", 1)
	for _, test := range []struct{ settings, schema, archive, want string }{
		{settings, thing, "ResourceProvider.zip", "ResourceProvider.zip"},
		{settings, thing, "handler.zip", "handler.zip"},
		{settings, thing, "other.zip", "other.zip"},
		{java, thing, "acme-test-thing-handler-1.0-SNAPSHOT.jar", "acme-test-thing-handler-1.0-SNAPSHOT.jar"},
		{java, thing, "target/acme-test-thing-handler-1.0-SNAPSHOT.jar", "target/acme-test-thing-handler-1.0-SNAPSHOT.jar"},
		{settings, plain, "", ""},
	} {
		items := []item{{name: ".rpdk-config", text: test.settings}, {name: "schema.json", text: test.schema}, {name: "src/lib.zip", text: "x"}}
		if test.archive != "" {
			items = append(items, item{name: test.archive, text: code})
		}
		b, problems := read(t, pack(t, items...), bundle.Config{})
		switch {
		case b == nil:
			t.Errorf("%s: %v", test.archive, problems.Err())
		case b.Handler == nil && test.want != "" || b.Handler != nil && b.Handler.Archive != test.want:
			t.Errorf("%s: %+v", test.archive, b.Handler)
		}
	}
}

// TestReadsManyClasses reads a jar as Maven shades it, with the classes of several SDKs.
func TestReadsManyClasses(t *testing.T) {
	java := strings.NewReplacer("provided.al2023", "java17", `"bootstrap"`, `"com.acme.HandlerWrapper::handleRequest"`).Replace(settings)
	classes := make([]item, 40_000)
	for i := range classes {
		classes[i] = item{name: fmt.Sprintf("software/amazon/C%d.class", i), text: "x"}
	}
	const jar = "target/acme-test-thing-handler-1.0-SNAPSHOT.jar"
	data := pack(t, item{name: ".rpdk-config", text: java}, item{name: "schema.json", text: thing}, item{name: jar, text: string(pack(t, classes...))})
	if b, problems := read(t, data, bundle.Config{}); b == nil || b.Handler.Files != len(classes) {
		t.Error(problems.Err())
	}
}

// TestModules takes exactly one fragment, by the rules of the project's own.
func TestModules(t *testing.T) {
	base := []item{
		{name: ".rpdk-config", text: `{"artifact_type": "MODULE", "typeName": "Acme::Test::Thing::MODULE", "settings": {"protocolVersion": "2.0.0"}}`},
		{name: "schema.json", text: `{"typeName": "Acme::Test::Thing::MODULE", "description": "x", "properties": {"Resources": {"properties": {"B": {"type": "object", "properties": {"Type": {"type": "string"}}}}, "type": "object", "additionalProperties": false}}, "additionalProperties": true}`},
	}
	fragment := item{name: "fragments/sample.json", text: `{"Resources": {"B": {"Type": "AWS::S3::Bucket"}}}`}
	b, problems := read(t, pack(t, append(base, fragment, item{name: "fragments/README.md", text: "x"})...), bundle.Config{})
	if b == nil || b.Kind != schema.Module || b.Handler != nil || b.Fragment.Root.Get("Resources") == nil {
		t.Fatal(problems.Err())
	}
	for _, test := range []struct {
		items []item
		want  string
	}{
		{nil, "package.zip!/fragments module/no-fragment"},
		{[]item{fragment, {name: "fragments/b.yaml", text: "Resources: {}"}}, "package.zip!/fragments module/multiple-files"},
		{[]item{{name: "fragments/a.yaml", text: "Resources:\n  A:\n    Type: AWS::CloudFormation::Macro\n"}}, "package.zip!/fragments/a.yaml:3:11 module/macro"},
		{[]item{{name: "fragments/a.json", text: "{"}}, "package.zip!/fragments/a.json:1:2 document/syntax"},
	} {
		_, problems := read(t, pack(t, append(slices.Clone(base), test.items...)...), bundle.Config{})
		if len(problems) == 0 || !strings.HasPrefix(line(problems[0]), test.want) {
			t.Errorf("got %v, want %s", problems.Err(), test.want)
		}
	}
}

// failing is a reader whose disk fails behind some bytes.
type failing struct {
	data  []byte
	after int64
}

var errDisk = errors.New("the disk fails")

func (f failing) ReadAt(p []byte, offset int64) (int, error) {
	if offset < f.after {
		return 0, errDisk
	}
	return bytes.NewReader(f.data).ReadAt(p, offset)
}

// TestReadFails tells failures of the machine from faults of the package.
func TestReadFails(t *testing.T) {
	data := with(t)
	for _, after := range []int64{int64(len(data)), int64(len(data)) - 40, 100} {
		b, problems, err := bundle.Read(t.Context(), failing{data, after}, int64(len(data)), bundle.Config{})
		if !errors.Is(err, errDisk) || b != nil || problems != nil {
			t.Errorf("after %d: %v %v", after, problems, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := bundle.Read(ctx, bytes.NewReader(data), int64(len(data)), bundle.Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// tree lists a folder with modes and contents.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		text := ""
		if err == nil && !entry.IsDir() {
			var data []byte
			data, err = os.ReadFile(path)
			text = fmt.Sprintf(" %q", data)
		}
		lines = append(lines, info.Mode().String()+" "+filepath.ToSlash(rel)+text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// TestUnpack puts code on the disk with the modes that it needs.
func TestUnpack(t *testing.T) {
	mode := func(m fs.FileMode) func(*zip.FileHeader) { return func(h *zip.FileHeader) { h.SetMode(m) } }
	code := pack(t,
		item{name: "bootstrap", text: "x", change: mode(0o600)},
		item{name: "lib/", change: mode(fs.ModeDir | 0o700)},
		item{name: "lib/tool", text: "x", change: mode(0o4755)},
		item{name: "lib/data", text: "x", change: mode(0o666)},
		item{name: "lib/deep/script", text: "#!/bin/sh\n"},
		item{name: "elf", text: "\x7fELF..."},
	)
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		b, problems := read(t, with(t, item{name: "ResourceProvider.zip", text: string(code), change: func(h *zip.FileHeader) { h.Method = method }}), bundle.Config{})
		if b == nil {
			t.Fatal(problems.Err())
		}
		parent := t.TempDir()
		dir := filepath.Join(parent, "code")
		if err := b.Unpack(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		want := `-r-xr-xr-x bootstrap "x"
-r-xr-xr-x elf "\x7fELF..."
drwxr-xr-x lib
-r--r--r-- lib/data "x"
drwxr-xr-x lib/deep
-r-xr-xr-x lib/deep/script "#!/bin/sh\n"
-r-xr-xr-x lib/tool "x"`
		if got := tree(t, dir); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		// Again: what is there stays.
		if err := b.Unpack(t.Context(), dir); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Unpack(ctx, filepath.Join(parent, "other")); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
			t.Errorf("left behind: %v %v", entries, err)
		}
	}
}

// TestCache unpacks once, mends what is broken and sweeps what is old.
func TestCache(t *testing.T) {
	now := time.Now()
	folder := filepath.Join(t.TempDir(), "cache")
	c := bundle.NewCache(folder, func() time.Time { return now })
	data := with(t)
	reads := 0
	get := func(hash string) *bundle.Code {
		t.Helper()
		code, err := c.Get(t.Context(), hash, func(ctx context.Context) (*bundle.Bundle, func(), error) {
			reads++
			b, problems, err := bundle.Read(ctx, bytes.NewReader(data), int64(len(data)), bundle.Config{})
			return b, func() {}, errors.Join(err, problems.Err())
		})
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	one, two := strings.Repeat("a", 64), strings.Repeat("b", 64)
	for range 3 {
		code := get(one)
		if code.Schema.TypeName.Value != "Acme::Test::Thing" || code.Settings.Runtime != "provided.al2023" || !strings.Contains(tree(t, code.Dir), "bootstrap") {
			t.Errorf("%+v", code)
		}
	}
	if reads != 1 {
		t.Errorf("read %d times", reads)
	}
	for _, gone := range []string{"code", "schema.json", ".rpdk-config"} {
		if err := os.RemoveAll(filepath.Join(folder, one, gone)); err != nil {
			t.Fatal(err)
		}
		get(one)
	}
	if reads != 4 {
		t.Errorf("read %d times", reads)
	}
	for name, damage := range map[string]func(file string) error{
		"code/bootstrap": func(file string) error {
			if err := os.Chmod(file, 0o644); err != nil {
				return err
			}
			return os.Truncate(file, 0)
		},
		"schema.json":                  func(file string) error { return os.Truncate(file, 10) },
		".rpdk-config":                 func(file string) error { return os.WriteFile(file, []byte("{"), 0o644) },
		"contents":                     func(file string) error { return os.Truncate(file, 3) },
		"code/bootstrap with its size": func(file string) error { return keepSize(strings.TrimSuffix(file, " with its size")) },
	} {
		before := reads
		if err := damage(filepath.Join(folder, one, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
		if get(one); reads != before+1 {
			t.Errorf("a damaged %s was not noticed", name)
		}
		if get(one); reads != before+1 {
			t.Errorf("a whole package is unpacked again after %s", name)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, one, "code", "written by the handler"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	before := reads
	if get(one); reads != before {
		t.Error("what a handler writes is taken for damage")
	}
	if _, err := c.Get(t.Context(), "../x", nil); err == nil {
		t.Error("a path was taken for a hash")
	}
	failed := errors.New("no blob")
	if _, err := c.Get(t.Context(), two, func(context.Context) (*bundle.Bundle, func(), error) { return nil, nil, failed }); !errors.Is(err, failed) {
		t.Error(err)
	}

	for _, left := range []string{".new-killed/code", ".old-killed"} {
		if err := os.MkdirAll(filepath.Join(folder, left), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	get(two)
	sweep := func(want string) {
		t.Helper()
		if _, err := c.Sweep(t.Context(), 7*24*time.Hour); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(folder)
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name()[:min(10, len(entry.Name()))])
		}
		if got := strings.Join(names, " "); got != want || err != nil {
			t.Errorf("left %s, want %s: %v", got, want, err)
		}
	}
	sweep(".new-kille .old-kille aaaaaaaaaa bbbbbbbbbb notes.txt")
	now = now.Add(2 * time.Hour)
	sweep("aaaaaaaaaa bbbbbbbbbb notes.txt")
	now = now.Add(6 * 24 * time.Hour)
	get(one)
	now = now.Add(2 * 24 * time.Hour)
	sweep("aaaaaaaaaa notes.txt")
}

// keepSize changes a byte of a file.
func keepSize(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	text[len(text)/2] ^= 1
	return errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, text, 0o644), os.Chmod(file, info.Mode()))
}

// FuzzRead wants an answer for everything, and nothing outside of the folder.
func FuzzRead(f *testing.F) {
	for _, data := range [][]byte{with(f), overlapping(), pack(f), with(f)[:300]} {
		f.Add(data)
	}
	files, _ := filepath.Glob("testdata/*.zip")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	limits := bundle.Limits{Packed: 1 << 20, Unpacked: 4 << 20, Entries: 200, Depth: 8}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, problems, err := bundle.Read(t.Context(), bytes.NewReader(data), int64(len(data)), bundle.Config{Limits: limits})
		if err != nil {
			t.Fatalf("not the machine's fault: %v", err)
		}
		if (b == nil) != problems.HasErrors() {
			t.Fatalf("bundle %v with problems %v", b, problems)
		}
		if b == nil || b.Handler == nil {
			return
		}
		parent := t.TempDir()
		if err := b.Unpack(t.Context(), filepath.Join(parent, "code")); err != nil {
			t.Fatalf("a package without faults cannot be unpacked: %v", err)
		}
		if entries, _ := os.ReadDir(parent); len(entries) != 1 {
			t.Fatalf("files outside of the folder: %v", entries)
		}
	})
}

// FuzzContents puts what it makes up into a sound archive.
func FuzzContents(f *testing.F) {
	code := pack(f, item{name: "bootstrap", text: "x"})
	f.Add("src/x", uint32(0o100644), settings, thing, code)
	f.Add("../x", uint32(0o120777), "{}", "{}", []byte("PK"))
	f.Add("Schema.json/", uint32(0o040755), `{"artifact_type": "HOOK"}`, "[]", code[:20])
	f.Fuzz(func(t *testing.T, name string, mode uint32, settings, schema string, code []byte) {
		if len(name) > 1<<16-1 {
			return
		}
		data := pack(t,
			item{name: ".rpdk-config", text: settings}, item{name: "schema.json", text: schema},
			item{name: "fragments/a.yaml", text: schema}, item{name: "target-info.json", text: settings}, item{name: "target-schemas/a.json", text: schema},
			item{name: "configuration-schema.json", text: schema},
			item{name: "ResourceProvider.zip", text: string(code)},
			item{name: name, change: func(h *zip.FileHeader) { h.CreatorVersion, h.ExternalAttrs = 3<<8, mode<<16 }},
		)
		for _, kind := range []string{"", "RESOURCE", "HOOK", "MODULE"} {
			read(t, data, bundle.Config{Kind: kindOf(kind), Limits: bundle.Limits{Unpacked: 4 << 20, Entries: 200}})
		}
	})
}

func kindOf(name string) schema.Kind { return schema.Kind(name) }

// BenchmarkRead reads a package of 10 MB, most of it a program.
func BenchmarkRead(b *testing.B) {
	program := make([]byte, 24<<20) // compresses to less than a half, as programs do
	seed := uint32(1)
	for i := range program {
		if i%16 < 6 {
			seed = seed*1664525 + 1013904223
			program[i] = byte(seed >> 24)
		}
	}
	code := pack(b, item{name: "bootstrap", text: string(program)})
	data := with(b, item{name: "ResourceProvider.zip", text: string(code), change: func(h *zip.FileHeader) { h.Method = zip.Store }})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, problems, err := bundle.Read(context.Background(), bytes.NewReader(data), int64(len(data)), bundle.Config{}); err != nil || problems.HasErrors() {
			b.Fatal(problems.Err(), err)
		}
	}
}
