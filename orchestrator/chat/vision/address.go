package vision

import (
	"context"
	"errors"
	"net/netip"
	"syscall"
)

// errForbidden is an address that images are not fetched from.
var errForbidden = errors.New("the address is not public")

// special are the networks that are not the public internet, from IANA's registries of special-purpose addresses (RFC
// 6890) beyond what [netip.Addr] knows by itself. Those that carry an IPv4 address inside are listed whole: what is
// behind a translator cannot be known.
var special = prefixes(
	"0.0.0.0/8",        // this network
	"100.64.0.0/10",    // shared address space, and a cloud's metadata at 100.100.100.200
	"192.0.0.0/24",     // protocol assignments, and a cloud's metadata at 192.0.0.192
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"240.0.0.0/4",      // reserved, and broadcast
	"168.63.129.16/32", // a cloud's host agent
	"64:ff9b::/96",     // IPv4 translation
	"64:ff9b:1::/48",   // local translation
	"100::/64",         // discard
	"2001::/23",        // protocol assignments, Teredo
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4
	"3fff::/20",        // documentation
	"5f00::/16",        // segment routing
	"fec0::/10",        // site-local, given up
	"::/96",            // IPv4 in IPv6, given up
	"::ffff:0:0:0/96",  // translated IPv4
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// guard decides about addresses.
type guard struct{ allowed []netip.Prefix }

// check is called by the dialer with the address it is about to connect to: after names were resolved, and for each
// redirect anew.
func (g guard) check(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return errForbidden
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil || !g.public(at.Addr()) {
		return errForbidden
	}
	return nil
}

func (g guard) public(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	for _, p := range g.allowed {
		if p.Masked().Contains(a) {
			return true
		}
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false // also loopback, link-local (with 169.254.169.254), multicast, unspecified
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
