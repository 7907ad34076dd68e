package macro

import (
	"context"
	"errors"
	"fmt"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// maxInclude bounds a snippet of AWS::Include, in bytes.
const maxInclude = 1_000_000

// Include fetches a snippet. The error has the message of the service.
func (r runner) Include(ctx context.Context, location string) ([]byte, error) {
	at, err := r.config.S3.ParseURL(location)
	if err != nil {
		return nil, template.ServiceError("The location parameter is not a valid S3 uri.")
	}
	object, err := r.config.S3.Open(ctx, r.caller.Account, at)
	var refusal *awswire.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code == "NoSuchBucket":
		return nil, template.ServiceError(fmt.Sprintf("S3 bucket [%s] does not exist.", at.Bucket))
	case errors.As(err, &refusal):
		return nil, template.ServiceError(fmt.Sprintf("S3 object [%s] in bucket [%s] does not exist or cannot be read.", at.Key, at.Bucket))
	case err != nil:
		return nil, err
	}
	defer func() { _ = object.Close() }() // it was only read
	return document.ReadAll(object, maxInclude)
}
