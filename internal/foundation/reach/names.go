package reach

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Limits of questions about names.
const (
	maxQuestions   = 64 // at once
	maxPacket      = 64 << 10
	answerTimeout  = 5 * time.Second
	maxNameServers = 3 // of the settings of the system, as in its library
)

// resolverFile names the name servers of this machine.
const resolverFile = "/etc/resolv.conf"

// Names answers questions about names that are packets: itself for localhost and names below it; as the name
// servers of this machine do, if outbound is true; and else that there is no such name, which programs do not wait for.
func (n *Network) Names(packets net.PacketConn, outbound bool) {
	if !n.keep(packets) {
		return
	}
	n.work.Go(func() {
		defer n.forget(packets)
		places := make(chan struct{}, maxQuestions)
		for {
			buffer := make([]byte, 4<<10) // more than questions have
			size, from, err := packets.ReadFrom(buffer)
			if err != nil {
				return // it is closed
			}
			if answer := ownAnswer(buffer[:size], outbound); answer != nil {
				_, _ = packets.WriteTo(answer, from) // the client asks again
				continue
			}
			select {
			case places <- struct{}{}:
			default:
				continue // the client asks again
			}
			n.work.Go(func() {
				defer func() { <-places }()
				if answer := n.ask(buffer[:size]); answer != nil {
					_, _ = packets.WriteTo(answer, from) // the client asks again
				}
			})
		}
	})
}

// ownAnswer is the answer to a question that is not passed on, nil for one that is.
func ownAnswer(question []byte, outbound bool) []byte {
	var parser dnsmessage.Parser
	header, err := parser.Start(question)
	if err != nil || header.Response {
		return []byte{} // no question
	}
	q, err := parser.Question()
	if err != nil {
		return []byte{}
	}
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	here := name == "localhost" || strings.HasSuffix(name, ".localhost")
	if outbound && !here {
		return nil
	}
	message := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: header.ID, Response: true, RecursionDesired: header.RecursionDesired, RecursionAvailable: true, RCode: dnsmessage.RCodeNameError},
		Questions: []dnsmessage.Question{q},
	}
	if here {
		message.RCode = dnsmessage.RCodeSuccess
		resource := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET}
		switch q.Type {
		case dnsmessage.TypeA:
			message.Answers = []dnsmessage.Resource{{Header: resource, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
		case dnsmessage.TypeAAAA:
			message.Answers = []dnsmessage.Resource{{Header: resource, Body: &dnsmessage.AAAAResource{AAAA: [16]byte{15: 1}}}}
		}
	}
	answer, err := message.Pack()
	if err != nil {
		return []byte{}
	}
	return answer
}

// ask asks the name servers of this machine, one after the other. Nil is no answer.
func (n *Network) ask(question []byte) []byte {
	for _, server := range nameServers() {
		if answer, err := n.askOne(server, question); err == nil {
			return answer
		}
	}
	return nil
}

func (n *Network) askOne(server string, question []byte) ([]byte, error) {
	conn, err := (&net.Dialer{Timeout: answerTimeout}).DialContext(n.life, "udp", server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // nothing follows
	if !n.keep(conn) {
		return nil, net.ErrClosed
	}
	defer n.forget(conn)
	if err := conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(question); err != nil {
		return nil, err
	}
	answer := make([]byte, maxPacket)
	for {
		size, err := conn.Read(answer)
		if err != nil {
			return nil, err
		}
		if size >= 12 && binary.BigEndian.Uint16(answer) == binary.BigEndian.Uint16(question) {
			return answer[:size], nil
		}
	}
}

// DialNames connects to a name server of this machine, for answers that are longer than a packet.
func DialNames(ctx context.Context) (net.Conn, error) {
	var errs []error
	for _, server := range nameServers() {
		conn, err := (&net.Dialer{Timeout: answerTimeout}).DialContext(ctx, "tcp", server)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(append(errs, errors.New("no name server is reached"))...)
}

// nameServers are those of this machine, as HOST:PORT. They change with its network.
func nameServers() []string {
	file, err := os.Open(resolverFile)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, 64<<10))
	if err != nil {
		return nil
	}
	var servers []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "nameserver" && len(servers) < maxNameServers {
			servers = append(servers, net.JoinHostPort(fields[1], "53"))
		}
	}
	return servers
}
