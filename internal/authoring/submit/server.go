package submit

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// A Server is what a local server of this program says of itself at /healthz.
type Server struct {
	Product string `json:"product"`
	Version string `json:"version"`
	Region  string `json:"region"`  // of requests that name none
	Account string `json:"account"` // likewise
	Auth    bool   `json:"auth"`    // signatures are checked

	TimeScale float64  `json:"timeScale"` // what delays of handlers are divided by; 0 and 1 are not
	Simulate  []string `json:"simulate"`  // patterns of the types that are simulated
	Delegate  []string `json:"delegate"`  // patterns of the types whose resources are in emulators
}

// A ForeignError says that something else answers at an endpoint than a local server of
// this program.
type ForeignError struct{ Endpoint string }

func (e *ForeignError) Error() string { return "what answers at " + e.Endpoint + " is not a cfn serve" }

// AskServer returns the local server at an endpoint. The error is a *ForeignError, or the
// reason why nothing is listening.
func AskServer(ctx context.Context, client aws.HTTPClient, endpoint string) (*Server, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(endpoint, "/")+"/healthz", nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var server Server
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil || json.Unmarshal(body, &server) != nil || server.Product != "formwork" {
		return nil, &ForeignError{endpoint}
	}
	return &server, nil
}
