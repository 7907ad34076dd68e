package diag

import "github.com/formwork-dev/formwork/internal/foundation/words"

// quoted bounds what a message quotes of a document, in bytes.
const quoted = 80

// Cut shortens a text of a document to what fits into a message, and marks that it did.
func Cut(text string) string { return words.Cut(text, quoted) }
