package main

import (
	"crypto/tls"
	"sync/atomic"
)

// keyPair is a certificate with its key. reload replaces it, so that a renewed one needs no restart; a handshake never
// waits for the file system.
type keyPair struct {
	cert, key string
	pair      atomic.Pointer[tls.Certificate]
}

func readKeyPair(cert, key string) (*keyPair, error) {
	k := &keyPair{cert: cert, key: key}
	return k, k.reload()
}

// reload reads the files again. After an error the pair that was read last stays.
func (k *keyPair) reload() error {
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		return err
	}
	k.pair.Store(&pair)
	return nil
}

// get is called at each handshake.
func (k *keyPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.pair.Load(), nil }
