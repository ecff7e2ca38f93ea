// Package metrics is an adapter of custom metrics for autoscalers, without Prometheus: a request for a metric of pods
// reads the /metrics of each of them.
package metrics

import (
	"context"
	"fmt"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/metrics/pkg/apis/custom_metrics"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/cmd"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider/defaults"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider/helpers"
)

// Serve runs the adapter with the flags of arguments until ctx ends.
func Serve(ctx context.Context, arguments []string) error {
	base := &cmd.AdapterBase{Name: "retort-test-adapter"}
	if err := base.Flags().Parse(arguments[1:]); err != nil {
		return err
	}
	client, err := base.DynamicClient()
	if err != nil {
		return err
	}
	mapper, err := base.RESTMapper()
	if err != nil {
		return err
	}
	base.WithCustomMetrics(&pods{client: client, mapper: mapper, last: samples{byKey: map[string]sample{}}})
	return base.Run(ctx)
}

// pods provides metrics of pods.
type pods struct {
	defaults.DefaultCustomMetricsProvider
	client dynamic.Interface
	mapper meta.RESTMapper
	last   samples
}

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// GetMetricByName returns the value of one pod.
func (p *pods) GetMetricByName(ctx context.Context, name types.NamespacedName, info provider.CustomMetricInfo,
	_ labels.Selector) (*custom_metrics.MetricValue, error) {
	object, err := p.client.Resource(podResource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return p.value(ctx, name, object.UnstructuredContent(), info)
}

// GetMetricBySelector returns the values of the running pods that answer.
func (p *pods) GetMetricBySelector(ctx context.Context, namespace string, selector labels.Selector,
	info provider.CustomMetricInfo, _ labels.Selector) (*custom_metrics.MetricValueList, error) {
	if info.GroupResource.Resource != "pods" {
		return nil, provider.NewMetricNotFoundError(info.GroupResource, info.Metric)
	}
	found, err := p.client.Resource(podResource).Namespace(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, err
	}
	values := &custom_metrics.MetricValueList{}
	for _, object := range found.Items {
		name := types.NamespacedName{Namespace: namespace, Name: object.GetName()}
		value, err := p.value(ctx, name, object.UnstructuredContent(), info)
		if err == nil {
			values.Items = append(values.Items, *value)
		}
	}
	if len(values.Items) == 0 {
		return nil, provider.NewMetricNotFoundError(info.GroupResource, info.Metric)
	}
	return values, nil
}

// value reads a metric of a pod: one value, the sum of all its series.
func (p *pods) value(ctx context.Context, name types.NamespacedName, object map[string]any,
	info provider.CustomMetricInfo) (*custom_metrics.MetricValue, error) {
	pod := &core.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, pod); err != nil {
		return nil, err
	}
	url, err := endpoint(pod)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	number, err := p.last.read(within, url, info.Metric)
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", name.Name, err)
	}
	reference, err := helpers.ReferenceFor(p.mapper, name, info)
	if err != nil {
		return nil, err
	}
	return &custom_metrics.MetricValue{
		DescribedObject: reference,
		Metric:          custom_metrics.MetricIdentifier{Name: info.Metric},
		Timestamp:       metav1.Now(),
		Value:           *resource.NewMilliQuantity(int64(number*1000), resource.DecimalSI),
	}, nil
}
