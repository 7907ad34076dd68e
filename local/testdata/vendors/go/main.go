// A provider of custom resources with the library of aws-lambda-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-lambda-go/lambda"
)

func provide(_ context.Context, event cfn.Event) (string, map[string]any, error) {
	switch event.ResourceProperties["Mode"] {
	case "fail":
		return "go-thing", nil, errors.New("failed on purpose")
	case "sleep":
		time.Sleep(10 * time.Minute)
	}
	return "go-thing", map[string]any{"Address": fmt.Sprint("at-", event.ResourceProperties["Size"])}, nil
}

func main() { lambda.Start(cfn.LambdaWrap(provide)) }
