package console

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// web reports whether a text is the address of something on the web.
func web(link string) bool {
	u, err := url.Parse(link)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// outside reports whether an untrusted link may leave the console: only to http and https, and
// not to this machine or to the server itself, where a click could reach what the author of
// the link cannot.
func (p *page) outside(link string) bool {
	if !web(link) {
		return false
	}
	u, err := url.Parse(link)
	if err != nil || !hostName.MatchString(u.Host) {
		return false
	}
	host := plainHost(u.Hostname())
	own := plainHost((&url.URL{Host: p.Host}).Hostname())
	return host != "" && !local(host) && host != own && (own == "" || !strings.HasSuffix(host, "."+own))
}

// hostName is what a host may be written with. Browsers take more, and fold it: "ｌocalhost"
// is localhost. Punycode is the spelling that hides nothing.
var hostName = lazyregexp.New(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?$`)

func plainHost(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// local reports whether a host is this machine, or a number that only some programs read as
// an address: 2130706433, 0x7f.1 and 0177.0.0.1 are 127.0.0.1 for browsers.
func local(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		address = address.Unmap()
		return address.IsLoopback() || address.IsUnspecified() || address.IsLinkLocalUnicast()
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last == "localhost" || last == "localdomain" || last == "" || last[0] >= '0' && last[0] <= '9'
}
