package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"

	"retort-cluster-test/network"
	"retort-cluster-test/node"
)

// Addresses in the test's network namespace.
const (
	bridge   = "retort0"
	gateway  = "10.244.0.1" // this machine on the pods' bridge
	dns      = "10.96.0.10"
	services = "10.96.0.0/16"
	token    = "cluster-test-administrator"
)

// cluster is a control plane, a node, DNS and a proxy, all on this machine.
type cluster struct {
	folder     string // of all files that the test writes
	binary     string // controlplane
	kubeconfig string
	client     kubernetes.Interface
	node       *node.Node
	balancer   *network.Proxy
}

// newCluster starts everything and returns once the API answers.
func newCluster(ctx context.Context, folder, binary string, images map[string]node.Image) (*cluster, error) {
	c := &cluster{folder: folder, binary: binary, kubeconfig: filepath.Join(folder, "kubeconfig")}
	if err := setUpBridge(); err != nil {
		return nil, err
	}
	if err := c.startControlPlane(ctx); err != nil {
		return nil, err
	}
	if err := c.startNetwork(ctx); err != nil {
		return nil, err
	}
	var err error
	c.node, err = node.New(ctx, c.client, node.Config{
		Name:    "node-1",
		Folder:  filepath.Join(folder, "node"),
		Images:  images,
		DNS:     dns,
		Gateway: gateway,
		Bridge:  bridge,
	})
	return c, err
}

// setUpBridge makes the bridge of the pods and lets this machine answer on the addresses of services.
func setUpBridge() error {
	for _, line := range []string{
		"ip link set lo up",
		"ip link add " + bridge + " type bridge",
		"ip addr add " + gateway + "/16 dev " + bridge,
		"ip link set " + bridge + " up",
		"ip route add local " + services + " dev lo",
	} {
		if err := node.Command(line); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) startControlPlane(ctx context.Context) error {
	keys := filepath.Join(c.folder, "keys")
	if err := makeKeys(keys); err != nil {
		return err
	}
	if err := c.writeKubeconfig(filepath.Join(keys, "ca.crt")); err != nil {
		return err
	}
	at := func(name string) string { return filepath.Join(keys, name) }
	if err := c.start(ctx, "etcd", filepath.Join(c.folder, "etcd")); err != nil {
		return err
	}
	if err := c.start(ctx, "apiserver",
		"--etcd-servers=http://127.0.0.1:2379",
		"--bind-address=0.0.0.0", "--secure-port=6443", "--advertise-address="+gateway,
		"--service-cluster-ip-range="+services, "--authorization-mode=RBAC", "--token-auth-file="+at("tokens.csv"),
		"--tls-cert-file="+at("server.crt"), "--tls-private-key-file="+at("server.key"), "--client-ca-file="+at("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+at("accounts.key"),
		"--service-account-signing-key-file="+at("accounts.key"), "--requestheader-client-ca-file="+at("ca.crt"),
		"--requestheader-allowed-names=aggregator", "--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+at("aggregator.crt"), "--proxy-client-key-file="+at("aggregator.key"),
		"--enable-aggregator-routing=true", "--allow-privileged=true", "--profiling=false",
	); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = 200
	config.Burst = 400
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if err := c.waitForAPI(ctx, config); err != nil {
		return err
	}
	return c.start(ctx, "controllers", "--kubeconfig="+c.kubeconfig, "--leader-elect=false", "--bind-address=127.0.0.1",
		"--controllers=*,-nodeipam,-nodelifecycle,-taint-eviction-controller,"+
			"-cloud-node-lifecycle-controller,-node-route-controller",
		"--service-account-private-key-file="+at("accounts.key"), "--root-ca-file="+at("ca.crt"), "--profiling=false",
		"--authentication-kubeconfig="+c.kubeconfig, "--authorization-kubeconfig="+c.kubeconfig,
		"--horizontal-pod-autoscaler-sync-period=2s", "--horizontal-pod-autoscaler-initial-readiness-delay=1s",
		"--pvclaimbinder-sync-period=2s",
	)
}

// start starts a part of the control plane. It ends with ctx or with this process.
func (c *cluster) start(ctx context.Context, name string, arguments ...string) error {
	log, err := os.Create(filepath.Join(c.folder, name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.CommandContext(ctx, c.binary, append([]string{name}, arguments...)...)
	command.Stdout = log
	command.Stderr = log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return err
	}
	go func() {
		if err := command.Wait(); ctx.Err() == nil {
			text, _ := os.ReadFile(log.Name())
			fmt.Fprintf(os.Stderr, "%s ended: %v\n%s\n", name, err, tail(string(text), 20))
		}
	}()
	return nil
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// waitForAPI waits until the API server is ready.
func (c *cluster) waitForAPI(ctx context.Context, config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	return eventually(ctx, 2*time.Minute, "the API answers", func() error {
		answer, err := client.Get(config.Host + "/readyz")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", answer.StatusCode)
		}
		return nil
	})
}

// startNetwork starts DNS, the proxy of services, and the load balancer of outside clients.
func (c *cluster) startNetwork(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(c.client, 0)
	if err := network.ServeDNS(ctx, factory, dns+":53"); err != nil {
		return err
	}
	if err := network.StartProxy(ctx, factory); err != nil {
		return err
	}
	c.balancer = network.NewBalancer(ctx, factory)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return nil
}

func (c *cluster) writeKubeconfig(authority string) error {
	config := api.NewConfig()
	config.Clusters["test"] = &api.Cluster{Server: "https://127.0.0.1:6443", CertificateAuthority: authority}
	config.AuthInfos["test"] = &api.AuthInfo{Token: token}
	config.Contexts["test"] = &api.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	return clientcmd.WriteToFile(*config, c.kubeconfig)
}

// eventually repeats check until it returns no error; after the time within it fails with the last one.
func eventually(ctx context.Context, within time.Duration, what string, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %v: %w", what, within, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
