// Waiter is the handler of the type Acme::Load::Waiter, for benchmarks: a create or update
// ends at the fourth call, and asks for a wait of a second before each of the others.
package main

import (
	"encoding/json"

	"github.com/aws/aws-lambda-go/lambda"
)

const callbacks = 3

type event struct {
	Action          string
	CallbackContext struct{ Called int }
	RequestData     struct{ ResourceProperties json.RawMessage }
}

func handle(e event) (map[string]any, error) {
	reply := map[string]any{"status": "SUCCESS", "resourceModel": e.RequestData.ResourceProperties}
	switch {
	case e.Action == "DELETE":
		delete(reply, "resourceModel")
	case e.Action != "READ" && e.CallbackContext.Called < callbacks:
		reply["status"], reply["callbackDelaySeconds"] = "IN_PROGRESS", 1
		reply["callbackContext"] = map[string]int{"Called": e.CallbackContext.Called + 1}
	}
	return reply, nil
}

func main() { lambda.Start(handle) }
