// Package formwork has the documents of the repository, for cfn docs.
package formwork

import "embed"

// Documents are the Markdown files and the images of this repository, by their paths in it. docs/rules.md
// is left out: it is made from tables that the program has anyway.
//
//go:embed README.md CHANGELOG.md CONTRIBUTING.md docs/[^r]*.md docs/r[^u]*.md docs/decisions/*.md docs/*.svg docs/*.png
var Documents embed.FS
