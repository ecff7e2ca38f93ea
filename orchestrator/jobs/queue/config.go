package queue

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Config is where an engine stores its data, and how much.
type Config struct {
	// Folder of the embedded engine, used if Cluster has no address.
	Folder string
	// MaxBytes is how many bytes may be stored before new work is refused. Accepted work may fill the storage up to 1.5
	// times as many, and its results up to twice as many: see Purpose. 0: 10 GiB, or a quarter of the bytes on the
	// embedded engine's disk that are free or stored by the engine, if that is less.
	MaxBytes int64
	// OwnerBytes is how many bytes one kind of work of one owner may take: see OwnerLimit. 0: a quarter of MaxBytes.
	OwnerBytes int64
	Cluster    Cluster
}

// Cluster has the settings of a NATS cluster outside of this process.
type Cluster struct {
	URL      []string `name:"url" env:"RETORT_NATS_URL" placeholder:"nats://HOST:4222" help:"NATS servers with JetStream that store jobs for any number of gateways, instead of jobs-data. tls:// requires TLS; a user and password may precede the host."`
	Creds    string   `type:"path" placeholder:"FILE" help:"NATS credentials file."`
	CA       string   `name:"ca" type:"path" placeholder:"FILE" help:"Certificate authorities (PEM) to trust for NATS; by default the system's."`
	Cert     string   `type:"path" placeholder:"FILE" help:"Client certificate (PEM) for NATS."`
	Key      string   `type:"path" placeholder:"FILE" help:"Private key (PEM) of the client certificate."`
	Replicas int      `default:"0" help:"Copies of all data in the NATS cluster: 1, 3 or 5. 0: 3 if it has three nodes, else 1."`
}

// Validate checks the settings before anything starts.
func (c Cluster) Validate() error {
	for i, address := range c.URL {
		if !strings.Contains(address, "://") {
			address = "nats://" + address
		}
		if _, err := url.Parse(address); err != nil { // whose text may contain the password
			return fmt.Errorf(
				"nats-url: address %d is not a URL: in a user or password write %%2F %%3F %%23 %%25 for / ? # %%", i+1)
		}
	}
	if (c.Cert == "") != (c.Key == "") {
		return errors.New("nats-cert and nats-key need each other")
	}
	if c.Replicas < 0 || c.Replicas > 5 {
		return errors.New("nats-replicas must be from 0 to 5")
	}
	return nil
}

// DefaultFolder is the folder of the embedded engine if no setting names one: retort/jobs in the user's state folder
// (XDG Base Directory Specification).
func DefaultFolder() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(cmp.Or(os.Getenv("XDG_STATE_HOME"), filepath.Join(home, ".local", "state")), "retort", "jobs")
}
