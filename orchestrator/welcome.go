package main

import (
	"fmt"
	"net"
	"strings"
)

// welcome prints where every API and page is, and one request to try.
func (a *application) welcome() {
	var b strings.Builder
	main := a.address(a.listeners[0])
	fmt.Fprintf(&b, "\n  Retort %s is listening.\n\n", version)
	fmt.Fprintf(&b, "  %-26s %s/\n", "Page with everything", main)
	for _, s := range services {
		base := main + "/" + s.name
		if own := a.ownAddress(s.name); own != "" {
			base = own
		}
		fmt.Fprintf(&b, "  %-26s %-28s docs: %s/docs\n", s.title, base, base)
	}
	fmt.Fprintf(&b, "\n  Try:\n  curl %s/embedding/v1/embeddings -H 'Content-Type: application/json' \\\n", main)
	b.WriteString(`       -d '{"model": "retort/minilm-embedqa-v2", "input": ["What eases pain?"], "input_type": "query"}'`)
	b.WriteString("\n\n  Stop with Ctrl-C.\n\n")
	fmt.Fprint(a.stdout, b.String())
}

// ownAddress is the URL of an API's own port, "" if it has none.
func (a *application) ownAddress(name string) string {
	for _, l := range a.listeners {
		if l.name == name {
			return a.address(l)
		}
	}
	return ""
}

// address is a listener's URL as one types it on this machine.
func (a *application) address(l listener) string {
	scheme := "http"
	if a.secure != nil {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if ip := net.ParseIP(host); err == nil && (ip == nil || ip.IsUnspecified()) {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
