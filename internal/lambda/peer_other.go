//go:build !linux

package lambda

import (
	"errors"
	"net"
)

const knowsOwners = false

func (p *process) owns(net.Conn) (bool, error) { return false, errors.ErrUnsupported }
