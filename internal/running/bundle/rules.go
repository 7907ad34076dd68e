package bundle

import "github.com/formwork-dev/formwork/internal/foundation/diag"

// Rules returns the table of what is wrong with a package, before anything in it is read.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "package/not-zip", Purpose: "A package is a zip file.",
			Why: "RegisterType accepts nothing else."},
		{ID: "package/truncated", Purpose: "The zip file is complete.",
			Why: "The directory of a zip file is at its end, so an interrupted upload has none."},
		{ID: "package/damaged", Purpose: "The zip file is sound: both of its directories, the sizes, the checksums and the data agree.",
			Why: "If parts of the file contradict each other, different programs see different packages."},
		{ID: "package/overlap", Purpose: "No two entries share bytes.",
			Why: "Zip bombs do this: a few kilobytes unpack to any size."},
		{ID: "package/ratio", Purpose: "The contents have at most 200 times the size of the zip file.",
			Why: "Programs and sources compress to about a tenth; a file that compresses to less than a hundredth is meant to fill a disk."},
		{ID: "package/too-large", Purpose: "A package has at most 256 MiB, its contents at most 1 GiB, a document in it at most 8 MiB.",
			Why: "Lambda takes functions of up to 250 MB, unpacked."},
		{ID: "package/too-many-entries", Purpose: "A package has at most 100,000 entries, including those of the handler archive.",
			Why: "Each entry takes time and space, even if it is empty. A jar that contains several SDKs has 40,000."},
		{ID: "package/name", Purpose: "Names are relative paths in UTF-8 with forward slashes, without empty parts and such as . and .., at most 32 folders deep.",
			Why: "On some systems, other names point outside the folder that a package is unpacked to.", Example: "wrong: ../../etc/cron.d/job\nright: src/handler.py"},
		{ID: "package/duplicate", Purpose: "Names are unique, ignoring case, and no file has the name of a folder.",
			Why: "Otherwise, the result depends on the program and the file system."},
		{ID: "package/special-file", Purpose: "Entries are files and folders.",
			Why: "Symbolic links can point outside the package; devices and pipes are not allowed."},
		{ID: "package/encrypted", Purpose: "Entries are not encrypted.",
			Why: "The registry has no password."},
		{ID: "package/method", Purpose: `Entries are compressed with the methods "stored" or "deflated".`,
			Why: "The service does not support other methods."},
		{ID: "package/missing-file", Purpose: "A package has .rpdk-config, schema.json and, unless it is a module's, the archive with the code of the handlers.",
			Why: "Without them, there is nothing to register or to run."},
		{ID: "package/handler-code", Purpose: "There is exactly one archive with code: ResourceProvider.zip, handler.zip or a .jar. It is not empty and contains the program that the runtime starts.",
			Why: "Otherwise, the function does not start.", Example: "wrong: handler.zip with bin/bootstrap\nright: handler.zip with bootstrap"},
		{ID: "package/kind", Purpose: "A package is registered as the kind of extension that it is.",
			Why: "Resource types, hooks and modules run in different ways."},
		{ID: "package/type-name", Purpose: "A package is registered under the name in its schema. If the settings have a different name, it is a warning.",
			Why: "Templates and handlers use the name in the schema."},
		{ID: "package/target-info", Purpose: "target-info.json is an object with a member for each target of a hook.",
			Why: "The official tool uses this format."},
	}
}
