package node

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// image returns the program for an image name, by its last path element without tag or digest.
func (n *Node) image(name string) (Image, error) {
	word := path.Base(name)
	word, _, _ = strings.Cut(word, "@")
	word, _, _ = strings.Cut(word, ":")
	image, known := n.config.Images[word]
	if !known {
		return image, fmt.Errorf("no program of this machine stands for the image %s", name)
	}
	return image, nil
}

// environment returns the container's variables: of the image, of envFrom, then the single ones.
func (c *container) environment(ctx context.Context, image Image) ([]string, error) {
	values := slices.Clone(image.Environment)
	for _, source := range c.spec.EnvFrom {
		more, err := c.source(ctx, source)
		if err != nil {
			return nil, err
		}
		values = append(values, more...)
	}
	for _, variable := range c.spec.Env {
		value := variable.Value
		if from := variable.ValueFrom; from != nil {
			var found bool
			var err error
			if value, found, err = c.from(ctx, from); err != nil {
				return nil, fmt.Errorf("variable %s: %w", variable.Name, err)
			}
			if !found {
				continue
			}
		}
		values = append(values, variable.Name+"="+expand([]string{value}, values)[0])
	}
	return values, nil
}

func (c *container) source(ctx context.Context, s core.EnvFromSource) (values []string, err error) {
	data := map[string]string{}
	switch {
	case s.ConfigMapRef != nil:
		data, err = c.pod.configMap(ctx, s.ConfigMapRef.Name, s.ConfigMapRef.Optional)
	case s.SecretRef != nil:
		data, err = c.pod.secret(ctx, s.SecretRef.Name, s.SecretRef.Optional)
	}
	for name, value := range data {
		values = append(values, s.Prefix+name+"="+value)
	}
	return values, err
}

// from looks up the value of a variable; an optional one may be missing.
func (c *container) from(ctx context.Context, s *core.EnvVarSource) (value string, found bool, err error) {
	var data map[string]string
	var key string
	switch {
	case s.FieldRef != nil:
		return c.pod.field(s.FieldRef.FieldPath), true, nil
	case s.ResourceFieldRef != nil:
		return c.resource(s.ResourceFieldRef), true, nil
	case s.ConfigMapKeyRef != nil:
		key = s.ConfigMapKeyRef.Key
		data, err = c.pod.configMap(ctx, s.ConfigMapKeyRef.Name, s.ConfigMapKeyRef.Optional)
	case s.SecretKeyRef != nil:
		key = s.SecretKeyRef.Key
		data, err = c.pod.secret(ctx, s.SecretKeyRef.Name, s.SecretKeyRef.Optional)
	}
	value, found = data[key]
	return value, found, err
}

func (p *pod) configMap(ctx context.Context, name string, optional *bool) (map[string]string, error) {
	object, err := p.node.client.CoreV1().ConfigMaps(p.object.Namespace).Get(ctx, name, meta.GetOptions{})
	if errors.IsNotFound(err) && optional != nil && *optional {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return object.Data, nil
}

func (p *pod) secret(ctx context.Context, name string, optional *bool) (map[string]string, error) {
	object, err := p.node.client.CoreV1().Secrets(p.object.Namespace).Get(ctx, name, meta.GetOptions{})
	if errors.IsNotFound(err) && optional != nil && *optional {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data := map[string]string{}
	for key, value := range object.Data {
		data[key] = string(value)
	}
	return data, nil
}

// field returns a field of the pod by its name in the downward API.
func (p *pod) field(path string) string {
	if name, ok := strings.CutPrefix(path, "metadata.labels['"); ok {
		return p.object.Labels[strings.TrimSuffix(name, "']")]
	}
	if name, ok := strings.CutPrefix(path, "metadata.annotations['"); ok {
		return p.object.Annotations[strings.TrimSuffix(name, "']")]
	}
	return map[string]string{
		"metadata.name":           p.object.Name,
		"metadata.namespace":      p.object.Namespace,
		"metadata.uid":            string(p.object.UID),
		"spec.nodeName":           p.node.config.Name,
		"spec.serviceAccountName": p.object.Spec.ServiceAccountName,
		"status.podIP":            p.address,
		"status.podIPs":           p.address,
		"status.hostIP":           p.node.config.Gateway,
	}[path]
}

// resource returns a limit or request of the container in units of its divisor, rounded up.
func (c *container) resource(s *core.ResourceFieldSelector) string {
	kind, name, _ := strings.Cut(s.Resource, ".")
	list := c.spec.Resources.Limits
	if kind == "requests" {
		list = c.spec.Resources.Requests
	}
	quantity, known := list[core.ResourceName(name)]
	divisor := cmp.Or(s.Divisor.MilliValue(), 1000)
	if !known { // the node's cores, as in the downward API
		return strconv.Itoa(runtime.NumCPU())
	}
	return strconv.FormatInt((quantity.MilliValue()+divisor-1)/divisor, 10)
}

var reference = regexp.MustCompile(`\$\$|\$\([A-Za-z_][A-Za-z0-9_.-]*\)`)

// expand replaces $(NAME) by the variable's value; unknown variables stay as they are.
func expand(words, environment []string) []string {
	expanded := make([]string, len(words))
	for i, word := range words {
		expanded[i] = reference.ReplaceAllStringFunc(word, func(match string) string {
			if match == "$$" {
				return "$"
			}
			name := match[2:len(match)-1] + "="
			for _, variable := range slices.Backward(environment) {
				if value, ok := strings.CutPrefix(variable, name); ok {
					return value
				}
			}
			return match
		})
	}
	return expanded
}
