package cli

import (
	"bufio"
	"context"
	"errors"
	"slices"
	"strings"
)

// confirm asks before an action that cannot be undone. Without a terminal it fails, and
// scripts pass --yes.
func (c *app) confirm(ctx context.Context, question string) error {
	if !c.Terminal.Stdin || !c.Terminal.Stderr {
		return withHint(errors.New("confirmation required, but there is no terminal"), "pass --yes")
	}
	c.notef("%s (y/N) ", question)
	line, _ := untilDone(ctx, func() (string, error) { return bufio.NewReader(c.Stdin).ReadString('\n') })
	switch {
	case ctx.Err() != nil:
		c.notef("\n")
		return ctx.Err()
	case slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line))):
		return nil
	}
	return &exitError{exitFailure, "canceled; nothing was changed"}
}
