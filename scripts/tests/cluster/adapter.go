package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// registerAdapter starts the adapter of custom metrics and registers it with the API server, as the manifests of such
// adapters do.
func (c *cluster) registerAdapter(ctx context.Context) error {
	keys := filepath.Join(c.folder, "keys")
	if err := c.start(ctx, "adapter", "--secure-port=6444", "--bind-address="+gateway,
		"--tls-cert-file="+filepath.Join(keys, "adapter.crt"),
		"--tls-private-key-file="+filepath.Join(keys, "adapter.key"),
		"--lister-kubeconfig="+c.kubeconfig, "--authentication-kubeconfig="+c.kubeconfig,
		"--authorization-kubeconfig="+c.kubeconfig,
		"--discovery-interval=10s",
	); err != nil {
		return err
	}
	const name = "metrics-adapter"
	const space = "kube-system"
	var port int32 = 6444
	service := &core.Service{ObjectMeta: meta.ObjectMeta{Name: name},
		Spec: core.ServiceSpec{Ports: []core.ServicePort{{Port: port}}}}
	if _, err := c.client.CoreV1().Services(space).Create(ctx, service, meta.CreateOptions{}); err != nil {
		return err
	}
	tcp := core.ProtocolTCP
	slice := &discovery.EndpointSlice{
		ObjectMeta:  meta.ObjectMeta{Name: name, Labels: map[string]string{discovery.LabelServiceName: name}},
		AddressType: discovery.AddressTypeIPv4,
		Endpoints:   []discovery.Endpoint{{Addresses: []string{gateway}}},
		Ports:       []discovery.EndpointPort{{Port: &port, Protocol: &tcp}},
	}
	if _, err := c.client.DiscoveryV1().EndpointSlices(space).Create(ctx, slice, meta.CreateOptions{}); err != nil {
		return err
	}
	return c.aggregate(ctx, name, space, port)
}

// aggregate registers the API of custom metrics and waits until the API server serves it.
func (c *cluster) aggregate(ctx context.Context, service, space string, port int32) error {
	const group = "custom.metrics.k8s.io"
	for _, version := range []string{"v1beta1", "v1beta2"} {
		object, err := json.Marshal(map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1",
			"kind":       "APIService",
			"metadata":   map[string]any{"name": version + "." + group},
			"spec": map[string]any{
				"service": map[string]any{"name": service, "namespace": space, "port": port},
				"group":   group, "version": version, "insecureSkipTLSVerify": true,
				"groupPriorityMinimum": 100, "versionPriority": 100,
			},
		})
		if err != nil {
			return err
		}
		client := c.client.CoreV1().RESTClient()
		if err := client.Post().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices").Body(object).
			SetHeader("Content-Type", "application/json").Do(ctx).Error(); err != nil {
			return fmt.Errorf("the API of custom metrics: %w", err)
		}
	}
	return eventually(ctx, time.Minute, "the API of custom metrics answers", func() error {
		return c.client.CoreV1().RESTClient().Get().AbsPath("/apis/" + group + "/v1beta2").Do(ctx).Error()
	})
}
