package bundle

import "github.com/formwork-dev/formwork/internal/diag"

// Rules returns the table of what is wrong with a package, before anything in it is read.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "package/not-zip", Purpose: "A package is a zip file.",
			Why: "RegisterType takes nothing else."},
		{ID: "package/truncated", Purpose: "The zip file is complete.",
			Why: "The list of what is in it is at the end; an interrupted upload has none."},
		{ID: "package/damaged", Purpose: "The zip file is sound: both of its directories, the sizes, the checksums and the data agree.",
			Why: "Programs that read one of two contradicting parts see another package than those that read the other."},
		{ID: "package/overlap", Purpose: "No two entries share bytes.",
			Why: "Zip bombs do: a few kilobytes so unpack to any size."},
		{ID: "package/ratio", Purpose: "The contents have at most 200 times the size of the zip file.",
			Why: "Programs and sources compress to a tenth; what compresses to less than a hundredth is there to fill a disk."},
		{ID: "package/too-large", Purpose: "A package has at most 256 MiB, its contents at most 1 GiB, a document in it at most 8 MiB.",
			Why: "Lambda takes functions of up to 250 MB, unpacked."},
		{ID: "package/too-many-entries", Purpose: "A package has at most 20,000 entries, those of the handlers' archive included.",
			Why: "Each takes time and room, also when it is empty."},
		{ID: "package/name", Purpose: "Names are relative paths in UTF-8 with forward slashes, without empty parts and such as . and .., at most 32 folders deep.",
			Why: "Others lead out of the folder that a package is unpacked to, on one system or another.", Example: "wrong: ../../etc/cron.d/job\nright: src/handler.py"},
		{ID: "package/duplicate", Purpose: "No name is duplicated, not even in another case, and no file is a folder as well.",
			Why: "Which of the two counts would depend on the program and on the file system."},
		{ID: "package/special-file", Purpose: "Entries are files and folders.",
			Why: "Symbolic links lead out of the package; devices and pipes have no place in one."},
		{ID: "package/encrypted", Purpose: "Entries are not encrypted.",
			Why: "Nobody asks for the password."},
		{ID: "package/method", Purpose: `Entries are compressed with the methods "stored" or "deflated".`,
			Why: "The service reads no others."},
		{ID: "package/missing-file", Purpose: "A package has .rpdk-config, schema.json and, unless it is a module's, the archive with the code of the handlers.",
			Why: "Without them there is nothing to register, or nothing to run."},
		{ID: "package/handler-code", Purpose: "There is exactly one archive with code: ResourceProvider.zip, handler.zip or a .jar; it is not empty and has the program that its runtime starts.",
			Why: "The function would not start.", Example: "wrong: handler.zip with bin/bootstrap\nright: handler.zip with bootstrap"},
		{ID: "package/kind", Purpose: "A package is registered as the kind of extension that it is.",
			Why: "Resource types, hooks and modules are run in different ways."},
		{ID: "package/type-name", Purpose: "A package is registered under the name that its schema has; a warning if the settings have another one.",
			Why: "The name of the schema is what templates and handlers know."},
		{ID: "package/target-info", Purpose: "target-info.json is an object with a member for each target of a hook.",
			Why: "The official tool writes and reads it so."},
	}
}
