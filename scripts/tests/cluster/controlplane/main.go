// Command controlplane is the control plane of a Kubernetes cluster in one binary: etcd, kube-apiserver and
// kube-controller-manager as they are published, and an adapter of custom metrics. The first argument selects one; the
// others are its flags.
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the metrics of the components
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"

	"retort-cluster-test/metrics"
)

func main() {
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = append(os.Args[:1], os.Args[2:]...)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	var err error
	switch name {
	case "etcd":
		err = etcd(ctx, os.Args[1])
	case "apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "controllers":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	case "adapter":
		err = metrics.Serve(ctx, os.Args)
	default:
		err = fmt.Errorf("the first argument must be etcd, apiserver, controllers or adapter")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// etcd serves on port 2379 of this machine. Its data in folder need not outlive a test.
func etcd(ctx context.Context, folder string) error {
	config := embed.NewConfig()
	config.Dir = folder
	config.LogLevel = "warn"
	config.UnsafeNoFsync = true
	config.ListenClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:2379"}}
	config.AdvertiseClientUrls = config.ListenClientUrls
	config.ListenPeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	config.AdvertisePeerUrls = config.ListenPeerUrls
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	select {
	case err := <-server.Err():
		return err
	case <-ctx.Done():
		return nil
	}
}
