package main

import (
	"crypto/tls"
	"os"
	"sync"
	"time"
)

// keyPair is a certificate that is read again when its file has changed, so that a renewed one needs no restart.
type keyPair struct {
	cert, key string

	mu      sync.Mutex
	pair    *tls.Certificate
	changed time.Time
	looked  time.Time
}

func readKeyPair(cert, key string) (*keyPair, error) {
	k := &keyPair{cert: cert, key: key}
	return k, k.read()
}

func (k *keyPair) read() error {
	info, err := os.Stat(k.cert)
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		return err
	}
	k.pair = &pair
	k.changed = info.ModTime()
	return nil
}

// get is called at each handshake. A broken new file leaves the old pair.
func (k *keyPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := time.Now(); now.Sub(k.looked) > time.Second {
		k.looked = now
		if info, err := os.Stat(k.cert); err == nil && !info.ModTime().Equal(k.changed) {
			_ = k.read()
		}
	}
	return k.pair, nil
}
