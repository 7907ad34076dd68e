// Waiter is the handler of the type Acme::Load::Waiter, for benchmarks: a create or update
// ends at the fourth call, and asks for a wait of a second before each of the others. It keeps
// nothing: the identifier of a resource has its name. A READ of one whose name begins with
// "slow" takes a tenth of a second. The program is also that of a hook, which lets everything
// pass after ten milliseconds.
package main

import (
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

const (
	callbacks = 3
	prefix    = "waiter-"
)

type event struct {
	Action                string
	ActionInvocationPoint string // of a hook
	ClientRequestToken    string

	CallbackContext struct{ Called int }
	RequestData     struct{ ResourceProperties map[string]any }
}

func handle(e event) (map[string]any, error) {
	if e.ActionInvocationPoint != "" {
		time.Sleep(10 * time.Millisecond)
		return map[string]any{"hookStatus": "SUCCESS", "clientRequestToken": e.ClientRequestToken}, nil
	}
	model := e.RequestData.ResourceProperties
	if name, ok := model["Name"].(string); ok {
		model["Id"] = prefix + name
	} else if id, ok := model["Id"].(string); ok {
		model["Name"] = strings.TrimPrefix(id, prefix)
	}
	reply := map[string]any{"status": "SUCCESS", "resourceModel": model}
	switch {
	case e.Action == "READ" && strings.HasPrefix(model["Name"].(string), "slow"):
		time.Sleep(100 * time.Millisecond)
	case e.Action == "DELETE":
		delete(reply, "resourceModel")
	case e.Action != "READ" && e.CallbackContext.Called < callbacks:
		reply["status"], reply["callbackDelaySeconds"] = "IN_PROGRESS", 1
		reply["callbackContext"] = map[string]int{"Called": e.CallbackContext.Called + 1}
	}
	return reply, nil
}

func main() { lambda.Start(handle) }
