package submit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A TypeSchema is the published schema of a resource type. Name is that of its file.
type TypeSchema struct {
	Name   string `json:"Name"`
	Schema string `json:"Schema"`
}

// importBatch bounds the schemas of one request, in bytes.
const importBatch = 4 << 20

// ImportTypes imports published schemas into a local server and returns the names of their
// types. progress, which may be nil, is called after each request with the number of imported
// schemas. An error does not undo earlier imports. Only a local server supports it.
func (r *Remote) ImportTypes(ctx context.Context, schemas []TypeSchema, progress func(done int)) ([]string, error) {
	var names []string
	for start := 0; start < len(schemas); {
		end, size := start, 0
		for end < len(schemas) && end-start < 500 && (end == start || size+len(schemas[end].Schema) <= importBatch) {
			size += len(schemas[end].Schema)
			end++
		}
		imported, err := r.importTypes(ctx, schemas[start:end])
		if err != nil {
			return names, err
		}
		names = append(names, imported...)
		start = end
		if progress != nil {
			progress(start)
		}
	}
	return names, nil
}

func (r *Remote) importTypes(ctx context.Context, schemas []TypeSchema) ([]string, error) {
	var out namedTypes
	err := r.formwork(ctx, "ImportTypes", map[string]any{"Schemas": schemas}, &out)
	return out.TypeNames, err
}

// A ResourceName names a resource of a local server.
type ResourceName struct {
	TypeName   string `json:"TypeName"`
	Identifier string `json:"Identifier,omitempty"`
}

// Simulated returns which of some resources a local server simulates. On AWS none is.
func (r *Remote) Simulated(ctx context.Context, resources []ResourceName) ([]ResourceName, error) {
	if r.server == nil {
		return nil, nil
	}
	var out []ResourceName
	for part := range slices.Chunk(resources, 500) {
		var found struct {
			Resources []ResourceName `json:"Resources"`
		}
		if err := r.formwork(ctx, "ListSimulated", map[string]any{"Resources": part}, &found); err != nil {
			return nil, err
		}
		out = append(out, found.Resources...)
	}
	return out, nil
}

// A DelegatedResource is a resource that a local server made in an emulator.
type DelegatedResource struct {
	TypeName   string `json:"TypeName"`
	Identifier string `json:"Identifier"`
	Where      string `json:"Where,omitempty"`
}

// Delegated returns which of some resources a local server made in an emulator. On AWS none is.
func (r *Remote) Delegated(ctx context.Context, resources []DelegatedResource) ([]DelegatedResource, error) {
	if r.server == nil || len(r.server.Delegate) == 0 {
		return nil, nil
	}
	var out []DelegatedResource
	for part := range slices.Chunk(resources, 500) {
		var found struct {
			Resources []DelegatedResource `json:"Resources"`
		}
		if err := r.formwork(ctx, "ListDelegated", map[string]any{"Resources": part}, &found); err != nil {
			return nil, err
		}
		out = append(out, found.Resources...)
	}
	return out, nil
}

// ConsoleURL is a URL that opens the console of a local server for the account of the caller. If the
// server checks signatures, it works only once, within a minute. What is not a local server is a
// *[ForeignError].
func (r *Remote) ConsoleURL(ctx context.Context) (address string, once bool, err error) {
	if !r.Local {
		return "", false, &ForeignError{r.Endpoint}
	}
	var out struct {
		Token string `json:"Token"`
	}
	if err := r.formwork(ctx, "GetConsoleToken", struct{}{}, &out); err != nil {
		return "", false, err
	}
	address = strings.TrimSuffix(r.Endpoint, "/") + "/_cfn/"
	if out.Token != "" {
		address += "?token=" + url.QueryEscape(out.Token)
	}
	return address, out.Token != "", nil
}

type namedTypes struct {
	TypeNames []string `json:"TypeNames"`
}

// A RejectedError is the answer of a local server to a request that AWS does not have and that is not valid.
type RejectedError struct{ Operation, Message string }

func (e *RejectedError) Error() string {
	return fmt.Sprintf("the server rejected %s: %s", e.Operation, e.Message)
}

// formwork calls an operation of a local server that AWS does not have.
func (r *Remote) formwork(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "Formwork."+operation)
	credentials, err := r.sdk.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), "formwork", r.Region, r.config.Now()); err != nil {
		return fmt.Errorf("sign the request: %w", err)
	}
	response, err := r.sdk.HTTPClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	answer, err := document.ReadAll(response.Body, 8<<20)
	if err != nil {
		return fmt.Errorf("read the response of %s: %w", operation, err)
	}
	var failed struct {
		Message string `json:"message"`
		Upper   string `json:"Message"`
	}
	if json.Unmarshal(answer, &failed) != nil || json.Unmarshal(answer, out) != nil {
		return fmt.Errorf("the server returned %s without JSON", response.Status)
	}
	switch {
	case response.StatusCode == http.StatusOK:
		return nil
	case response.StatusCode < http.StatusInternalServerError:
		return &RejectedError{operation, failed.Message + failed.Upper}
	}
	return fmt.Errorf("the server failed at %s: %s", operation, failed.Message+failed.Upper)
}

// Package returns the package of a version of a private type. AWS has no such operation: what is not a local server is a
// *[ForeignError].
func (r *Remote) Package(ctx context.Context, ref *Reference, version string, limit int64) ([]byte, error) {
	if !r.Local {
		return nil, &ForeignError{r.Endpoint}
	}
	var out []byte
	for {
		var part struct {
			Part []byte `json:"Part"`
			Size int64  `json:"Size"`
		}
		in := map[string]any{"Type": ref.Kind, "TypeName": ref.Name, "VersionId": version, "Offset": len(out)}
		if err := r.formwork(ctx, "GetTypePackage", in, &part); err != nil {
			return nil, err
		}
		out = append(out, part.Part...)
		switch {
		case part.Size > limit:
			return nil, fmt.Errorf("the package has %d bytes; the limit is %d", part.Size, limit)
		case int64(len(out)) >= part.Size:
			return out, nil
		case len(part.Part) == 0:
			return nil, fmt.Errorf("the server returned %d of the %d bytes of the package", len(out), part.Size)
		}
	}
}
