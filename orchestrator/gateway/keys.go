package gateway

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
)

// Keys are the bearer keys that open the APIs: one a line in a file, empty lines and lines that begin with # left out.
// A changed file is read again, so that keys can be rotated without a restart; one that has become unreadable or empty
// keeps the keys that were read last.
type Keys struct {
	path string

	mu      sync.Mutex
	digests [][sha256.Size]byte
	changed time.Time // of the file that was read
	looked  time.Time
}

// ReadKeys reads the keys of a file.
func ReadKeys(path string) (*Keys, error) {
	k := &Keys{path: path}
	return k, k.read()
}

func (k *Keys) read() error {
	info, err := os.Stat(k.path)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(k.path)
	if err != nil {
		return err
	}
	var digests [][sha256.Size]byte
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if key := strings.TrimSpace(lines.Text()); key != "" && key[0] != '#' {
			digests = append(digests, sha256.Sum256([]byte(key)))
		}
	}
	if len(digests) == 0 {
		return fmt.Errorf("%s holds no key", k.path)
	}
	k.digests = digests
	k.changed = info.ModTime()
	return nil
}

// Open says whether key is one of the keys. The time it takes depends neither on the key nor on which one it equals.
func (k *Keys) Open(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := time.Now(); now.Sub(k.looked) > time.Second {
		k.looked = now
		if info, err := os.Stat(k.path); err == nil && !info.ModTime().Equal(k.changed) {
			_ = k.read() // the old keys stay
		}
	}
	given := sha256.Sum256([]byte(key))
	found := 0
	for _, digest := range k.digests {
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
