package gateway

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
)

// Keys are the bearer keys that open the APIs: one a line in a file, empty lines and lines that begin with # left out.
// Reload replaces them, so that keys can be rotated without a restart. Open never waits for the file system.
type Keys struct {
	path    string
	digests atomic.Pointer[[][sha256.Size]byte]
}

// ReadKeys reads the keys of a file.
func ReadKeys(path string) (*Keys, error) {
	k := &Keys{path: path}
	return k, k.Reload()
}

// Reload reads the file again. After an error the previous keys stay.
func (k *Keys) Reload() error {
	text, err := os.ReadFile(k.path)
	if err != nil {
		return err
	}
	var digests [][sha256.Size]byte
	for line := range bytes.Lines(text) {
		if key := bytes.TrimSpace(line); len(key) > 0 && key[0] != '#' {
			digests = append(digests, sha256.Sum256(key))
		}
	}
	if len(digests) == 0 {
		return fmt.Errorf("%s holds no key", k.path)
	}
	k.digests.Store(&digests)
	return nil
}

// Open reports whether key is one of the keys. The time it takes depends neither on the key nor on which one it equals.
func (k *Keys) Open(key string) bool {
	given := sha256.Sum256([]byte(key))
	found := 0
	for _, digest := range *k.digests.Load() {
		found |= subtle.ConstantTimeCompare(given[:], digest[:])
	}
	return found == 1
}

// authorize refuses requests without a key. Probes and scrapers need none.
func (g *Gateway) authorize(c *fiber.Ctx) error {
	if path := c.Path(); strings.HasPrefix(path, "/v1/health/") || path == "/metrics" || path == "/v1/metrics" {
		return c.Next()
	}
	if askedBy(c.Context()) != nil {
		return c.Next()
	}
	if f := g.opts.Keys.Check(c); f != nil {
		return f
	}
	return c.Next()
}

// Check returns nil where a request brings one of the keys, or where none is asked for since k is nil.
func (k *Keys) Check(c *fiber.Ctx) *fault.Error {
	if k == nil {
		return nil
	}
	scheme, key, _ := strings.Cut(c.Get(fiber.HeaderAuthorization), " ")
	if !strings.EqualFold(scheme, "bearer") || !k.Open(strings.TrimSpace(key)) {
		return fault.New(fault.Unauthorized, "A valid key is required: Authorization: Bearer <key>.")
	}
	return nil
}
