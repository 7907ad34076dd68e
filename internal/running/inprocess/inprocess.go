// Package inprocess runs a local CloudFormation in this process for the time of a command, with a client for it. Nothing
// remains of it after [Server.Stop] but the folder of its data, if the configuration names one.
package inprocess

import (
	"context"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/local"
)

// A Server is a local CloudFormation that runs in this process.
type Server struct {
	Remote *submit.Remote // its client, of the configured account and region
	URL    string
	Key    aws.Credentials // that the requests of the client are signed with
	Notes  []string        // what users should know of its configuration
	Stop   func()
}

// Start starts a server. The client has the region, the endpoint and the key of the server; its other settings are those of
// client. The context bounds the start only.
func Start(ctx context.Context, server local.ServerConfig, client submit.Config, logger *slog.Logger) (*Server, error) {
	listening, err := local.Listen(ctx, server)
	if err != nil {
		return nil, err
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- listening.Serve(serving) }()
	s := &Server{
		URL: listening.URL(), Notes: listening.Notes(), Key: aws.Credentials{AccessKeyID: server.Account, SecretAccessKey: invoke.LocalSecret},
	}
	s.Stop = func() {
		end()
		if err := <-served; err != nil {
			logger.Debug("The local CloudFormation has stopped", "error", err)
		}
	}
	client.Region, client.Endpoint, client.Key = server.Region, s.URL, s.Key
	if s.Remote, err = submit.Open(ctx, client); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}
