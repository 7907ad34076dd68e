package operation

import (
	"context"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Lister is a Provider that can list the resources of its types.
type Lister interface {
	// ListResources returns a page of the resources that exist. A handler that failed is not an
	// error but a Page with an ErrorCode.
	ListResources(ctx context.Context, request ListRequest) (*Page, error)
}

// A ListRequest is a request for a page.
type ListRequest struct {
	Caller  awswire.Caller
	Type    string // name of the type in the account
	Version string // as in Request

	// Model has the properties that the handlerSchema of the list handler requires, such as
	// those that identify the parent. It may be nil.
	Model map[string]any

	NextToken  string // of the page before; "" is the first
	MaxResults int    // a hint; 0 leaves it to the provider
}

// A Page is a part of a list.
type Page struct {
	Resources []Listed
	NextToken string // "" after the last page

	// ErrorCode and Message are those of a Progress that FAILED; "" if there is a page.
	ErrorCode, Message string
}

// A Listed resource is one of those that exist of a type.
type Listed struct {
	Identifier string         // the values of the primary identifier, joined with "|"
	Model      map[string]any // as far as the list contains it
}
