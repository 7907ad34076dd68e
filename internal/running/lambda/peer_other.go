//go:build !linux

package lambda

import (
	"errors"
	"net"
)

const knowsOwners = false

func otherEnd(net.Conn) (uint32, error) { return 0, errors.ErrUnsupported }

func (g *group) hasSocket(uint32) bool { return false }
