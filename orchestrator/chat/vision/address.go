package vision

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"syscall"
)

// errForbidden is the error of a connection to an address that images must not be fetched from.
var errForbidden = errors.New("the address is not public")

// specialNetworks are networks outside the public internet, from IANA's registries of special-purpose addresses (RFC
// 6890), beyond those that [netip.Addr] recognizes. Networks whose addresses contain an IPv4 address are listed whole,
// because it is unknown where a translator leads.
var specialNetworks = parsePrefixes(
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
	"fec0::/10",        // site-local, deprecated
	"::/96",            // IPv4 in IPv6, deprecated
	"::ffff:0:0:0/96",  // translated IPv4
)

func parsePrefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// guard refuses connections to addresses that are neither public nor in one of the allowed networks.
type guard struct{ allowed []netip.Prefix }

// check refuses an address. The dialer calls it before each connection, redirects included, when names are resolved.
func (g guard) check(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return errForbidden
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil || !g.allows(at.Addr()) {
		return errForbidden
	}
	return nil
}

func (g guard) allows(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if slices.ContainsFunc(g.allowed, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return true
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false // also loopback, link-local (with 169.254.169.254), multicast, unspecified
	}
	return !slices.ContainsFunc(specialNetworks, func(p netip.Prefix) bool { return p.Contains(a) })
}
